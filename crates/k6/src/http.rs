//! HTTP requests of scripts: what they ask for, and what comes of them. Without JavaScript; see `modules::http`.

mod failure;
mod known_url;
mod operation;
mod selector;
mod url;

use std::cell::RefCell;
use std::ffi::CStr;
use std::rc::Rc;
use std::time::Duration;

use wire::Headers;

use crate::js::Shared;

pub(crate) use failure::Failure;
pub(crate) use known_url::{KnownUrl, KnownUrls};
pub(crate) use operation::{HopTags, HttpOperation, NextHop, protocol, timings};
pub(crate) use selector::select;
pub(crate) use url::Url;

/// How long a request may take unless it says otherwise, as in k6.
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// Which responses are expected, so that others count as failed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Expected {
    /// A status of 200 to 399.
    #[default]
    Success,
    /// A status in one of these ranges, both ends included.
    Statuses(Rc<[(u16, u16)]>),
    /// Nothing is said of it: no request counts as failed or not.
    Unsaid,
}

impl Expected {
    /// Whether a response of this status, 0 for none, is expected; none where nothing is said of it.
    pub(crate) fn includes(&self, status: u16) -> Option<bool> {
        match self {
            Expected::Success => Some((200..400).contains(&status)),
            Expected::Statuses(ranges) => {
                Some(ranges.iter().any(|(from, to)| (*from..=*to).contains(&status)))
            }
            Expected::Unsaid => None,
        }
    }
}

/// Which statuses a script expects: what `http.expectedStatuses` returns.
#[derive(Debug)]
pub(crate) struct ExpectedStatuses(pub(crate) Rc<[(u16, u16)]>);

impl Shared for ExpectedStatuses {
    const CLASS: &'static CStr = c"ExpectedStatuses";
}

/// In which form a script gets a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum BodyForm {
    /// As text.
    #[default]
    Text,
    /// As an `ArrayBuffer`.
    Binary,
    /// Not at all.
    Discarded,
}

/// What a virtual user has set for its requests.
#[derive(Debug, Default)]
pub(crate) struct HttpState {
    pub(crate) expected: RefCell<Expected>,
}

/// A request as a script asks for it.
#[derive(Debug, Clone)]
pub(crate) struct HttpRequest {
    pub(crate) method: String,
    pub(crate) url: Rc<KnownUrl>,
    /// Names in lower case; without those that the connection writes.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) timeout: Duration,
    pub(crate) redirects: u32,
    /// What it is called instead of its URL.
    pub(crate) name: Option<String>,
    pub(crate) tags: Vec<(String, String)>,
    pub(crate) expected: Expected,
    pub(crate) form: BodyForm,
}

impl HttpRequest {
    /// What it is called: its `name`, else its URL.
    pub(crate) fn called(&self) -> &str {
        self.name.as_deref().unwrap_or(self.url.as_str())
    }
}

/// How long the parts of a request took, in milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Timings {
    pub(crate) blocked: f64,
    pub(crate) looking_up: f64,
    pub(crate) connecting: f64,
    pub(crate) tls_handshaking: f64,
    pub(crate) sending: f64,
    pub(crate) waiting: f64,
    pub(crate) receiving: f64,
}

impl Timings {
    /// Sending, waiting and receiving.
    pub(crate) fn duration(self) -> f64 {
        self.sending + self.waiting + self.receiving
    }
}

/// What a script gets for a request.
#[derive(Debug)]
pub(crate) struct HttpResponse {
    /// The last request, which redirects may have led to.
    pub(crate) request: Rc<HttpRequest>,
    /// 0 where there was no response.
    pub(crate) status: u16,
    /// Such as `HTTP/1.1`.
    pub(crate) protocol: &'static str,
    pub(crate) headers: Headers,
    pub(crate) body: Vec<u8>,
    pub(crate) timings: Timings,
    /// Why there was no response, or 4xx or 5xx by its code alone.
    pub(crate) failure: Option<Failure>,
}

impl Shared for HttpResponse {
    const CLASS: &'static CStr = c"Response";
}
