//! The state of a session: what was received and the script has not seen, what is to be sent, and what is counted.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use engine::exchange::{OperationName, Response};
use engine::iteration::RequestId;
use engine::{BodyBudget, HeldBytes};
use evidence::Instant;
use wire::RequestBytes;
use wire::websocket::{Client, Compression, HandshakeError, Message, WebSocketError};

use super::mask;
use crate::http::shown_name;

/// The longest message that is received.
const MOST_MESSAGE_BYTES: usize = 256 << 20;
/// How much a script may send while nothing of it is written.
const MOST_UNSENT_BYTES: usize = 64 << 20;
/// How much is kept of the body of a response that does not switch, as in k6.
const MOST_REFUSAL_BYTES: usize = 1024;

/// What a script is to see of a session, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum SocketEvent {
    /// The handshake has succeeded.
    Open,
    Text(Vec<u8>),
    Binary(Vec<u8>),
    Ping,
    /// A pong with this content.
    Pong(Vec<u8>),
    /// The peer has closed it, or its connection has ended without that.
    Closed {
        code: u16,
        reason: String,
    },
    /// It cannot go on, for this reason.
    Failed(String),
    /// The handshake has not succeeded, for this reason.
    NotOpened(String),
    /// A timer of it has fired.
    Timer(OperationName),
}

impl SocketEvent {
    fn bytes(&self) -> usize {
        match self {
            SocketEvent::Text(bytes) | SocketEvent::Binary(bytes) | SocketEvent::Pong(bytes) => bytes.len(),
            SocketEvent::Closed { reason: text, .. }
            | SocketEvent::Failed(text)
            | SocketEvent::NotOpened(text) => text.len(),
            SocketEvent::Open | SocketEvent::Ping | SocketEvent::Timer(_) => 0,
        }
    }
}

/// The response to a handshake.
#[derive(Debug, Default)]
pub(crate) struct HandshakeResponse {
    pub(crate) status: u16,
    /// Names as they are shown, in their order.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl HandshakeResponse {
    /// The values under this name, as it is shown.
    pub(crate) fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.headers.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// How far a session has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Course {
    #[default]
    UnderWay,
    /// Nothing more is received; its connection is to be closed when all is sent.
    Ending,
    /// Its connection is closed.
    Over,
}

/// The state of a session.
#[derive(Debug)]
pub(crate) struct Session {
    /// Once the handshake has succeeded.
    client: Option<Client>,
    pub(crate) response: Option<HandshakeResponse>,
    events: VecDeque<SocketEvent>,
    /// How many bytes the events have.
    waiting_bytes: usize,
    /// What those bytes, and a message that is not complete, take of the run's budget.
    held: HeldBytes,
    outgoing: Vec<u8>,
    course: Course,
    /// Whether a close frame was sent, after which nothing is.
    has_sent_close: bool,
    /// Why its handshake has not succeeded, though the response has switched.
    pub(crate) refused: Option<HandshakeError>,
    /// Whether its iteration has thrown before it was over.
    pub(crate) is_given_up: bool,
    /// Its name among the operations of its virtual user.
    pub(crate) name: OperationName,
    /// What the engine knows it by, once it was asked for.
    pub(crate) request: Option<RequestId>,
    /// What was counted of what it has sent and received.
    counted: RequestBytes,
    /// When pings were sent that no pong has answered, by their numbers.
    pings: HashMap<u32, Instant>,
    next_ping: u32,
    /// Its timers that have not fired.
    pub(crate) timers: Vec<OperationName>,
}

/// Why a message is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SendError {
    /// The session is over.
    #[error("websocket: close sent")]
    Closed,
    /// Nothing is written.
    #[error(
        "websocket: more than 64 MiB wait to be sent: the peer does not read, or the script does not wait for anything"
    )]
    Full,
}

impl Session {
    /// What it keeps counts against this budget.
    pub(crate) fn new(budget: &Arc<BodyBudget>) -> Session {
        Session {
            client: None,
            response: None,
            events: VecDeque::new(),
            waiting_bytes: 0,
            held: HeldBytes::new(budget),
            outgoing: Vec::new(),
            course: Course::default(),
            has_sent_close: false,
            refused: None,
            is_given_up: false,
            name: 0,
            request: None,
            counted: RequestBytes::default(),
            pings: HashMap::new(),
            next_ping: 0,
            timers: Vec::new(),
        }
    }

    /// The status of the handshake's response; 0 where there was none.
    pub(crate) fn status(&self) -> u16 {
        self.response.as_ref().map_or(0, |response| response.status)
    }

    /// The protocol that the server has chosen.
    pub(crate) fn protocol(&self) -> &str {
        let response = self.response.as_ref();
        response.and_then(|response| response.values("Sec-Websocket-Protocol").next()).unwrap_or_default()
    }

    /// Whether the handshake has succeeded.
    pub(crate) fn was_opened(&self) -> bool {
        self.client.is_some()
    }

    /// Whether messages can be sent and received.
    pub(crate) fn is_open(&self) -> bool {
        self.was_opened() && self.course == Course::UnderWay
    }

    /// Whether its connection is to be closed once what it has to send is sent.
    pub(crate) fn is_ending(&self) -> bool {
        self.course == Course::Ending
    }

    /// Whether its connection is closed.
    pub(crate) fn is_over(&self) -> bool {
        self.course == Course::Over
    }

    pub(crate) fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// The next thing that the script is to see.
    pub(crate) fn next_event(&mut self) -> Option<SocketEvent> {
        let event = self.events.pop_front()?;
        self.waiting_bytes -= event.bytes();
        self.held.shrink_to(self.needed_bytes());
        Some(event)
    }

    pub(crate) fn push(&mut self, event: SocketEvent) {
        self.waiting_bytes += event.bytes();
        self.events.push_back(event);
    }

    /// Note the response to the handshake, whose body may come in parts.
    pub(crate) fn respond(&mut self, response: &Response) {
        let noted = self.response.get_or_insert_with(|| {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let headers = response.headers.iter().map(|(name, value)| (shown_name(name), text(value)));
            HandshakeResponse { status: response.status, headers: headers.collect(), body: Vec::new() }
        });
        let space = MOST_REFUSAL_BYTES.saturating_sub(noted.body.len());
        noted.body.extend_from_slice(&response.body[..response.body.len().min(space)]);
    }

    /// The handshake has succeeded. What follows it is not the body of its response.
    pub(crate) fn open(&mut self, compression: Compression) {
        self.client = Some(Client::new(compression, MOST_MESSAGE_BYTES));
        if let Some(response) = &mut self.response {
            response.body.clear();
        }
        self.push(SocketEvent::Open);
    }

    /// Bytes were received after the handshake.
    pub(crate) fn receive(&mut self, bytes: &[u8]) {
        if !self.is_open() {
            return;
        }
        let mut messages = Vec::new();
        let received = match &mut self.client {
            Some(client) => client.receive(bytes, &mut |message| messages.push(ReceivedMessage::of(message))),
            None => return,
        };
        for message in messages {
            if let ReceivedMessage::Ping(content) = &message {
                self.queue(Message::Pong(content));
            }
            self.push(message.event());
        }
        if let Some(SocketEvent::Closed { code, .. }) = self.events.back() {
            // The answer to a close frame has its code (RFC 6455, section 5.5.1).
            let code = *code;
            return self.end(code, "");
        }
        match received {
            Ok(()) => self.hold(),
            Err(error) => self.fail(error),
        }
    }

    fn needed_bytes(&self) -> usize {
        self.waiting_bytes + self.client.as_ref().map_or(0, Client::kept_bytes)
    }

    /// Take what it needs of the run's budget.
    fn hold(&mut self) {
        let by = self.needed_bytes().saturating_sub(self.held.bytes());
        if let Err(why) = self.held.grow(by) {
            self.lose(&why.to_string());
        }
    }

    fn fail(&mut self, error: WebSocketError) {
        self.push(SocketEvent::Failed(error.to_string()));
        self.end(error.close_code(), &error.reason());
    }

    /// It cannot go on, because of a limit of this side.
    pub(crate) fn lose(&mut self, why: &str) {
        self.push(SocketEvent::Failed(format!("websocket: {why}")));
        self.end(1009, "");
    }

    /// Send a close frame; that of the peer ends the session.
    pub(crate) fn close(&mut self, code: u16, reason: &str) {
        self.queue(Message::Close { code, reason: reason.as_bytes() });
        self.has_sent_close = true;
    }

    /// Send a close frame, and close the connection then.
    pub(crate) fn end(&mut self, code: u16, reason: &str) {
        self.close(code, reason);
        self.close_connection();
    }

    /// Close the connection once what it has to send is sent.
    pub(crate) fn close_connection(&mut self) {
        if self.course == Course::UnderWay {
            self.course = Course::Ending;
        }
    }

    /// Its connection is closed.
    pub(crate) fn over(&mut self) {
        self.course = Course::Over;
        self.outgoing = Vec::new();
    }

    /// Send a message.
    ///
    /// # Errors
    /// [`SendError`] when it is not sent.
    pub(crate) fn send(&mut self, message: Message<'_>) -> Result<(), SendError> {
        if !self.is_open() || self.has_sent_close {
            return Err(SendError::Closed);
        }
        if self.outgoing.len() > MOST_UNSENT_BYTES {
            return Err(SendError::Full);
        }
        self.queue(message);
        Ok(())
    }

    fn queue(&mut self, message: Message<'_>) {
        let may_send = self.course == Course::UnderWay && !self.has_sent_close;
        if let Some(client) = self.client.as_mut().filter(|_| may_send) {
            client.send(message, mask(), &mut self.outgoing);
        }
    }

    /// Send a ping with its number.
    ///
    /// # Errors
    /// [`SendError`] when it is not sent.
    pub(crate) fn ping(&mut self, now: Instant) -> Result<(), SendError> {
        let number = self.next_ping;
        self.send(Message::Ping(number.to_string().as_bytes()))?;
        self.pings.insert(number, now);
        self.next_ping += 1;
        Ok(())
    }

    /// When the ping was sent that this pong answers; none where there is no such ping.
    pub(crate) fn answered_ping(&mut self, pong: &[u8]) -> Option<Instant> {
        let number = std::str::from_utf8(pong).ok()?.parse().ok()?;
        self.pings.remove(&number)
    }

    /// What is to be sent now.
    pub(crate) fn take_outgoing(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.outgoing)
    }

    /// What was sent and received since this was asked last, of so much in all.
    pub(crate) fn not_counted(&mut self, all: RequestBytes) -> RequestBytes {
        let before = std::mem::replace(&mut self.counted, all);
        RequestBytes {
            sent: all.sent.saturating_sub(before.sent),
            received: all.received.saturating_sub(before.received),
        }
    }
}

/// A message that was received.
enum ReceivedMessage {
    Event(SocketEvent),
    /// With this content, which the answer has too.
    Ping(Vec<u8>),
}

impl ReceivedMessage {
    fn of(message: Message<'_>) -> ReceivedMessage {
        ReceivedMessage::Event(match message {
            Message::Text(text) => SocketEvent::Text(text.to_vec()),
            Message::Binary(bytes) => SocketEvent::Binary(bytes.to_vec()),
            Message::Ping(content) => return ReceivedMessage::Ping(content.to_vec()),
            Message::Pong(content) => SocketEvent::Pong(content.to_vec()),
            Message::Close { code, reason } => {
                SocketEvent::Closed { code, reason: String::from_utf8_lossy(reason).into_owned() }
            }
        })
    }

    fn event(self) -> SocketEvent {
        match self {
            ReceivedMessage::Event(event) => event,
            ReceivedMessage::Ping(_) => SocketEvent::Ping,
        }
    }
}
