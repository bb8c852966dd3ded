//! Sessions of WebSocket of scripts: what they ask for, and what comes of them. Without JavaScript; see `modules::websocket`.

mod session;

use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::CStr;
use std::rc::Rc;
use std::time::Duration;

use engine::exchange::{BodyReading, CompletedTimes, PeerEnd, Purpose, RequestDraft, Response};
use evidence::{Instant, Outcome};
use wire::websocket::{Client, Compression, Handshake, HandshakeError, Message, close_code_name};

use crate::http::{CookieJar, Failure, Sending, Url, shown_name};
use crate::js::Shared;
use crate::metrics::{GroupPath, Tags};
use crate::network::refusal;
pub(crate) use session::{Session, SocketEvent};

/// How long a handshake may take, as in k6.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(60);

/// Why no session is opened, in k6's words.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NotOpened(pub(crate) String);

/// By which module a script has opened a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SocketKind {
    /// `k6/ws`: the script waits until it is over.
    Blocking,
    /// `k6/websockets`: the script goes on.
    Concurrent,
}

impl SocketKind {
    /// The code with which a session is closed whose iteration ends before it.
    fn farewell_code(self) -> u16 {
        match self {
            SocketKind::Blocking => 1001,
            SocketKind::Concurrent => 1000,
        }
    }
}

/// What a script asks for.
#[derive(Debug)]
pub(crate) struct SocketRequest {
    pub(crate) kind: SocketKind,
    /// Where the handshake is sent: by `http` or `https`.
    pub(crate) url: Url,
    /// Why there is no such URL; `url` is another one then.
    pub(crate) wrong_url: Option<String>,
    /// As the script gives it.
    pub(crate) text: String,
    /// As the script names them.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) jar: Rc<CookieJar>,
    pub(crate) tags: Vec<(String, String)>,
    pub(crate) compression: Compression,
    /// The group that the script was in.
    pub(crate) group: GroupPath,
    /// When the script asked for it.
    pub(crate) due: Instant,
}

/// A session, from when a script asks for it.
#[derive(Debug)]
pub(crate) struct WebSocket {
    pub(crate) asked: SocketRequest,
    handshake: Handshake,
    pub(crate) session: RefCell<Session>,
}

impl Shared for WebSocket {
    const CLASS: &'static CStr = c"WebSocketSession";
}

impl WebSocket {
    pub(crate) fn new(asked: SocketRequest, session: Session) -> WebSocket {
        let sha1 = |input: &[u8]| {
            let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA1_FOR_LEGACY_USE_ONLY, input);
            digest.as_ref().try_into().expect("a digest by SHA-1 has 20 bytes")
        };
        let handshake = Handshake::new(random(), asked.compression, sha1);
        WebSocket { asked, handshake, session: RefCell::new(session) }
    }

    /// What it is called in reports.
    pub(crate) fn name(&self) -> &str {
        let named = self.asked.tags.iter().find(|(name, _)| name == "name");
        named.map_or(&self.asked.text, |(_, value)| value)
    }

    /// Draft the handshake, at so many milliseconds since 1970; `user_agent` is sent unless the script sets another.
    pub(crate) fn draft(&self, draft: &mut RequestDraft, user_agent: &str, now_ms: f64) {
        let asked = &self.asked;
        (draft.due, draft.deadline) = (asked.due, asked.due + HANDSHAKE_TIMEOUT);
        (draft.purpose, draft.body_reading, draft.sends_more) =
            (Purpose::WebSocket, BodyReading::InParts, true);
        draft.method.extend_from_slice(b"GET");
        draft.path.extend_from_slice(asked.url.path.as_bytes());
        self.handshake.push_headers(&mut draft.headers);
        let has = |name: &str| asked.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        if !has("user-agent") {
            draft.headers.push(b"user-agent", user_agent.as_bytes());
        }
        let cookies = asked.jar.pairs(&asked.url, Sending::ByScript, now_ms);
        // As in k6, those that the script gives take the place of all others.
        if !cookies.is_empty() && !has("cookie") {
            draft.headers.push_secret(b"cookie", cookies.join("; ").as_bytes());
        }
        for (name, value) in &asked.headers {
            match name.to_ascii_lowercase().as_str() {
                "host" => draft.authority.extend_from_slice(value.as_bytes()),
                name => draft.headers.push(name.as_bytes(), value.as_bytes()),
            }
        }
        let mut farewell = Vec::new();
        let code = asked.kind.farewell_code();
        Client::new(Compression::None, 0).send(Message::Close { code, reason: &[] }, mask(), &mut farewell);
        draft.farewell = farewell.into();
    }

    /// Why it cannot be sent, in k6's words.
    pub(crate) fn refusal(&self) -> Option<String> {
        if self.asked.wrong_url.is_some() {
            return self.asked.wrong_url.clone();
        }
        /// Headers of the handshake itself.
        const OWN: [&str; 5] = [
            "Upgrade",
            "Connection",
            "Sec-Websocket-Key",
            "Sec-Websocket-Version",
            "Sec-Websocket-Extensions",
        ];
        let headers = &self.asked.headers;
        let own = headers.iter().map(|(name, _)| shown_name(name.as_bytes()));
        let mut own = own.filter(|name| OWN.contains(&name.as_str()));
        if let Some(name) = own.next() {
            return Some(format!("websocket: duplicate header not allowed: {name}"));
        }
        if self.asked.url.user.is_some() {
            return Some("malformed ws or wss URL".to_owned());
        }
        self.asked.url.refusal().map(|failure| failure.text)
    }

    /// What a response with status 101 agrees to.
    ///
    /// # Errors
    /// [`HandshakeError`] when it opens no session.
    pub(crate) fn agreed(&self, response: &Response) -> Result<Compression, HandshakeError> {
        self.handshake.agreed(response.status, response.headers.view())
    }

    /// Why its handshake has not succeeded, in k6's words.
    pub(crate) fn not_opened(&self, transport: Option<Outcome>, times: &CompletedTimes) -> String {
        let Some(outcome) = transport else {
            return self.session.borrow().refused.unwrap_or(HandshakeError::Refused).to_string();
        };
        let server = self.asked.url.server();
        let host = server.rsplit_once(':').map_or(server.as_str(), |(host, _)| host);
        let reason = times.reason.as_deref().unwrap_or_default();
        match outcome {
            _ if refusal(reason).is_some() => reason.to_owned(),
            Outcome::Refused => format!("dial tcp {server}: connect: connection refused"),
            Outcome::Dns => format!("lookup {host}: no such host"),
            Outcome::Timeout => format!("dial tcp {server}: i/o timeout"),
            Outcome::Reset if times.peer_end == Some(PeerEnd::Closed) => "unexpected EOF".to_owned(),
            _ => {
                let failure = Failure::of_transport(outcome, times, &server);
                let not_verified = |why: &str| format!("tls: failed to verify certificate: x509: {why}");
                match failure.code {
                    1310 => not_verified("certificate signed by unknown authority"),
                    1311 => not_verified(&format!("certificate is not valid for {host}")),
                    _ => failure.log_text().to_owned(),
                }
            }
        }
    }

    /// The tags of its values.
    pub(crate) fn tags(&self) -> SocketTags<'_> {
        let session = self.session.borrow();
        SocketTags { socket: self, status: session.status(), protocol: session.protocol().to_owned() }
    }
}

/// Bytes from the system's source of randomness.
fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    aws_lc_rs::rand::fill(&mut bytes).expect("the system gives random bytes");
    bytes
}

/// What one frame is masked with.
fn mask() -> [u8; 4] {
    random()
}

/// The tags of the values of a session.
pub(crate) struct SocketTags<'a> {
    socket: &'a WebSocket,
    /// Of the handshake's response; 0 where there was none.
    status: u16,
    protocol: String,
}

impl Tags for SocketTags<'_> {
    fn tag(&self, name: &str) -> Option<Cow<'_, str>> {
        let asked = &self.socket.asked;
        let given = asked.tags.iter().find(|(known, _)| known == name);
        let is_named_by_url = asked.kind == SocketKind::Concurrent;
        match (name, given) {
            ("url", _) if is_named_by_url => Some(Cow::Borrowed(self.socket.name())),
            (_, Some((_, value))) => Some(Cow::Borrowed(value)),
            ("url", None) => Some(Cow::Borrowed(&asked.text)),
            ("name", None) if is_named_by_url => Some(Cow::Borrowed(&asked.text)),
            ("group", None) => Some(Cow::Borrowed(&asked.group.text)),
            ("status", None) if self.status > 0 => Some(Cow::Owned(self.status.to_string())),
            ("subproto", None) if self.status > 0 => Some(Cow::Borrowed(&self.protocol)),
            _ => None,
        }
    }

    fn given(&self) -> &[(String, String)] {
        &self.socket.asked.tags
    }
}

/// What k6 calls the end of a session by this code.
pub(crate) fn close_error(code: u16, reason: &str) -> String {
    let name = close_code_name(code).map(|name| format!(" ({name})")).unwrap_or_default();
    let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    format!("websocket: close {code}{name}{reason}")
}
