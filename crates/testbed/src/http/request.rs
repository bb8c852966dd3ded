//! Reads requests from a connection.

use std::io::{self, Read};
use std::net::TcpStream;

/// Most bytes of a request's head.
const HEAD_LIMIT: usize = 64 * 1024;
/// Most bytes of a request's body.
const MESSAGE_LIMIT: usize = 64 * 1024 * 1024;
const HEADERS_LIMIT: usize = 128;

/// One request, read to its last byte.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Whether the client asked for the connection to be closed.
    pub(crate) fn closes(&self) -> bool {
        self.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"))
    }
}

/// What came by a connection.
#[derive(Debug)]
pub(crate) enum Incoming {
    Request(Request),
    /// Bytes that are not HTTP/1.1 request.
    NoRequest,
    /// The client closed its side.
    End,
}

/// Reads one request after the other; what follows a request is kept for the next.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    stream: &'a TcpStream,
    buffer: Vec<u8>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(stream: &'a TcpStream) -> Self {
        Reader { stream, buffer: Vec::new() }
    }

    /// The next request; blocks until its last byte was read.
    pub(crate) fn next(&mut self) -> io::Result<Incoming> {
        let (mut request, head_bytes) = loop {
            match parse_head(&self.buffer) {
                Ok(Some(head)) => break head,
                Ok(None) if self.buffer.len() > HEAD_LIMIT => return Ok(Incoming::NoRequest),
                Ok(None) => {}
                Err(_) => return Ok(Incoming::NoRequest),
            }
            if self.fill()? == 0 {
                return Ok(Incoming::End);
            }
        };
        self.buffer.drain(..head_bytes);
        let body = if request.header("transfer-encoding").is_some_and(|v| v.eq_ignore_ascii_case("chunked")) {
            self.chunked_body()?
        } else {
            let length = request.header("content-length").map_or(Ok(0), str::parse);
            match length {
                Ok(length) if length <= MESSAGE_LIMIT => self.take(length)?,
                _ => return Ok(Incoming::NoRequest),
            }
        };
        let Some(body) = body else { return Ok(Incoming::NoRequest) };
        request.body = body;
        Ok(Incoming::Request(request))
    }

    /// Waits for the client to close its side; whatever it still sends is dropped.
    pub(crate) fn wait_for_end(&mut self) -> io::Result<()> {
        loop {
            self.buffer.clear();
            if self.fill()? == 0 {
                return Ok(());
            }
        }
    }

    /// Exactly `length` bytes; none when the client closed its side before.
    fn take(&mut self, length: usize) -> io::Result<Option<Vec<u8>>> {
        while self.buffer.len() < length {
            if self.fill()? == 0 {
                return Ok(None);
            }
        }
        Ok(Some(self.buffer.drain(..length).collect()))
    }

    /// A body in chunked transfer coding, trailers dropped; none when it is malformed or cut.
    fn chunked_body(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut body = Vec::new();
        loop {
            let size = loop {
                match httparse::parse_chunk_size(&self.buffer) {
                    Ok(httparse::Status::Complete((line_bytes, size))) => {
                        self.buffer.drain(..line_bytes);
                        break size as usize;
                    }
                    Ok(httparse::Status::Partial) if self.fill()? > 0 => {}
                    _ => return Ok(None),
                }
            };
            if size == 0 {
                return Ok(self.skip_trailers()?.map(|()| body));
            }
            if size > MESSAGE_LIMIT - body.len() {
                return Ok(None);
            }
            let Some(chunk) = self.take(size + 2)? else { return Ok(None) };
            body.extend_from_slice(&chunk[..size]);
        }
    }

    fn skip_trailers(&mut self) -> io::Result<Option<()>> {
        loop {
            let Some(end) = self.buffer.windows(2).position(|pair| pair == b"\r\n") else {
                if self.buffer.len() > HEAD_LIMIT || self.fill()? == 0 {
                    return Ok(None);
                }
                continue;
            };
            self.buffer.drain(..end + 2);
            if end == 0 {
                return Ok(Some(()));
            }
        }
    }

    fn fill(&mut self) -> io::Result<usize> {
        let mut chunk = [0; 16 * 1024];
        let count = loop {
            match self.stream.read(&mut chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        self.buffer.extend_from_slice(&chunk[..count]);
        Ok(count)
    }
}

/// A request without its body, and the length of its head; none while the head is not complete.
fn parse_head(bytes: &[u8]) -> Result<Option<(Request, usize)>, httparse::Error> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_LIMIT];
    let mut parsed = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(head_bytes) = parsed.parse(bytes)? else { return Ok(None) };
    let target = parsed.path.unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let headers = parsed
        .headers
        .iter()
        .map(|header| (header.name.to_ascii_lowercase(), String::from_utf8_lossy(header.value).into_owned()))
        .collect();
    let request = Request {
        method: parsed.method.unwrap_or_default().to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers,
        body: Vec::new(),
    };
    Ok(Some((request, head_bytes)))
}
