//! What a response's header fields must be like (RFC 9113, section 8; no control characters in values: RFC 9110, 5.5).

use crate::decimal;
use crate::deviation::{Deviation, Deviations};
use crate::headers::Headers;

/// What the connection needs to know of a head.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) status: u16,
    pub(super) content_length: Option<u64>,
    pub(super) deviations: Deviations,
}

/// Check a head: `:status` first and alone, then regular fields.
pub(super) fn head(headers: &Headers) -> Result<Head, &'static str> {
    let mut fields = headers.iter();
    let status = match fields.next() {
        Some((b":status", value)) => status(value)?,
        _ => return Err("a response without a status"),
    };
    let (mut content_length, mut deviations) = (None, Deviations::default());
    for (name, value) in fields {
        check_field(name, value)?;
        if has_outer_blanks(name, value) {
            deviations.add(Deviation::BlankAroundValue);
        }
        if name.len() == 14 && name == b"content-length" {
            let length = decimal::parse(value.trim_ascii()).ok_or("an invalid content-length")?;
            if content_length.is_some_and(|known| known != length) {
                return Err("conflicting content-lengths");
            }
            content_length = Some(length);
        }
    }
    Ok(Head { status, content_length, deviations })
}

/// Check trailers: regular fields alone.
pub(super) fn trailers(headers: &Headers) -> Result<(), &'static str> {
    headers.iter().try_for_each(|(name, value)| check_field(name, value))
}

fn status(value: &[u8]) -> Result<u16, &'static str> {
    match *value {
        [a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] => {
            Ok(u16::from(a - b'0') * 100 + u16::from(b - b'0') * 10 + u16::from(c - b'0'))
        }
        _ => Err("an invalid status"),
    }
}

fn check_field(name: &[u8], value: &[u8]) -> Result<(), &'static str> {
    if name.first().is_none_or(|&first| first == b':') {
        return Err("an empty name or a pseudo-header out of place");
    }
    if !name.iter().all(|&b| b > b' ' && b < 0x7f && b != b':' && !b.is_ascii_uppercase()) {
        return Err("an invalid header name");
    }
    // The fold has no early exit so that it becomes vector code.
    if value.iter().fold(false, |bad, &b| bad | (b < b' ' && b != b'\t') | (b == 0x7f)) {
        return Err("a control character in a header value");
    }
    if is_connection_specific(name) { Err("a header that HTTP/2 forbids") } else { Ok(()) }
}

fn has_outer_blanks(name: &[u8], value: &[u8]) -> bool {
    let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    // The specification of gRPC leaves the blanks around a message as they are.
    (is_blank(value.first()) || is_blank(value.last())) && name != b"grpc-message"
}

fn is_connection_specific(name: &[u8]) -> bool {
    match name.len() {
        7 => name == b"upgrade",
        10 => name == b"connection" || name == b"keep-alive",
        16 => name == b"proxy-connection",
        17 => name == b"transfer-encoding",
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(fields: &[(&str, &str)], expect: Result<(u16, Option<u64>), &'static str>) {
        let mut headers = Headers::new();
        for (name, value) in fields {
            headers.push(name.as_bytes(), value.as_bytes());
        }
        assert_eq!(head(&headers).map(|h| (h.status, h.content_length)), expect, "{fields:?}");
    }

    #[test]
    fn heads_are_taken_or_refused() {
        check(&[(":status", "200")], Ok((200, None)));
        check(&[(":status", "999"), ("content-length", "12"), ("a", "")], Ok((999, Some(12))));
        check(&[], Err("a response without a status"));
        check(&[("a", "b"), (":status", "200")], Err("a response without a status"));
        check(&[(":status", "20")], Err("an invalid status"));
        check(&[(":status", "099")], Err("an invalid status"));
        let misplaced = Err("an empty name or a pseudo-header out of place");
        check(&[(":status", "200"), (":status", "200")], misplaced);
        check(&[(":status", "200"), ("", "x")], misplaced);
        for name in ["Server", "a b", "a:b", "a\n", "a\0", "a\u{7f}", "a\u{e9}"] {
            check(&[(":status", "200"), (name, "x")], Err("an invalid header name"));
        }
        for value in ["b\nc", "b\rc", "b\0", "b\u{1b}[2J", "\u{1}", "b\u{7f}"] {
            check(&[(":status", "200"), ("a", value)], Err("a control character in a header value"));
        }
        for value in [" b", "b ", "\tb", "b\t", " "] {
            let mut headers = Headers::new();
            [(":status", "200"), ("a", value), ("content-length", " 7")]
                .iter()
                .for_each(|(name, value)| headers.push(name.as_bytes(), value.as_bytes()));
            let head = head(&headers).unwrap();
            assert!(
                head.deviations.iter().eq([Deviation::BlankAroundValue]) && head.content_length == Some(7)
            );
        }
        check(&[(":status", "200"), ("a", "b\tc d \u{e9}"), ("grpc-message", "why: ")], Ok((200, None)));
        check(&[(":status", "200"), ("connection", "close")], Err("a header that HTTP/2 forbids"));
        check(&[(":status", "200"), ("content-length", "+1")], Err("an invalid content-length"));
        let twice = [(":status", "200"), ("content-length", "1"), ("content-length", "2")];
        check(&twice, Err("conflicting content-lengths"));
    }
}
