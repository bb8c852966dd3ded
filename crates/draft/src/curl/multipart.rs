//! Forms with parts (RFC 7578), as `-F` describes them.

use std::path::Path;

use workload::Files;

/// Separates the parts. A plan's text may not depend on chance, so it is always the same.
const BOUNDARY: &str = "------------------------plimsoll";

/// The content type of the form.
pub(super) fn content_type() -> String {
    format!("multipart/form-data; boundary={BOUNDARY}")
}

/// One part, of `name=text`, `name=@file` or `name=<file`, with `;type=` and `;filename=` after it.
///
/// # Errors
/// What is wrong with it.
pub(super) fn part(text: &str, is_literal: bool, files: &dyn Files) -> Result<String, String> {
    let (name, value) =
        text.split_once('=').ok_or_else(|| format!("`-F {text}`: write it as `-F name=value`"))?;
    let (value, attributes) = match value.split_once(';').filter(|_| !is_literal) {
        Some((value, attributes)) => (value, attributes),
        None => (value, ""),
    };
    let attribute = |wanted: &str| {
        let pairs = attributes.split(';').filter_map(|pair| pair.trim().split_once('='));
        pairs.filter(|(name, _)| *name == wanted).map(|(_, value)| value.trim_matches('"').to_owned()).next()
    };
    let (content, file_name) = match value.strip_prefix(['@', '<']).filter(|_| !is_literal) {
        Some(path) => {
            let last = Path::new(path).file_name().map(|name| name.to_string_lossy().into_owned());
            (read(path, files)?, last.filter(|_| value.starts_with('@')))
        }
        None => (value.trim_matches('"').to_owned(), None),
    };
    let file_name = attribute("filename").or(file_name);
    let quoted = |text: &str| text.replace('"', "%22").replace(['\r', '\n'], " ");
    let mut out = format!("--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"{}\"", quoted(name));
    if let Some(file_name) = &file_name {
        out.push_str(&format!("; filename=\"{}\"", quoted(file_name)));
    }
    let media_type = attribute("type").or(file_name.map(|_| "application/octet-stream".to_owned()));
    if let Some(media_type) = media_type {
        out.push_str(&format!("\r\ncontent-type: {}", quoted(&media_type)));
    }
    Ok(format!("{out}\r\n\r\n{content}\r\n"))
}

/// What follows the last part.
pub(super) fn end() -> String {
    format!("--{BOUNDARY}--\r\n")
}

/// The largest file that becomes part of a plan, in bytes.
const MAX_FILE_BYTES: usize = 1 << 20;

/// The text of a file that a command names.
///
/// # Errors
/// What is wrong with it.
pub(super) fn read(path: &str, files: &dyn Files) -> Result<String, String> {
    if path == "-" {
        return Err("reads standard input, which is not part of the command: name a file".to_owned());
    }
    let bytes =
        files.read(Path::new(path)).map_err(|error| format!("the file {path} cannot be read: {error}"))?;
    if bytes.len() > MAX_FILE_BYTES {
        return Err(format!(
            "the file {path} is larger than {MAX_FILE_BYTES} bytes: too large to be part of a plan"
        ));
    }
    String::from_utf8(bytes).map_err(|_| format!("the file {path} is not UTF-8: bodies of a plan are text"))
}
