//! Bytes from a peer: HTTP/1.1 responses, HTTP/2 frames, WebSocket frames, gRPC messages and status texts.

use wire::grpc::{Deframer, Status, single_message};
use wire::websocket::{Client, Compression, WebSocketError};
use wire::{
    Connection, Event, Events, HeaderView, Headers, OpenRequest, Request, Scheme, Token, WireError, h1, h2,
};

use crate::Target;

pub(crate) const HTTP1: Target = Target {
    name: "http1",
    seeds: &[
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nx: y\r\n\r\n",
        b"HTTP/1.0 404 Not Found\r\nConnection: close\r\n\r\nuntil the end",
        b"HTTP/1.1 204 No Content\r\nKeep-Alive: timeout=5\r\nConnection: keep-alive\r\n\r\n",
    ],
    words: &[
        b"Content-Length: ",
        b"Transfer-Encoding: chunked\r\n",
        b"\r\n\r\n",
        b"Connection: close\r\n",
        b"ffffffffffffffff\r\n",
        b"0\r\n\r\n",
        b"HTTP/1.1 ",
    ],
    run: |input| {
        let whole = one_response(&[input]);
        let middle = input.len() / 2;
        let bytes: Vec<&[u8]> = input.chunks(1).collect();
        for parts in [&[&input[..middle], &input[middle..]][..], &bytes] {
            assert_eq!(one_response(parts), whole, "cut at other points, a response has another meaning");
        }
        let repeated = same_responses(input);
        assert!(repeated.iter().all(|one| *one == repeated[0]), "what comes again has another meaning");
        whole.1.is_none()
    },
    ..Target::BASE
};

/// The events of a connection with one open request after these reads, and how it ended.
fn one_response(reads: &[&[u8]]) -> (Vec<String>, Option<WireError>) {
    let mut connection = h1::Connection::new();
    connection.start(1, &request(&Headers::default())).expect("a fresh connection takes a request");
    connection.sent(usize::MAX);
    let mut log = EventLog::default();
    for read in reads {
        if let Err(error) = connection.receive(read, &mut |event: Event<'_>| log.add(&event)) {
            return (log.lines, Some(error));
        }
    }
    let end = connection.closed(&mut |event: Event<'_>| log.add(&event)).err();
    (log.lines, end)
}

/// The events of requests that one connection carries one after another, each with this response, as long as it can.
fn same_responses(response: &[u8]) -> Vec<(Vec<String>, Option<WireError>)> {
    let mut connection = h1::Connection::new();
    let (mut sink, mut seen) = (RememberingSink::default(), Vec::new());
    while connection.capacity() > 0 && seen.len() < 4 {
        connection.start(1, &request(&Headers::default())).expect("the connection has capacity");
        connection.sent(usize::MAX);
        let received = connection.receive(response, &mut sink);
        seen.push((std::mem::take(&mut sink.log.lines), received.err()));
    }
    seen
}

/// A log that remembers the last response head.
#[derive(Default)]
struct RememberingSink {
    log: EventLog,
    head: h1::RecentHead,
}

impl Events for RememberingSink {
    fn event(&mut self, event: Event<'_>) {
        self.log.add(&event);
    }

    fn take_head(&mut self, _token: Token) -> Option<h1::RecentHead> {
        Some(std::mem::take(&mut self.head))
    }

    fn keep_head(&mut self, _token: Token, head: h1::RecentHead) {
        self.head = head;
    }
}

pub(crate) const HTTP2: Target = Target {
    name: "http2",
    seeds: &[
        // SETTINGS, its acknowledgement, HEADERS of a 200 on stream 1, DATA that ends it.
        b"\0\0\0\x04\0\0\0\0\0\0\0\0\x04\x01\0\0\0\0\0\0\x01\x01\x04\0\0\0\x01\x88\0\0\x02\0\x01\0\0\0\x01hi",
        // SETTINGS with a small window, PING, WINDOW_UPDATE, RST_STREAM, GOAWAY.
        b"\0\0\x06\x04\0\0\0\0\0\0\x04\0\0\0\x01\0\0\x08\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x04\x08\0\0\0\0\0\0\0\0\x05\
          \0\0\x04\x03\0\0\0\0\x01\0\0\0\x08\0\0\x08\x07\0\0\0\0\0\0\0\0\x01\0\0\0\0",
        // A head in two parts, padded data, trailers with a literal field.
        b"\0\0\0\x04\0\0\0\0\0\0\0\x01\x01\0\0\0\0\x01\x88\0\0\0\x09\x04\0\0\0\x01\0\0\x05\0\x08\0\0\0\x01\x02hi\0\0\
          \0\0\x0f\x01\x05\0\0\0\x01\x40\x0bgrpc-status\x010",
    ],
    words: &[b"\0\0\0\x04\0\0\0\0\0", b"\0\0\0\x01", b"\x88", b"\xff\xff\xff", b"\0\x40\0", b"\x3f\xe1\x1f", b"\x7f\xff\xff\xff"],
    run: |input| {
        let whole = two_streams(&[input]);
        let bytes: Vec<&[u8]> = input.chunks(1).collect();
        assert_eq!(two_streams(&bytes), whole, "cut at other points, frames have another meaning");
        whole.1.is_none()
    },
    ..Target::BASE
};

fn two_streams(reads: &[&[u8]]) -> (Vec<String>, Option<WireError>) {
    let mut connection = h2::Connection::new(h2::Config::default());
    let headers = Headers::default();
    for token in [1, 2] {
        connection.start(token, &request(&headers)).expect("a fresh connection takes two requests");
    }
    connection.sent(usize::MAX);
    let mut log = EventLog::default();
    let mut end = None;
    for read in reads {
        if let Err(error) = connection.receive(read, &mut |event: Event<'_>| log.add(&event)) {
            end = Some(error);
            break;
        }
        assert!(connection.outgoing().len() < 1 << 20, "a peer can make the connection accumulate replies");
    }
    // What a frame that breaks the protocol counts for depends on how much of it had come.
    let bytes_of = |request: OpenRequest| end.is_none().then_some(request.bytes);
    connection.for_each_open(&mut |request| {
        log.lines.push(format!("{} open {:?}", request.token, bytes_of(request)));
    });
    log.lines.sort();
    (log.lines, end)
}

/// The first byte says whether messages may be compressed.
pub(crate) const WEBSOCKET: Target = Target {
    name: "websocket",
    seeds: &[
        // A text, one in two frames with a ping between them, a close frame.
        b"\0\x81\x05hello\x01\x02he\x89\x01p\x80\x03llo\x88\x05\x03\xe8bye",
        // Bytes with the longer lengths, and a pong.
        b"\0\x82\x7e\0\x03abc\x82\x7f\0\0\0\0\0\0\0\x02de\x8a\0",
        // Compressed in one frame, and in two.
        b"\x01\xc1\x07\xf2\x48\xcd\xc9\xc9\x07\0\x41\x03\xf2\x48\xcd\x80\x04\xc9\xc9\x07\0",
    ],
    words: &[
        b"\x81\x7e",
        b"\xff\xff\xff\xff\xff\xff\xff\xff",
        b"\x88\x02\x03\xe8",
        b"\xc2\x02\x03\0",
        b"\x80\0",
        b"\xed\xc1\x01\x01",
    ],
    run: |input| {
        let [compression, frames @ ..] = input else { return false };
        let compression = if compression % 2 == 0 { Compression::None } else { Compression::Deflate };
        let whole = messages(compression, &[frames]);
        let bytes: Vec<&[u8]> = frames.chunks(1).collect();
        assert_eq!(messages(compression, &bytes), whole, "cut at other points, frames have another meaning");
        whole.1.is_none()
    },
    ..Target::BASE
};

/// The messages of a session, and how it failed.
fn messages(compression: Compression, reads: &[&[u8]]) -> (Vec<String>, Option<WebSocketError>) {
    const MOST_BYTES: usize = 1 << 20;
    let mut client = Client::new(compression, MOST_BYTES);
    let mut seen = Vec::new();
    for read in reads {
        if let Err(error) = client.receive(read, &mut |message| seen.push(format!("{message:?}"))) {
            assert!(matches!(error.close_code(), 1002 | 1007 | 1009) && !error.reason().is_empty());
            return (seen, Some(error));
        }
        assert!(client.kept_bytes() <= 2 * MOST_BYTES, "more is kept of a message than it may have");
    }
    (seen, None)
}

pub(crate) const GRPC_MESSAGES: Target = Target {
    name: "grpc-messages",
    seeds: &[b"\0\0\0\0\x05hello", b"\0\0\0\0\0\0\0\0\0\x01x", b"\x01\0\0\0\x02zz"],
    words: &[b"\0\0\0\0", b"\xff\xff\xff\xff"],
    run: |input| {
        let gather = |pieces: &mut dyn Iterator<Item = &[u8]>| {
            let mut deframer = Deframer::new(1 << 16);
            let mut messages: Vec<Vec<u8>> = Vec::new();
            for piece in pieces {
                if let Err(error) = deframer.push(piece, |message| messages.push(message.payload().to_vec()))
                {
                    return (messages, Err(error));
                }
            }
            (messages, deframer.finish())
        };
        let whole = gather(&mut std::iter::once(input));
        assert_eq!(gather(&mut input.chunks(1)), whole, "cut at other points, messages differ");
        if let Ok(only) = single_message(input) {
            assert_eq!(whole.0, [only], "two ways to read one message differ");
        }
        whole.1.is_ok()
    },
    ..Target::BASE
};

pub(crate) const GRPC_STATUS: Target = Target {
    name: "grpc-status",
    seeds: &[b"0\nall well", b"13\nsome%20text%E4%BD", b"7\n%"],
    words: &[b"%00", b"%ff", b"%E2%82%AC", b"99999999999"],
    run: |input| {
        let (code, text) =
            input.split_at(input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len()));
        let mut headers = Headers::default();
        headers.push(b"grpc-status", code);
        headers.push(b"grpc-message", text);
        let trailers = headers.view();
        let Some(status) = Status::from_trailers(&trailers) else { return false };
        let mut shown = String::new();
        status.text_into(&mut shown);
        assert!(shown.len() <= 3 * text.len() + 3, "a text is longer than its encoding allows");
        true
    },
    ..Target::BASE
};

fn request(headers: &Headers) -> Request<'_> {
    Request { method: b"GET", path: b"/", authority: b"127.0.0.1", scheme: Scheme::Http, headers, body: b"" }
}

/// Events as text. Adjacent body chunks are joined, because the points where they are cut have no meaning.
#[derive(Default)]
struct EventLog {
    lines: Vec<String>,
    open_body: Option<u64>,
}

impl EventLog {
    fn add(&mut self, event: &Event<'_>) {
        if let Event::Body { token, chunk } = event {
            assert!(!chunk.is_empty(), "a part of a body is never empty");
            if self.open_body != Some(*token) {
                self.lines.push(format!("{token} body "));
                self.open_body = Some(*token);
            }
            let line = self.lines.last_mut().expect("the line was pushed above");
            line.push_str(&chunk.escape_ascii().to_string());
            return;
        }
        self.open_body = None;
        let fields = |headers: HeaderView<'_>| -> String {
            headers
                .iter()
                .map(|(name, value)| format!(" {}={}", name.escape_ascii(), value.escape_ascii()))
                .collect()
        };
        self.lines.push(match event {
            Event::Head { token, head } => format!("{token} head {}{}", head.status, fields(head.headers)),
            Event::Trailers { token, headers } => format!("{token} trailers{}", fields(*headers)),
            Event::Done { token, bytes } => format!("{token} done {bytes:?}"),
            Event::Failed { request, error } => format!("{request:?} failed: {error}"),
            Event::Body { .. } => return,
        });
    }
}
