//! How a call ended.

use evidence::GrpcCode;

use crate::headers::HeaderView;

/// The longest decoded status message; the rest is cut.
const MAX_TEXT_BYTES: usize = 8 << 10;

/// Code and raw text of a call's end.
#[derive(Debug, Clone, Copy)]
pub struct Status<'a> {
    /// Codes outside the specification read as `UNKNOWN`.
    pub code: GrpcCode,
    /// `grpc-message` as on the wire: percent-encoded, empty when absent.
    pub message: &'a [u8],
}

impl<'a> Status<'a> {
    /// From trailers, or the head of a trailers-only response; `None` without a `grpc-status`. Of several fields of one
    /// name the last one counts.
    pub fn from_trailers(trailers: &HeaderView<'a>) -> Option<Self> {
        let code = Self::code_of(trailers)?;
        let message = last(trailers, b"grpc-message").unwrap_or_default();
        Some(Status { code, message })
    }

    /// The code alone.
    pub fn code_of(trailers: &HeaderView<'a>) -> Option<GrpcCode> {
        last(trailers, b"grpc-status").map(parse_code)
    }

    /// Append the text: percent-decoded, invalid escapes kept as they are, invalid UTF-8 replaced, and cut
    /// after 8 KiB.
    pub fn text_into(&self, out: &mut String) {
        let mut bytes = Vec::with_capacity(self.message.len().min(MAX_TEXT_BYTES));
        let mut rest = self.message;
        while let [first, tail @ ..] = rest
            && bytes.len() < MAX_TEXT_BYTES
        {
            let escape = if *first == b'%' { tail.first_chunk().copied().and_then(unescape) } else { None };
            bytes.push(escape.unwrap_or(*first));
            rest = if escape.is_some() { &tail[2..] } else { tail };
        }
        out.push_str(&String::from_utf8_lossy(&bytes));
    }
}

fn last<'a>(trailers: &HeaderView<'a>, name: &[u8]) -> Option<&'a [u8]> {
    // The usual spelling first: comparing without regard to case costs more.
    let is_same = |known: &[u8]| known == name || known.eq_ignore_ascii_case(name);
    trailers.iter().rfind(|(known, _)| is_same(known)).map(|(_, value)| value)
}

fn unescape([high, low]: [u8; 2]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(high)? << 4 | digit(low)?).ok()
}

fn parse_code(value: &[u8]) -> GrpcCode {
    let number = std::str::from_utf8(value).ok().and_then(|digits| digits.parse().ok());
    GrpcCode::from_number(number.unwrap_or(u32::MAX))
}

/// The code of a call that ended without a `grpc-status`, from its HTTP status. Source: "HTTP to gRPC Status
/// Code Mapping" of the gRPC specification. HTTP 200 without a status is `UNKNOWN`.
pub fn code_of_http(status: u16) -> GrpcCode {
    GrpcCode::from_number(match status {
        400 => 13,                   // INTERNAL
        401 => 16,                   // UNAUTHENTICATED
        403 => 7,                    // PERMISSION_DENIED
        404 => 12,                   // UNIMPLEMENTED
        429 | 502 | 503 | 504 => 14, // UNAVAILABLE
        _ => 2,                      // UNKNOWN
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headers::Headers;

    fn check(status: &[u8], message: &[u8], expect: &str) {
        let mut headers = Headers::new();
        headers.push(b"grpc-status", status);
        headers.push(b"grpc-message", message);
        let view = headers.view();
        let status = Status::from_trailers(&view).unwrap();
        let mut text = format!("{} ", status.code);
        status.text_into(&mut text);
        assert_eq!(text, expect);
    }

    #[test]
    fn status_and_text_are_read() {
        check(b"0", b"", "OK ");
        check(b"5", b"no such user", "NOT_FOUND no such user");
        check(b"13", b"caf%C3%a9 %", "INTERNAL caf\u{e9} %");
        check(b"13", b"%zz%4", "INTERNAL %zz%4");
        check(b"2", b"%ff", "UNKNOWN \u{fffd}");
        check(b"99", b"", "UNKNOWN ");
        check(b"-1", b"", "UNKNOWN ");
        assert!(Status::from_trailers(&Headers::new().view()).is_none());
    }

    #[test]
    fn http_statuses_map_as_specified() {
        let codes = [200, 400, 401, 403, 404, 429, 500, 503].map(|s| code_of_http(s).number());
        assert_eq!(codes, [2, 13, 16, 7, 12, 14, 2, 14]);
    }
}
