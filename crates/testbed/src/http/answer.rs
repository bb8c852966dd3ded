//! Writes an answer as bytes.

use crate::behaviour::{CannedResponse, Farewell, Framing};

/// An answer as it goes over the wire.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Encoded {
    pub(crate) head: Vec<u8>,
    pub(crate) body: Vec<u8>,
}

/// Encodes `answer` to a request of `method`; `farewell` says whether the connection's end is announced.
pub(crate) fn encode(answer: &CannedResponse, method: &str, farewell: Option<Farewell>) -> Encoded {
    let mut head = format!("HTTP/1.1 {} {}\r\n", answer.status, reason(answer.status));
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    let bodiless = answer.status < 200 || matches!(answer.status, 204 | 304);
    match answer.framing {
        _ if bodiless => {}
        Framing::Length => head.push_str(&format!("content-length: {}\r\n", answer.body.len())),
        Framing::Chunked(_) => head.push_str("transfer-encoding: chunked\r\n"),
        Framing::UntilClose => {}
    }
    if farewell == Some(Farewell::Announced) {
        head.push_str("connection: close\r\n");
    }
    head.push_str("\r\n");
    let body = match answer.framing {
        _ if bodiless || method == "HEAD" => Vec::new(),
        Framing::Chunked(size) => chunked(&answer.body, size),
        Framing::Length | Framing::UntilClose => answer.body.clone(),
    };
    Encoded { head: head.into_bytes(), body }
}

fn chunked(body: &[u8], size: usize) -> Vec<u8> {
    let mut coded = Vec::with_capacity(body.len() + 16);
    for chunk in body.chunks(size.max(1)) {
        coded.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        coded.extend_from_slice(chunk);
        coded.extend_from_slice(b"\r\n");
    }
    coded.extend_from_slice(b"0\r\n\r\n");
    coded
}

fn reason(status: u16) -> &'static str {
    http::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or("Status")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(answer: &CannedResponse, method: &str, expect: &str) {
        let Encoded { head, body } = encode(answer, method, None);
        assert_eq!(String::from_utf8([head, body].concat()).unwrap(), expect);
    }

    #[test]
    fn frames_the_body_as_asked() {
        let mut answer = CannedResponse::new(200).body("hello");
        answer.headers.clear();
        check(&answer, "GET", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello");
        check(&answer, "HEAD", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n");
        let chunked = answer.clone().framed(Framing::Chunked(3));
        let expect = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n";
        check(&chunked, "GET", expect);
        check(&answer.clone().framed(Framing::UntilClose), "GET", "HTTP/1.1 200 OK\r\n\r\nhello");
        check(&CannedResponse { status: 204, ..answer }, "GET", "HTTP/1.1 204 No Content\r\n\r\n");
    }
}
