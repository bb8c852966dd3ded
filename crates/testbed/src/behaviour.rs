//! How an HTTP target behaves.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How the body of an [`CannedResponse`] is delimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// A `content-length` header.
    Length,
    /// Chunked transfer coding with chunks of at most this many bytes; at least 1.
    Chunked(usize),
    /// The end of the connection.
    UntilClose,
}

/// A complete answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CannedResponse {
    /// The status code.
    pub status: u16,
    /// Headers besides those of the framing.
    pub headers: Vec<(String, String)>,
    /// The body; not sent in answer to HEAD, nor with statuses that have none.
    pub body: Vec<u8>,
    /// How the body is delimited.
    pub framing: Framing,
    /// How long the request is held before the answer.
    pub delay: Duration,
}

impl CannedResponse {
    /// An answer with `status` and a short body of plain text, at once.
    pub fn new(status: u16) -> Self {
        CannedResponse {
            status,
            headers: vec![("content-type".to_owned(), "text/plain".to_owned())],
            body: format!("status {status}\n").into_bytes(),
            framing: Framing::Length,
            delay: Duration::ZERO,
        }
    }

    /// The same answer with another body.
    pub fn body(self, body: impl Into<Vec<u8>>) -> Self {
        CannedResponse { body: body.into(), ..self }
    }

    /// The same answer with a JSON body and the content type that says so.
    pub fn json(mut self, body: &serde_json::Value) -> Self {
        self.headers.retain(|(name, _)| name != "content-type");
        self.header("content-type", "application/json").body(body.to_string())
    }

    /// The same answer with one header more.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same answer after `delay`.
    pub fn after(self, delay: Duration) -> Self {
        CannedResponse { delay, ..self }
    }

    /// The same answer, delimited by `framing`.
    pub fn framed(self, framing: Framing) -> Self {
        CannedResponse { framing, ..self }
    }
}

impl From<CannedResponse> for Behaviour {
    fn from(answer: CannedResponse) -> Self {
        Behaviour::Fixed(answer)
    }
}

/// What happens to a connection after bytes that were not whole answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It is closed in order.
    Close,
    /// It is reset (RST).
    Reset,
    /// It is left open, and nothing more is sent or answered on it.
    Hang,
}

/// Whether a target says beforehand that it will close the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Farewell {
    /// The last answer carries `connection: close`.
    Announced,
    /// The connection is closed after an answer like any other.
    Silent,
}

/// A function that makes each answer.
#[derive(Clone)]
pub struct Answerer(Arc<dyn Fn() -> CannedResponse + Send + Sync>);

impl Answerer {
    pub(crate) fn answer(&self) -> CannedResponse {
        (self.0)()
    }
}

impl fmt::Debug for Answerer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answerer").finish_non_exhaustive()
    }
}

/// How an HTTP target behaves at one path. Delays count from the moment the request was fully read.
#[derive(Debug, Clone)]
pub enum Behaviour {
    /// The same answer each time.
    Fixed(CannedResponse),
    /// Each answer is made when its request was read: for a target whose state the test holds.
    Computed(Answerer),
    /// Answers with the request as JSON: `method`, `path`, `query`, `headers` (names in lower case,
    /// repeated ones joined by a comma), `body` as text, and `connection`, its number.
    Echo,
    /// Sends bytes that need not be an answer, then does what `then` says.
    Raw {
        /// How long the request is held before.
        delay: Duration,
        /// What is sent; may be empty.
        bytes: Vec<u8>,
        /// What follows.
        then: Ending,
    },
    /// Sends the head at once after the answer's delay, then one byte of the body per interval.
    Trickle {
        /// The answer; its framing must be [`Framing::Length`] or [`Framing::UntilClose`].
        answer: CannedResponse,
        /// Time before each byte of the body.
        interval: Duration,
    },
    /// Every `nth` request at this path behaves as `failing`, the others as `otherwise`.
    EveryNth {
        /// 1 means every request; at least 1.
        nth: u64,
        /// Requests number `nth`, 2 `nth` …
        failing: Box<Behaviour>,
        otherwise: Box<Behaviour>,
    },
    /// One after the other, then from the first again; not empty.
    Sequence(Vec<Behaviour>),
    /// A queue, first come first served: `workers / service` requests a second and no more.
    Capacity {
        /// Requests in service at once; at least 1.
        workers: u32,
        /// What each of them takes; the answer's own delay is added to it.
        service: Duration,
        answer: CannedResponse,
    },
    /// A site with a login. `POST …/login` answers `{"token": "token-N"}` and sets the cookie `session` to
    /// the same token; every other request needs it as `authorization: Bearer` or as the cookie, and is
    /// answered `{"user": N, "by": "bearer" | "cookie"}`, or 401.
    Login,
    /// Closes the connection after its `requests`th request.
    CloseAfter {
        /// Requests a connection; at least 1.
        requests: u64,
        /// Whether it is announced.
        farewell: Farewell,
        answer: Box<Behaviour>,
    },
}

impl Behaviour {
    /// 200 at once.
    pub fn ok() -> Self {
        Self::status(200)
    }

    /// `status` at once.
    pub fn status(status: u16) -> Self {
        CannedResponse::new(status).into()
    }

    /// What `answer` makes of its state each time; its delay counts.
    pub fn computed(answer: impl Fn() -> CannedResponse + Send + Sync + 'static) -> Self {
        Behaviour::Computed(Answerer(Arc::new(answer)))
    }

    /// 200 after `delay`.
    pub fn after(delay: Duration) -> Self {
        CannedResponse::new(200).after(delay).into()
    }

    /// Reads the request and never answers.
    pub fn never() -> Self {
        Self::raw("", Ending::Hang)
    }

    /// Resets the connection before any answer.
    pub fn reset() -> Self {
        Self::raw("", Ending::Reset)
    }

    /// Closes the connection before any answer.
    pub fn close() -> Self {
        Self::raw("", Ending::Close)
    }

    /// Sends bytes that no HTTP is, and closes.
    pub fn garbage() -> Self {
        Self::raw(*b"\x00\xffnot http at all\r\n\r\n\x01\x02\x03", Ending::Close)
    }

    /// Sends the head and the first 5 of 100 bytes of a body, then does what `then` says.
    pub fn half_answer(then: Ending) -> Self {
        Self::lie_about_length(100, "first", then)
    }

    /// Announces a body of `claimed` bytes and sends `body`, which may be shorter or longer.
    pub fn lie_about_length(claimed: u64, body: &str, then: Ending) -> Self {
        Self::raw(format!("HTTP/1.1 200 OK\r\ncontent-length: {claimed}\r\n\r\n{body}"), then)
    }

    /// Sends `bytes` at once, then does what `then` says.
    pub fn raw(bytes: impl Into<Vec<u8>>, then: Ending) -> Self {
        Behaviour::Raw { delay: Duration::ZERO, bytes: bytes.into(), then }
    }

    /// Every `nth` request is answered `status`, the others 200.
    pub fn error_rate(nth: u64, status: u16) -> Self {
        let (failing, otherwise) = (Box::new(Self::status(status)), Box::new(Self::ok()));
        Behaviour::EveryNth { nth, failing, otherwise }
    }

    /// A queue of `workers` that each take `service` for a request, and answer 200.
    pub fn capacity(workers: u32, service: Duration) -> Self {
        Behaviour::Capacity { workers, service, answer: CannedResponse::new(200) }
    }

    /// Answers 200, and closes each connection after its `requests`th request.
    pub fn close_after(requests: u64, farewell: Farewell) -> Self {
        Behaviour::CloseAfter { requests, farewell, answer: Box::new(Self::ok()) }
    }
}
