//! A request as bytes.

use crate::decimal::Digits;
use crate::event::Request;

/// Append head and body, with header lines of the connection. The request has been checked.
pub(super) fn request(out: &mut Vec<u8>, request: &Request<'_>, lines: &[u8]) {
    let Request { method, path, authority, headers, body, .. } = request;
    for part in [method, &b" "[..], path, b" HTTP/1.1\r\nhost: ", authority, b"\r\n", lines] {
        out.extend_from_slice(part);
    }
    for (name, value) in headers.iter() {
        for part in [name, b": ", value, b"\r\n"] {
            out.extend_from_slice(part);
        }
    }
    if !body.is_empty() || matches!(*method, b"POST" | b"PUT" | b"PATCH") {
        out.extend_from_slice(b"content-length: ");
        out.extend_from_slice(Digits::new(body.len() as u64).as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(body);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Scheme;
    use crate::headers::Headers;

    fn check(method: &str, body: &str, expect: &str) {
        let mut headers = Headers::new();
        headers.push(b"x-a", b"1");
        let (method, path, authority) = (method.as_bytes(), &b"/p?q"[..], &b"h:1"[..]);
        let (scheme, body) = (Scheme::Http, body.as_bytes());
        let mut out = Vec::new();
        request(&mut out, &Request { method, path, authority, scheme, headers: &headers, body }, b"");
        assert_eq!(String::from_utf8(out).unwrap(), expect);
    }

    #[test]
    fn a_length_is_written_where_a_body_is_or_is_expected() {
        check("GET", "", "GET /p?q HTTP/1.1\r\nhost: h:1\r\nx-a: 1\r\n\r\n");
        check("PUT", "", "PUT /p?q HTTP/1.1\r\nhost: h:1\r\nx-a: 1\r\ncontent-length: 0\r\n\r\n");
        let expect = "DELETE /p?q HTTP/1.1\r\nhost: h:1\r\nx-a: 1\r\ncontent-length: 10\r\n\r\n0123456789";
        check("DELETE", "0123456789", expect);
    }
}
