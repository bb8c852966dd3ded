//! gRPC calls of scripts: what they ask for, and what comes of them. Without JavaScript; see `modules::grpc`.

mod catalogue;
mod reply;

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::ffi::CStr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use engine::OriginIndex;
use engine::exchange::{Purpose, RequestDraft};
use evidence::{GrpcCode, Instant};
use workload::TlsFiles;
use workload::message::Method;

use crate::js::Shared;
use crate::metrics::Tags;

pub(crate) use catalogue::{Catalogue, Description, HEALTH_CHECK, ReflectedSet};
pub(crate) use reply::GrpcReply;

/// How long it may take to connect unless a script says otherwise, as in k6.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a call may take unless a script says otherwise, as in k6.
pub(crate) const CALL_TIMEOUT: Duration = Duration::from_secs(120);
/// The longest message that is received unless a script says otherwise, as in k6.
pub(crate) const MOST_RECEIVED_BYTES: usize = 4 << 20;
/// What is kept of a server's description of itself.
const MOST_DESCRIPTION_BYTES: usize = 32 << 20;
/// The prefix of a message, and that of another one after it.
const PREFIXES_BYTES: usize = 10;

/// A client of a script.
#[derive(Debug, Default)]
pub(crate) struct GrpcClient {
    /// What was loaded while modules were evaluated.
    pub(crate) descriptions: RefCell<Vec<Arc<Description>>>,
    /// What the server that it was connected to last says of itself.
    pub(crate) reflected: RefCell<Option<Arc<Description>>>,
    pub(crate) connection: RefCell<Option<Rc<GrpcConnection>>>,
}

impl Shared for GrpcClient {
    const CLASS: &'static CStr = c"Client";
}

impl GrpcClient {
    /// The method of this path; none where nothing that was loaded describes it.
    pub(crate) fn method(&self, path: &str) -> Option<Method> {
        let (loaded, reflected) = (self.descriptions.borrow(), self.reflected.borrow());
        let newest_first = reflected.iter().chain(loaded.iter().rev());
        newest_first.flat_map(|description| description.method(path)).next().cloned()
    }
}

/// Where a client is connected to.
#[derive(Debug)]
pub(crate) struct GrpcConnection {
    /// As the script gives it: `host:port`.
    pub(crate) address: String,
    pub(crate) url: String,
    /// Its own authorities and certificates.
    pub(crate) tls: Option<TlsFiles>,
    /// The origin that it is for the engine, once that is known.
    pub(crate) met: Cell<Option<OriginIndex>>,
    /// The longest message that is received, in bytes.
    pub(crate) most_received: usize,
    /// The longest message that is sent, in bytes; none: any.
    pub(crate) most_sent: Option<usize>,
}

/// What a script asks a connection for.
#[derive(Debug)]
pub(crate) struct GrpcOperation {
    pub(crate) connection: Rc<GrpcConnection>,
    /// When the script asked for it.
    pub(crate) due: Instant,
    pub(crate) timeout: Duration,
    pub(crate) content: GrpcContent,
}

/// What is asked of a connection.
#[derive(Debug)]
pub(crate) enum GrpcContent {
    /// To be open.
    Connect,
    Call(GrpcCall),
}

#[derive(Debug)]
pub(crate) struct GrpcCall {
    /// `/package.Service/Method`.
    pub(crate) path: String,
    /// What it is called instead.
    pub(crate) name: Option<String>,
    pub(crate) tags: Vec<(String, String)>,
    /// Names in lower case.
    pub(crate) metadata: Vec<(String, String)>,
    /// Its messages with their prefixes.
    pub(crate) messages: Vec<u8>,
    pub(crate) reading: Reading,
    pub(crate) tagging: Tagging,
}

/// How the response to a call is read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reading {
    /// As the one message that the method returns.
    Message(Method),
    /// As that, which the script discards.
    Discarded(Method),
    /// As any number of messages, which are not decoded.
    Raw,
}

impl Reading {
    /// The method that describes the response.
    fn method(&self) -> Option<&Method> {
        match self {
            Reading::Message(method) | Reading::Discarded(method) => Some(method),
            Reading::Raw => None,
        }
    }
}

/// Which tags the values of a call have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tagging {
    Method,
    /// That of its status alone: k6's own calls.
    Status,
}

impl GrpcOperation {
    /// The endpoint that it is counted for.
    pub(crate) fn endpoint(&self) -> Cow<'_, str> {
        match &self.content {
            GrpcContent::Connect => format!("connect {}", self.connection.address).into(),
            GrpcContent::Call(call) => {
                call.name.as_deref().unwrap_or_else(|| call.path.trim_start_matches('/')).into()
            }
        }
    }

    /// Draft it; `user_agent` is sent unless the script sets another.
    pub(crate) fn draft(&self, user_agent: &str, draft: &mut RequestDraft) {
        (draft.due, draft.deadline) = (self.due, self.due + self.timeout);
        draft.method.extend_from_slice(b"POST");
        let GrpcContent::Call(call) = &self.content else {
            draft.purpose = Purpose::Connection;
            return;
        };
        draft.path.extend_from_slice(call.path.as_bytes());
        let timeout = wire::grpc::timeout_value(self.timeout);
        wire::grpc::push_headers(&mut draft.headers, Some(timeout.as_bytes()));
        if !call.metadata.iter().any(|(name, _)| name == "user-agent") {
            draft.headers.push(b"user-agent", user_agent.as_bytes());
        }
        for (name, value) in &call.metadata {
            draft.headers.push(name.as_bytes(), value.as_bytes());
        }
        draft.body.extend_from_slice(&call.messages);
        draft.keep_body_bytes = match call.reading {
            Reading::Raw => MOST_DESCRIPTION_BYTES,
            _ => self.connection.most_received.saturating_add(PREFIXES_BYTES),
        };
    }
}

/// The tags of the values of one call.
pub(crate) struct CallTags<'a> {
    pub(crate) call: &'a GrpcCall,
    /// Of its server.
    pub(crate) address: &'a str,
    pub(crate) status: GrpcCode,
}

impl Tags for CallTags<'_> {
    fn tag(&self, name: &str) -> Option<Cow<'_, str>> {
        let CallTags { call, address, status } = self;
        if let Some((_, value)) = call.tags.iter().find(|(known, _)| known == name) {
            return Some(Cow::Borrowed(value));
        }
        let (service, method) = call.path.trim_start_matches('/').split_once('/').unwrap_or_default();
        match name {
            "status" => Some(Cow::Owned(status.number().to_string())),
            _ if call.tagging == Tagging::Status => None,
            "service" => Some(Cow::Borrowed(service)),
            "method" => Some(Cow::Borrowed(method)),
            "name" => Some(Cow::Borrowed(call.name.as_deref().unwrap_or(&call.path))),
            "url" => Some(Cow::Owned(format!("{address}{}", call.path))),
            _ => None,
        }
    }

    fn given(&self) -> &[(String, String)] {
        &self.call.tags
    }
}
