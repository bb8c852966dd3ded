//! Lists of HTTP requests in vegeta's formats, from files that others make: text, or one JSON object a line.
//!
//! In the text format (<https://github.com/tsenart/vegeta#http-format>) a request is a line with method and URL,
//! then lines with headers, then perhaps a line with `@` and the file that is its body; a blank line ends it, and
//! lines that begin with `#` are comments. In the JSON format an object has `method` and `url`, and may have `body`
//! (base64) and `header` (lists of values by name). Which one it is, the first character tells.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

#[cfg(test)]
mod tests;

/// The most requests a list may have.
pub const MAX_REQUESTS: usize = 1_000_000;
/// The largest list, in bytes.
pub const MAX_BYTES: usize = 256 << 20;
/// The most headers of one request.
const MAX_HEADERS: usize = 100;
/// The longest line of the text format, in bytes.
const MAX_LINE_BYTES: usize = 64 << 10;

/// A request of a list, as it stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The line it begins in, from 1.
    pub line: usize,
    /// Such as `GET`.
    pub method: String,
    /// With scheme and host.
    pub url: String,
    /// Names as they are written, and values.
    pub headers: Vec<(String, String)>,
    /// What is sent along.
    pub body: Option<ListedBody>,
}

/// The body of a request of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListedBody {
    /// The contents of this file.
    File(String),
    /// This text.
    Text(String),
}

/// What is wrong with a list, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct ListError {
    /// The list's name.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong and what to do.
    pub message: String,
}

/// Read the list `bytes`; `file` is its name in errors.
///
/// # Errors
/// [`ListError`] for the first thing that is wrong.
pub fn parse(bytes: &[u8], file: &str) -> Result<Vec<Listed>, ListError> {
    let wrong = |line: usize, message: String| ListError { file: file.to_owned(), line, message };
    if bytes.len() > MAX_BYTES {
        return Err(wrong(1, format!("larger than {MAX_BYTES} bytes; split the list")));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        wrong(1 + before.iter().filter(|byte| **byte == b'\n').count(), "not UTF-8".to_owned())
    })?;
    let mut lines = Lines { lines: text.lines().enumerate().peekable() };
    let next: fn(&mut Lines<'_>) -> Option<Found> =
        if text.trim_start().starts_with('{') { next_json } else { next_text };
    let mut list = Vec::new();
    while let Some(found) = next(&mut lines) {
        let listed = found.map_err(|(line, message)| wrong(line, message))?;
        if list.len() == MAX_REQUESTS {
            return Err(wrong(listed.line, format!("more than {MAX_REQUESTS} requests; split the list")));
        }
        list.push(listed);
    }
    if list.is_empty() {
        return Err(wrong(
            1,
            "no request in it; write lines such as `GET http://127.0.0.1:8000/path`".to_owned(),
        ));
    }
    Ok(list)
}

/// A request, or the line in which something is wrong and what.
type Found = Result<Listed, (usize, String)>;

/// Lines with their numbers.
struct Lines<'a> {
    lines: std::iter::Peekable<std::iter::Enumerate<std::str::Lines<'a>>>,
}

impl<'a> Lines<'a> {
    /// The next line that is neither blank nor, in the text format, a comment.
    fn next_full(&mut self) -> Option<(usize, &'a str)> {
        self.lines
            .by_ref()
            .map(|(at, line)| (at + 1, line.trim()))
            .find(|(_, line)| !line.is_empty() && !line.starts_with('#'))
    }

    /// The next line, if it goes on with the request before it.
    fn next_of_request(&mut self) -> Option<(usize, &'a str)> {
        let goes_on =
            |(_, line): &(usize, &str)| !line.trim().is_empty() && first_line(line.trim()).is_none();
        self.lines.next_if(goes_on).map(|(at, line)| (at + 1, line.trim()))
    }
}

/// Method and URL, if the line has the form of a request's first.
fn first_line(line: &str) -> Option<(&str, &str)> {
    let (method, url) = line.split_once([' ', '\t'])?;
    let is_method = !method.is_empty() && method.bytes().all(|b| b.is_ascii_uppercase() || b == b'-');
    is_method.then(|| (method, url.trim()))
}

fn next_text(lines: &mut Lines<'_>) -> Option<Found> {
    let (line, text) = lines.next_full()?;
    Some(read_text((line, text), lines))
}

fn read_text((line, text): (usize, &str), lines: &mut Lines<'_>) -> Found {
    bounded(line, text)?;
    let (method, url) = first_line(text).ok_or_else(|| {
        (line, format!("`{}` is no method and URL; write `GET http://127.0.0.1:8000/path`", shown(text)))
    })?;
    let (method, url) = (method.to_owned(), url.to_owned());
    let mut listed = Listed { line, method, url, headers: Vec::new(), body: None };
    while let Some((line, text)) = lines.next_of_request() {
        bounded(line, text)?;
        if text.starts_with('#') {
            continue;
        }
        if listed.body.is_some() {
            return Err((line, "a body is the last line of a request; put headers before it".to_owned()));
        }
        if let Some(file) = text.strip_prefix('@') {
            listed.body = Some(ListedBody::File(file.to_owned()));
            continue;
        }
        let (name, value) = text.split_once(':').unwrap_or((text, ""));
        if name.trim().is_empty() || value.trim().is_empty() {
            return Err((
                line,
                format!("`{}` is no header; write `name: value`, or `@file` for a body", shown(text)),
            ));
        }
        if listed.headers.len() == MAX_HEADERS {
            return Err((line, format!("more than {MAX_HEADERS} headers")));
        }
        listed.headers.push((name.trim().to_owned(), value.trim().to_owned()));
    }
    Ok(listed)
}

fn bounded(line: usize, text: &str) -> Result<(), (usize, String)> {
    if text.len() > MAX_LINE_BYTES {
        return Err((line, format!("a line longer than {MAX_LINE_BYTES} bytes; put bodies into files")));
    }
    Ok(())
}

/// As much of a line as a message needs.
fn shown(text: &str) -> String {
    text.chars().take(60).collect()
}

/// A line of the JSON format.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonLine {
    method: String,
    url: String,
    #[serde(default)]
    body: Option<String>,
    #[serde(default)]
    header: BTreeMap<String, Vec<String>>,
}

fn next_json(lines: &mut Lines<'_>) -> Option<Found> {
    let (line, text) = lines.next_full()?;
    Some(read_json((line, text)))
}

fn read_json((line, text): (usize, &str)) -> Found {
    let read: JsonLine =
        serde_json::from_str(text).map_err(|error| (line, format!("no request as JSON: {error}")))?;
    let headers: Vec<_> = read
        .header
        .into_iter()
        .flat_map(|(name, values)| values.into_iter().map(move |value| (name.clone(), value)))
        .collect();
    if headers.len() > MAX_HEADERS {
        return Err((line, format!("more than {MAX_HEADERS} headers")));
    }
    let body = read.body.filter(|body| !body.is_empty()).map(|body| decode(&body)).transpose();
    let body = body.map_err(|message| (line, message))?.map(ListedBody::Text);
    Ok(Listed { line, method: read.method, url: read.url, headers, body })
}

fn decode(body: &str) -> Result<String, String> {
    let bytes = STANDARD.decode(body).map_err(|error| format!("`body` is no base64: {error}"))?;
    String::from_utf8(bytes).map_err(|_| "`body` is not UTF-8; bodies are text so far".to_owned())
}
