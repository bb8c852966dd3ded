//! An HTTP/1.1 client connection: one request at a time, kept alive between them.
//!
//! Response heads that arrive whole are parsed where they lie; bodies are passed on without a copy. Only a
//! head that is cut by a read is gathered in a buffer.

mod chunked;
mod head;
mod irregular;
mod long_heads;
mod render;

use crate::Connection as _;
use crate::connection::{StreamId, WireProtocol};
use crate::error::{StartError, WireError};
use crate::event::{Event, Events, MAX_INTERIM, OpenRequest, Request, RequestBytes, ResponseHead, Token};
use crate::headers::HeaderView;
use crate::outgoing::Outgoing;
pub use crate::recent_head::RecentHead;
use crate::recent_head::{Framing, HeadMeaning, Persistence, RequestKind};
use crate::rendered::RenderedRequest;
use crate::request_rules;
use head::{Fields, Head, MAX_FIELDS, Parsed};
use long_heads::LongHead;

/// The longest response head taken, status line and all headers.
const MAX_HEAD_BYTES: usize = 1 << 20;
/// Longer heads are gathered only as far as [`long_heads`] lets them.
const USUAL_HEAD_BYTES: usize = 64 << 10;
/// Says that a request is the last of its connection.
const CLOSE: &[u8] = b"connection: close\r\n";

/// The state of one connection: what every request needs comes first, in two cache lines.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Connection {
    out: Outgoing,
    open: Option<Open>,
    reading: Reading,
    /// Bytes received since the open request was started.
    received_bytes: u64,
    /// The part of a head that has arrived so far; empty while heads arrive whole.
    partial: Vec<u8>,
    is_spent: bool,
    /// Whether each request says that it is the last.
    announces_close: bool,
    /// `partial` is parsed again once it ends a head or is twice as long as this, so that a head that comes
    /// byte by byte costs linear time.
    parsed_bytes: usize,
    /// While `partial` is longer than usual.
    long_head: Option<LongHead>,
}

const _: () = assert!(std::mem::offset_of!(Connection, is_spent) < 128);

#[derive(Debug, Clone, Copy)]
struct Open {
    token: Token,
    kind: RequestKind,
    /// Head and body of the request; what is sent after it where the connection has switched.
    length: usize,
    persistence: Persistence,
    /// How many interim responses came before the response.
    interim: u8,
}

#[derive(Debug, Default)]
enum Reading {
    #[default]
    Head,
    Length(u64),
    Chunked(chunked::Decoder),
    UntilClose,
}

/// How many bytes of the input follow the response.
#[derive(Debug, Clone, Copy)]
struct Surplus(usize);

/// The head of a final response, and what follows it in the input.
#[derive(Debug, Clone, Copy)]
struct ReceivedHead<'a> {
    meaning: HeadMeaning,
    headers: HeaderView<'a>,
    surplus: Surplus,
}

impl Connection {
    /// A fresh connection; the first `outgoing` is the first request.
    pub fn new() -> Self {
        Self::default()
    }

    fn ready(&self) -> Result<(), StartError> {
        if self.capacity() == 0 { Err(StartError::NotReady) } else { Ok(()) }
    }

    fn opened(&mut self, token: Token, kind: RequestKind) {
        // A connection takes a request when all of the one before was written.
        let length = self.out.unsent().len();
        self.open = Some(Open { token, kind, length, persistence: Persistence::Close, interim: 0 });
        self.received_bytes = 0;
        self.reading = Reading::Head;
    }

    fn bytes_of(&self, open: &Open) -> RequestBytes {
        let sent = open.length.saturating_sub(self.out.unsent().len()) as u64;
        RequestBytes { sent, received: self.received_bytes }
    }

    fn read(&mut self, mut input: &[u8], events: &mut dyn Events) -> Result<(), WireError> {
        while !input.is_empty() {
            let Some(open) = self.open else {
                return Err(WireError::Malformed("bytes that belong to no request"));
            };
            let used = match self.reading {
                Reading::Head => self.read_head(open, input, events)?,
                _ => self.read_body(open.token, input, events)?,
            };
            input = &input[used..];
        }
        Ok(())
    }

    fn read_head(&mut self, open: Open, input: &[u8], events: &mut dyn Events) -> Result<usize, WireError> {
        if !self.partial.is_empty() {
            return self.read_cut_head(open, input, events);
        }
        let Some(mut recent) = events.take_head(open.token) else {
            return self.read_other_head(open, input, None, events);
        };
        let read = match recent.at_start_of(input, open.kind) {
            Some((meaning, bytes)) => {
                let (headers, surplus) = (recent.headers.view(), Surplus(input.len() - bytes));
                self.begin_response(open, ReceivedHead { meaning, headers, surplus }, events);
                Ok(bytes)
            }
            None => self.read_other_head(open, input, Some(&mut recent), events),
        };
        events.keep_head(open.token, recent);
        read
    }

    /// Read a head that is not the recent one again.
    fn read_other_head(
        &mut self,
        open: Open,
        input: &[u8],
        recent: Option<&mut RecentHead>,
        events: &mut dyn Events,
    ) -> Result<usize, WireError> {
        // A parser passes them over, all of them again for each that arrives by itself.
        if matches!(input, [b'\r' | b'\n', ..]) {
            return Err(WireError::Malformed("a blank line before the response"));
        }
        let mut fields = Fields::new();
        match head::parse(input, &mut fields)? {
            Parsed::Head(head) => {
                let meaning = self.take_head(open, &head, Surplus(input.len() - head.bytes), events)?;
                if let (Some(recent), Some(meaning)) = (recent, meaning) {
                    let fields = head.headers.iter().map(|field| (field.name.as_bytes(), field.value));
                    recent.remember(&input[..head.bytes], fields, (open.kind, meaning));
                }
                return Ok(head.bytes);
            }
            Parsed::Irregular(_) => {
                if let Some(used) = self.read_irregular_head(open, input, Surplus(input.len()), events)? {
                    return Ok(used);
                }
            }
            Parsed::Incomplete => {}
        }
        self.gather(input)?;
        self.parsed_bytes = input.len();
        Ok(input.len())
    }

    /// Keep a part of a head.
    fn gather(&mut self, part: &[u8]) -> Result<(), WireError> {
        let length = self.partial.len() + part.len();
        if length > USUAL_HEAD_BYTES && self.long_head.is_none() {
            self.long_head = Some(LongHead::begin().ok_or(WireError::HeadTooLarge)?);
            self.partial.reserve_exact(MAX_HEAD_BYTES + 1 - self.partial.len());
        }
        if length > MAX_HEAD_BYTES {
            return Err(WireError::HeadTooLarge);
        }
        self.partial.extend_from_slice(part);
        Ok(())
    }

    /// Read a head that is not in the form of the standard, if all of it is there; say how long it is. `rest` is what would follow
    /// an empty one.
    #[cold]
    fn read_irregular_head(
        &mut self,
        open: Open,
        input: &[u8],
        rest: Surplus,
        events: &mut dyn Events,
    ) -> Result<Option<usize>, WireError> {
        let Some(bytes) = irregular::end_of(input) else { return Ok(None) };
        let regular = irregular::regular(&input[..bytes]);
        let mut fields = vec![httparse::EMPTY_HEADER; MAX_FIELDS];
        let head = head::parse_regular(&regular, bytes, &mut fields)?;
        self.take_head(open, &head, Surplus(rest.0 - bytes), events)?;
        Ok(Some(bytes))
    }

    fn read_cut_head(
        &mut self,
        open: Open,
        input: &[u8],
        events: &mut dyn Events,
    ) -> Result<usize, WireError> {
        let before = self.partial.len();
        // One byte past the limit is enough to see that it is exceeded.
        let taken = input.len().min(MAX_HEAD_BYTES - before);
        if taken == 0 {
            return Err(WireError::HeadTooLarge);
        }
        self.gather(&input[..taken])?;
        let ended = head::may_end(&self.partial, before);
        if !ended && self.partial.len() < self.parsed_bytes * 2 {
            return Ok(taken);
        }
        self.parsed_bytes = self.partial.len();
        let partial = std::mem::take(&mut self.partial);
        let rest = Surplus(before + input.len());
        let mut fields = Fields::new();
        let bytes = match head::parse(&partial, &mut fields)? {
            Parsed::Head(head) => {
                self.take_head(open, &head, Surplus(rest.0 - head.bytes), events)?;
                Some(head.bytes)
            }
            Parsed::Irregular(_) => self.read_irregular_head(open, &partial, rest, events)?,
            Parsed::Incomplete => None,
        };
        self.partial = partial;
        let Some(bytes) = bytes else { return Ok(taken) };
        self.partial.clear();
        if self.long_head.take().is_some() {
            self.partial = Vec::new();
        }
        Ok(bytes - before)
    }

    /// Take a head that was parsed; what a final one means.
    fn take_head(
        &mut self,
        open: Open,
        head: &Head<'_>,
        surplus: Surplus,
        events: &mut dyn Events,
    ) -> Result<Option<HeadMeaning>, WireError> {
        if head.bytes > MAX_HEAD_BYTES {
            return Err(WireError::HeadTooLarge);
        }
        if head.status < 200 && head.status != 101 {
            if open.interim == MAX_INTERIM {
                return Err(WireError::Malformed("too many interim responses"));
            }
            self.open = Some(Open { interim: open.interim + 1, ..open });
            return Ok(None);
        }
        let meaning = head.meaning(open.kind)?;
        let headers = HeaderView::parsed(head.headers);
        self.begin_response(open, ReceivedHead { meaning, headers, surplus }, events);
        Ok(Some(meaning))
    }

    fn begin_response(&mut self, open: Open, received: ReceivedHead<'_>, events: &mut dyn Events) {
        let ReceivedHead { meaning, headers, surplus } = received;
        self.open = Some(Open { persistence: meaning.persistence, ..open });
        let head = ResponseHead { status: meaning.status, headers, deviations: meaning.deviations };
        events.event(Event::Head { token: open.token, head });
        match meaning.framing {
            Framing::Length(0) => self.finish(surplus, events),
            Framing::Length(bytes) => self.reading = Reading::Length(bytes),
            Framing::Chunked => self.reading = Reading::Chunked(chunked::Decoder::new()),
            Framing::UntilClose => self.reading = Reading::UntilClose,
        }
    }

    fn read_body(&mut self, token: Token, input: &[u8], events: &mut dyn Events) -> Result<usize, WireError> {
        match &mut self.reading {
            Reading::Length(left) => {
                let taken = usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
                *left -= taken as u64;
                let complete = *left == 0;
                events.event(Event::Body { token, chunk: &input[..taken] });
                if complete {
                    self.finish(Surplus(input.len() - taken), events);
                }
                Ok(taken)
            }
            Reading::Chunked(decoder) => {
                let step = decoder.step(input)?;
                if !step.data.is_empty() {
                    events.event(Event::Body { token, chunk: step.data });
                }
                if decoder.is_finished() {
                    self.finish(Surplus(input.len() - step.used), events);
                }
                Ok(step.used)
            }
            Reading::Head | Reading::UntilClose => {
                events.event(Event::Body { token, chunk: input });
                Ok(input.len())
            }
        }
    }

    fn finish(&mut self, surplus: Surplus, events: &mut dyn Events) {
        let Some(open) = self.open.take() else { return };
        let mut bytes = self.bytes_of(&open);
        bytes.received -= surplus.0 as u64;
        // A peer that answers before it has read the request may never read the rest.
        self.is_spent |= open.persistence == Persistence::Close || !self.out.is_empty();
        self.reading = Reading::Head;
        events.event(Event::Done { token: open.token, bytes });
    }
}

impl crate::Connection for Connection {
    fn protocol(&self) -> WireProtocol {
        WireProtocol::Http1
    }

    fn capacity(&self) -> usize {
        usize::from(!self.is_spent && self.open.is_none())
    }

    fn start(&mut self, token: Token, request: &Request<'_>) -> Result<(), StartError> {
        self.ready()?;
        request_rules::check(request)?;
        let announcement = if self.announces_close { CLOSE } else { &[] };
        render::request(self.out.tail(), request, announcement);
        self.opened(token, kind_of(request));
        Ok(())
    }

    fn start_upgrade(
        &mut self,
        token: Token,
        request: &Request<'_>,
        protocol: &str,
    ) -> Result<StreamId, StartError> {
        self.ready()?;
        request_rules::check(request)?;
        let lines = format!("connection: Upgrade\r\nupgrade: {protocol}\r\n");
        render::request(self.out.tail(), request, lines.as_bytes());
        self.opened(token, RequestKind::Upgrade);
        Ok(StreamId(0))
    }

    fn start_equal(
        &mut self,
        token: Token,
        request: &Request<'_>,
        rendered: &mut RenderedRequest,
    ) -> Result<(), StartError> {
        if self.announces_close {
            return self.start(token, request);
        }
        let Some(bytes) = rendered.bytes() else {
            self.start(token, request)?;
            rendered.keep(self.out.unsent());
            return Ok(());
        };
        self.ready()?;
        self.out.tail().extend_from_slice(bytes);
        self.opened(token, kind_of(request));
        Ok(())
    }

    fn start_open(&mut self, _token: Token, _request: &Request<'_>) -> Result<StreamId, StartError> {
        Err(StartError::Invalid("a body that is sent in parts needs HTTP/2"))
    }

    fn send(&mut self, _stream: StreamId, part: &[u8]) {
        if let Some(open) = self.open.as_mut().filter(|open| open.kind == RequestKind::Upgrade) {
            open.length += part.len();
            self.out.tail().extend_from_slice(part);
        }
    }

    fn announce_close(&mut self) {
        self.announces_close = true;
    }

    fn held_back(&self, _stream: StreamId) -> usize {
        0
    }

    fn end_body(&mut self, _stream: StreamId) {}

    fn outgoing(&self) -> &[u8] {
        self.out.unsent()
    }

    fn sent(&mut self, count: usize) {
        self.out.advance(count);
    }

    fn receive(&mut self, input: &[u8], events: &mut dyn Events) -> Result<(), WireError> {
        self.received_bytes += input.len() as u64;
        let result = self.read(input, events);
        if result.is_err() {
            self.is_spent = true;
        }
        result
    }

    fn closed(&mut self, events: &mut dyn Events) -> Result<(), WireError> {
        self.is_spent = true;
        if self.open.is_none() {
            return Ok(());
        }
        match self.reading {
            Reading::UntilClose => {
                self.finish(Surplus(0), events);
                Ok(())
            }
            Reading::Head if self.partial.is_empty() => Err(WireError::ClosedBeforeResponse),
            Reading::Head => {
                // What came may be not an HTTP at all, which says more than that it is too short.
                match head::parse(&self.partial, &mut Fields::new())? {
                    Parsed::Irregular(error) => Err(error),
                    Parsed::Head(_) | Parsed::Incomplete => Err(WireError::UnexpectedEof),
                }
            }
            _ => Err(WireError::UnexpectedEof),
        }
    }

    fn cancel(&mut self, token: Token) -> Option<OpenRequest> {
        let open = self.open.take_if(|open| open.token == token)?;
        self.is_spent = true;
        Some(OpenRequest::with(token, self.bytes_of(&open)))
    }

    fn reusable(&self) -> bool {
        !self.is_spent
    }

    fn open_requests(&self) -> usize {
        usize::from(self.open.is_some())
    }

    fn for_each_open(&self, visit: &mut dyn FnMut(OpenRequest)) {
        if let Some(open) = &self.open {
            visit(OpenRequest::with(open.token, self.bytes_of(open)));
        }
    }
}

fn kind_of(request: &Request<'_>) -> RequestKind {
    if request.method == b"HEAD" { RequestKind::Head } else { RequestKind::Other }
}

#[cfg(test)]
mod tests;
