//! Lists of HTTP requests in vegeta's formats: text, or one JSON object a line.
//!
//! In the text format (<https://github.com/tsenart/vegeta#http-format>) a request is a line with method and URL,
//! then lines with headers, then optionally a line with `@` and the file that is its body. A blank line ends a request;
//! lines that begin with `#` are comments. In the JSON format an object has `method` and `url`, and may have `body`
//! (base64) and `header` (lists of values by name). A list whose first character is `{` is in the JSON format.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

#[cfg(test)]
mod tests;

/// The most requests of a list.
pub const MAX_REQUESTS: usize = 1_000_000;
/// The largest list, in bytes.
pub const MAX_BYTES: usize = 256 << 20;
/// The most headers of one request.
const MAX_HEADERS: usize = 100;
/// The longest line of the text format, in bytes.
const MAX_LINE_BYTES: usize = 64 << 10;

/// A request of a list, unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedRequest {
    /// Its first line, from 1.
    pub line: usize,
    /// The method, such as `GET`.
    pub method: String,
    /// The URL, with scheme and host.
    pub url: String,
    /// Headers; the case of their names is unchanged.
    pub headers: Vec<(String, String)>,
    pub body: Option<ListedBody>,
}

/// The body of a request of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListedBody {
    /// The contents of this file.
    File(String),
    Text(String),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct ListError {
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong and what to do.
    pub message: String,
}

/// Read the list `bytes`; `file` is its name in errors.
///
/// # Errors
/// [`ListError`] for the first error in the list.
pub fn parse(bytes: &[u8], file: &str) -> Result<Vec<ListedRequest>, ListError> {
    let error = |line: usize, message: String| ListError { file: file.to_owned(), line, message };
    if bytes.len() > MAX_BYTES {
        return Err(error(1, format!("larger than {MAX_BYTES} bytes; split the list")));
    }
    let text = std::str::from_utf8(bytes).map_err(|invalid| {
        let before = &bytes[..invalid.valid_up_to()];
        error(1 + before.iter().filter(|byte| **byte == b'\n').count(), "not UTF-8".to_owned())
    })?;
    let mut lines = Lines { lines: text.lines().enumerate().peekable() };
    let next: fn(&mut Lines<'_>) -> Option<Result<ListedRequest, LineError>> =
        if text.trim_start().starts_with('{') { next_json } else { next_text };
    let mut list = Vec::new();
    while let Some(request) = next(&mut lines) {
        let request = request.map_err(|LineError { line, message }| error(line, message))?;
        if list.len() == MAX_REQUESTS {
            return Err(error(request.line, format!("more than {MAX_REQUESTS} requests; split the list")));
        }
        list.push(request);
    }
    if list.is_empty() {
        return Err(error(
            1,
            "no request in it; write lines such as `GET http://127.0.0.1:8000/path`".to_owned(),
        ));
    }
    Ok(list)
}

struct LineError {
    line: usize,
    message: String,
}

/// A line without surrounding blanks.
#[derive(Clone, Copy)]
struct NumberedLine<'a> {
    /// Its number, from 1.
    number: usize,
    text: &'a str,
}

impl NumberedLine<'_> {
    fn error(&self, message: impl Into<String>) -> LineError {
        LineError { line: self.number, message: message.into() }
    }

    fn check_length(&self) -> Result<(), LineError> {
        if self.text.len() > MAX_LINE_BYTES {
            let message = format!("a line longer than {MAX_LINE_BYTES} bytes; put bodies into files");
            return Err(self.error(message));
        }
        Ok(())
    }
}

/// The lines that are not read yet.
struct Lines<'a> {
    lines: std::iter::Peekable<std::iter::Enumerate<std::str::Lines<'a>>>,
}

impl<'a> Lines<'a> {
    /// The next line that is neither blank nor, in the text format, a comment.
    fn next_full(&mut self) -> Option<NumberedLine<'a>> {
        self.lines
            .by_ref()
            .map(|(index, line)| NumberedLine { number: index + 1, text: line.trim() })
            .find(|line| !line.text.is_empty() && !line.text.starts_with('#'))
    }

    /// The next line, if it belongs to the request before it.
    fn next_of_request(&mut self) -> Option<NumberedLine<'a>> {
        let continues =
            |(_, line): &(usize, &str)| !line.trim().is_empty() && first_line(line.trim()).is_none();
        self.lines
            .next_if(continues)
            .map(|(index, line)| NumberedLine { number: index + 1, text: line.trim() })
    }
}

/// Method and URL, if the line has the form of the first line of a request.
fn first_line(line: &str) -> Option<(&str, &str)> {
    let (method, url) = line.split_once([' ', '\t'])?;
    let is_method = !method.is_empty() && method.bytes().all(|b| b.is_ascii_uppercase() || b == b'-');
    is_method.then(|| (method, url.trim()))
}

fn next_text(lines: &mut Lines<'_>) -> Option<Result<ListedRequest, LineError>> {
    let first = lines.next_full()?;
    Some(read_text(first, lines))
}

fn read_text(first: NumberedLine<'_>, lines: &mut Lines<'_>) -> Result<ListedRequest, LineError> {
    first.check_length()?;
    let (method, url) = first_line(first.text).ok_or_else(|| {
        let shown = excerpt(first.text);
        first.error(format!("`{shown}` is not a method and URL; write `GET http://127.0.0.1:8000/path`"))
    })?;
    let (method, url) = (method.to_owned(), url.to_owned());
    let mut request = ListedRequest { line: first.number, method, url, headers: Vec::new(), body: None };
    while let Some(line) = lines.next_of_request() {
        line.check_length()?;
        if line.text.starts_with('#') {
            continue;
        }
        if request.body.is_some() {
            return Err(line.error("a body is the last line of a request; put headers before it"));
        }
        if let Some(file) = line.text.strip_prefix('@') {
            request.body = Some(ListedBody::File(file.to_owned()));
            continue;
        }
        let (name, value) = line.text.split_once(':').unwrap_or((line.text, ""));
        if name.trim().is_empty() || value.trim().is_empty() {
            let shown = excerpt(line.text);
            let message = format!("`{shown}` is not a header; write `name: value`, or `@file` for a body");
            return Err(line.error(message));
        }
        if request.headers.len() == MAX_HEADERS {
            return Err(line.error(format!("more than {MAX_HEADERS} headers")));
        }
        request.headers.push((name.trim().to_owned(), value.trim().to_owned()));
    }
    Ok(request)
}

/// The beginning of a line, for messages.
fn excerpt(text: &str) -> String {
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

fn next_json(lines: &mut Lines<'_>) -> Option<Result<ListedRequest, LineError>> {
    lines.next_full().map(read_json)
}

fn read_json(line: NumberedLine<'_>) -> Result<ListedRequest, LineError> {
    let read: JsonLine = serde_json::from_str(line.text)
        .map_err(|error| line.error(format!("no request as JSON: {error}")))?;
    let headers: Vec<_> = read
        .header
        .into_iter()
        .flat_map(|(name, values)| values.into_iter().map(move |value| (name.clone(), value)))
        .collect();
    if headers.len() > MAX_HEADERS {
        return Err(line.error(format!("more than {MAX_HEADERS} headers")));
    }
    let body = read.body.filter(|body| !body.is_empty()).map(|body| decode_body(&body)).transpose();
    let body = body.map_err(|message| line.error(message))?.map(ListedBody::Text);
    Ok(ListedRequest { line: line.number, method: read.method, url: read.url, headers, body })
}

fn decode_body(body: &str) -> Result<String, String> {
    let bytes = STANDARD.decode(body).map_err(|error| format!("`body` is not base64: {error}"))?;
    String::from_utf8(bytes).map_err(|_| "`body` is not UTF-8; bodies must be text".to_owned())
}
