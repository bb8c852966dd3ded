//! Names of endpoints and headers.

use super::AdhocError;

/// The longest name of an endpoint, in characters.
const MAX_NAME_CHARS: usize = 120;

/// The name of a header that users may set, in lower case.
pub(super) fn header_name(name: &str) -> Result<String, AdhocError> {
    let lower = name.trim().to_ascii_lowercase();
    let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if lower.is_empty() || !lower.bytes().all(is_token) {
        // What follows a blank may be the value of a header without a colon.
        let shown = name.split_whitespace().next().unwrap_or_default();
        return Err(AdhocError(format!("`{shown}` is not a header name; write `-H 'name: value'`")));
    }
    match lower.as_str() {
        "host" => Err(AdhocError(
            "the header `host` is that of the URL; put the name into the URL, and use `--connect-to` to connect \
             elsewhere"
                .to_owned(),
        )),
        "connection" | "content-length" | "keep-alive" | "proxy-connection" | "transfer-encoding" | "upgrade" => {
            Err(AdhocError(format!("the header `{lower}` is written by the connection; leave it out")))
        }
        _ => Ok(lower),
    }
}

/// A name of an endpoint: without quotes and control characters, and not too long for a table.
pub(super) fn endpoint_name(text: &str) -> String {
    let plain = |c: char| match c {
        '"' => '\'',
        c if c.is_control() => '\u{fffd}',
        c => c,
    };
    let mut name: String = text.chars().take(MAX_NAME_CHARS).map(plain).collect();
    if text.chars().nth(MAX_NAME_CHARS).is_some() {
        name.push('…');
    }
    name
}
