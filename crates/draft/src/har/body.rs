//! Recorded bodies.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::entry::{Content, PostData, PostParameter};
use crate::error::DraftError;
use crate::multipart::{self, PartHead};
use crate::url::encoded;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum RecordedBody {
    Text(String),
    /// A plan cannot send it, for this reason.
    Unsendable(String),
}

/// The body of a request, whose place in the file is `place`.
///
/// # Errors
/// [`DraftError`] if it is said to be base64 and is not.
pub(super) fn of_request(data: &PostData, place: &str) -> Result<RecordedBody, DraftError> {
    let at = format!("{place}.request.postData");
    let unsendable = |why: &str| Ok(RecordedBody::Unsendable(format!("{why} ({at})")));
    let text = data.text.as_deref().filter(|text| !text.is_empty());
    match text {
        Some(text) if is_base64(data.encoding.as_deref()) => {
            let bytes = STANDARD
                .decode(text)
                .map_err(|error| DraftError::at(format!("{at}.text"), format!("is not base64: {error}")))?;
            match String::from_utf8(bytes) {
                Ok(text) => Ok(RecordedBody::Text(text)),
                Err(_) => unsendable("its body is not text, and bodies of a plan are"),
            }
        }
        // Where a browser could not write a byte, it wrote this character.
        Some(text) if text.contains('\u{fffd}') => {
            unsendable("its body has bytes that the recording has lost: write it by hand")
        }
        Some(text) => Ok(RecordedBody::Text(text.to_owned())),
        None if data.params.is_empty() => Ok(RecordedBody::Text(String::new())),
        None if data.mime_type.contains("x-www-form-urlencoded") => {
            let pairs =
                data.params.iter().map(|p| format!("{}={}", form_encoded(&p.name), form_encoded(value(p))));
            Ok(RecordedBody::Text(pairs.collect::<Vec<_>>().join("&")))
        }
        None => match parts(data) {
            Some(text) => Ok(RecordedBody::Text(text)),
            None => unsendable("its form is recorded without its files or its boundary: write it by hand"),
        },
    }
}

/// The text of a response; empty if the recording has none.
pub(super) fn of_response(content: &Content) -> String {
    let text = content.text.clone().unwrap_or_default();
    match is_base64(content.encoding.as_deref()) {
        false => text,
        true => {
            STANDARD.decode(&text).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
        }
    }
}

fn is_base64(encoding: Option<&str>) -> bool {
    encoding.is_some_and(|encoding| encoding.eq_ignore_ascii_case("base64"))
}

fn value(parameter: &PostParameter) -> &str {
    parameter.value.as_deref().unwrap_or_default()
}

/// As browsers encode forms: a blank is `+`.
fn form_encoded(text: &str) -> String {
    encoded(text).replace("%20", "+")
}

/// A form with parts; none without its boundary, or with a file whose content is not there.
fn parts(data: &PostData) -> Option<String> {
    let (_, boundary) = data.mime_type.split_once("boundary=")?;
    let boundary = boundary.split(';').next().unwrap_or_default().trim().trim_matches('"');
    if !data.mime_type.starts_with("multipart/form-data") || boundary.is_empty() {
        return None;
    }
    let mut out = String::new();
    for parameter in &data.params {
        if parameter.file_name.is_some() {
            parameter.value.as_ref()?;
        }
        let head = PartHead {
            name: &parameter.name,
            file_name: parameter.file_name.as_deref(),
            media_type: parameter.content_type.as_deref(),
        };
        out.push_str(&format!("{}\r\n\r\n{}\r\n", head.lines(boundary), value(parameter)));
    }
    Some(out + &multipart::end(boundary))
}
