//! Serves one connection: reads a request, holds it, does what its behaviour says.

use std::io::{self, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use crate::behaviour::{CannedResponse, Ending, Farewell, Framing};
use crate::clock::now_ns;
use crate::freeze::nanos;
use crate::http::answer::encode;
use crate::http::handler::{Act, Handlers, ReceivedRequest, Reply};
use crate::http::request::{Incoming, Reader, Request};
use crate::log::{BODY_LIMIT, Entry, Outcome, Served};
use crate::shared::{Shared, Stopped};

/// Why a connection is served no further.
enum End {
    /// It is closed in order.
    Close,
    Reset,
}

/// A response whose body is sent one byte an interval.
struct Trickle<'a> {
    answer: &'a CannedResponse,
    interval: Duration,
}

impl From<io::Error> for End {
    fn from(_: io::Error) -> Self {
        End::Close
    }
}

impl From<Stopped> for End {
    fn from(_: Stopped) -> Self {
        End::Close
    }
}

/// One accepted connection.
pub(crate) struct Connection {
    number: u64,
    stream: Arc<TcpStream>,
    shared: Arc<Shared>,
    handlers: Arc<Handlers>,
}

impl Connection {
    pub(crate) fn new(stream: Arc<TcpStream>, shared: Arc<Shared>, handlers: Arc<Handlers>) -> Self {
        let number = shared.accept();
        shared.opened(number, &stream);
        Connection { number, stream, shared, handlers }
    }

    /// Serves request after request until one side ends the connection.
    pub(crate) fn serve(&self) {
        // Without it the kernel may hold back the second part of an answer for 40 ms.
        let _ = self.stream.set_nodelay(true);
        let mut reader = Reader::new(&self.stream);
        let mut nth = 0;
        let end = loop {
            nth += 1;
            if let Err(end) = self.exchange(&mut reader, nth) {
                break end;
            }
        };
        if let End::Reset = end {
            // With SO_LINGER of zero, closing the socket sends RST.
            let _ = rustix::net::sockopt::set_socket_linger(&self.stream, Some(Duration::ZERO));
        }
    }

    fn exchange(&self, reader: &mut Reader<'_>, nth: u64) -> Result<(), End> {
        let (request, is_request) = match reader.next()? {
            Incoming::Request(request) => (request, true),
            Incoming::NoRequest => (Request::default(), false),
            Incoming::End => return Err(End::Close),
        };
        let received_ns = now_ns();
        let entry = self.shared.log.received(self.entry(&request, received_ns));
        let at_ns = self.shared.unfreeze_at_ns(received_ns);
        let asked = ReceivedRequest { request: &request, at_ns, connection: self.number, nth };
        let reply = self.handlers.reply(asked);
        self.shared.stop.wait_until(self.shared.unfreeze_at_ns(reply.due_ns))?;
        let reply = if is_request { reply } else { without_request(reply) };
        let closes = reply.last.or_else(|| request.closes().then_some(Farewell::Announced));
        match reply.act {
            Act::Raw(bytes, then) => self.raw(entry, &bytes, then, reader),
            Act::CannedResponse(answer) => {
                self.answer(entry, &answer, &request, closes)?;
                end_of(&answer, closes)
            }
            Act::Trickle(answer, interval) => {
                self.trickle(entry, Trickle { answer: &answer, interval }, &request, closes)?;
                end_of(&answer, closes)
            }
        }
    }

    fn answer(
        &self,
        entry: Entry,
        answer: &CannedResponse,
        request: &Request,
        closes: Option<Farewell>,
    ) -> Result<(), End> {
        let encoded = encode(answer, &request.method, closes);
        let mut bytes = encoded.head;
        bytes.extend_from_slice(&encoded.body);
        self.shared.log.ending(entry, Some(answer.status), Outcome::Answered);
        self.write(entry, &bytes)
    }

    fn trickle(
        &self,
        entry: Entry,
        Trickle { answer, interval }: Trickle<'_>,
        request: &Request,
        closes: Option<Farewell>,
    ) -> Result<(), End> {
        let encoded = encode(answer, &request.method, closes);
        if encoded.body.is_empty() {
            self.shared.log.ending(entry, Some(answer.status), Outcome::Answered);
        }
        self.write(entry, &encoded.head)?;
        let mut due_ns = now_ns();
        for (index, byte) in encoded.body.iter().enumerate() {
            due_ns += nanos(interval);
            self.shared.stop.wait_until(self.shared.unfreeze_at_ns(due_ns))?;
            if index + 1 == encoded.body.len() {
                self.shared.log.ending(entry, Some(answer.status), Outcome::Answered);
            }
            self.write(entry, &[*byte])?;
        }
        Ok(())
    }

    fn raw(&self, entry: Entry, bytes: &[u8], then: Ending, reader: &mut Reader<'_>) -> Result<(), End> {
        match then {
            Ending::Close => {
                self.shared.log.ending(entry, None, Outcome::Closed);
                self.write(entry, bytes)?;
                Err(End::Close)
            }
            Ending::Reset => {
                self.write(entry, bytes)?;
                self.shared.log.ending(entry, None, Outcome::Reset);
                Err(End::Reset)
            }
            Ending::Hang => {
                self.write(entry, bytes)?;
                reader.wait_for_end()?;
                if !self.shared.stop.is_set() {
                    self.shared.log.gone(entry);
                }
                Err(End::Close)
            }
        }
    }

    /// Writes all of it; a client that left is noted.
    fn write(&self, entry: Entry, bytes: &[u8]) -> Result<(), End> {
        (&*self.stream).write_all(bytes).map_err(|error| {
            self.shared.log.gone(entry);
            End::from(error)
        })
    }

    fn entry(&self, request: &Request, received_ns: u64) -> Served {
        Served {
            received_ns,
            answered_ns: None,
            connection: self.number,
            method: request.method.clone(),
            path: request.path.clone(),
            query: request.query.clone(),
            headers: request.headers.clone(),
            body: request.body.iter().copied().take(BODY_LIMIT).collect(),
            status: None,
            outcome: Outcome::Held,
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shared.closed(self.number);
    }
}

/// What is done about bytes that are no request: what was to be sent raw is sent, all else becomes 400.
fn without_request(reply: Reply) -> Reply {
    match reply.act {
        Act::Raw(..) => reply,
        Act::CannedResponse(_) | Act::Trickle(..) => Reply {
            act: Act::CannedResponse(CannedResponse::new(400)),
            last: Some(Farewell::Announced),
            ..reply
        },
    }
}

fn end_of(answer: &CannedResponse, closes: Option<Farewell>) -> Result<(), End> {
    if closes.is_some() || answer.framing == Framing::UntilClose { Err(End::Close) } else { Ok(()) }
}
