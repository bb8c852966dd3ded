//! What a request must be like before any of it is written.
//!
//! Requests are rendered from templates and data files, so a stray line feed in a data row must become an
//! error here and not a second request at the peer.

use crate::error::StartError;
use crate::event::Request;

/// Check everything but the body.
pub(crate) fn check(request: &Request<'_>) -> Result<(), StartError> {
    ensure(is_name_like(request.method), "the method is empty or not a token")?;
    ensure(request.method != b"CONNECT", "CONNECT opens a tunnel, which is not a request")?;
    ensure(is_visible(request.path), "the path is empty or holds a space or a control character")?;
    ensure(is_visible(request.authority), "the authority is empty or holds a space or a control character")?;
    for (name, value) in request.headers.iter() {
        check_field(name, value)?;
    }
    Ok(())
}

fn check_field(name: &[u8], value: &[u8]) -> Result<(), StartError> {
    ensure(is_name_like(name), "a header name is empty or not a token")?;
    ensure(!name.iter().fold(false, |any, b| any | b.is_ascii_uppercase()), "a header name has upper case")?;
    ensure(is_value(value), "a header value holds a line break or another control character")?;
    ensure(!is_ours(name), "host, content-length, connection and the like are written by the connection")
}

fn ensure(holds: bool, why: &'static str) -> Result<(), StartError> {
    if holds { Ok(()) } else { Err(StartError::Invalid(why)) }
}

/// Headers that frame the message or manage the connection: different values from a caller would desynchronise
/// the peer.
fn is_ours(name: &[u8]) -> bool {
    match name.len() {
        4 => name == b"host",
        7 => name == b"upgrade",
        10 => name == b"connection" || name == b"keep-alive",
        14 => name == b"content-length",
        16 => name == b"proxy-connection",
        17 => name == b"transfer-encoding",
        _ => false,
    }
}

/// The folds below have no early exit so that the compiler turns them into vector code.
fn is_name_like(bytes: &[u8]) -> bool {
    !bytes.is_empty() & bytes.iter().fold(true, |ok, &b| ok & (b > b' ') & (b < 0x7f) & (b != b':'))
}

fn is_visible(bytes: &[u8]) -> bool {
    !bytes.is_empty() & bytes.iter().fold(true, |ok, &b| ok & (b > b' ') & (b != 0x7f))
}

/// Values may hold tabs and bytes above ASCII.
fn is_value(bytes: &[u8]) -> bool {
    bytes.iter().fold(true, |ok, &b| ok & ((b >= b' ') | (b == b'\t')) & (b != 0x7f))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Scheme;
    use crate::headers::Headers;

    fn verdict(method: &[u8], path: &[u8], name: &[u8], value: &[u8]) -> bool {
        let mut headers = Headers::new();
        headers.push(name, value);
        let authority = b"127.0.0.1:80";
        let scheme = Scheme::Http;
        check(&Request { method, path, authority, scheme, headers: &headers, body: b"" }).is_ok()
    }

    #[test]
    fn what_would_break_framing_is_refused() {
        assert!(verdict(b"GET", b"/a?b=c", b"x-a", "t\u{e9}xt\t1".as_bytes()));
        for (method, path, name, value) in [
            (&b""[..], &b"/"[..], &b"a"[..], &b""[..]),
            (b"CONNECT", b"/", b"a", b""),
            (b"GET", b"", b"a", b""),
            (b"GET", b"/ HTTP/1.1", b"a", b""),
            (b"GET", b"/", b"", b""),
            (b"GET", b"/", b"a:", b""),
            (b"GET", b"/", b"Accept", b""),
            (b"GET", b"/", b"a", b"1\r\nb: 2"),
            (b"GET", b"/", b"host", b"x"),
            (b"GET", b"/", b"transfer-encoding", b"chunked"),
        ] {
            assert!(!verdict(method, path, name, value), "{method:?} {path:?} {name:?} {value:?}");
        }
    }
}
