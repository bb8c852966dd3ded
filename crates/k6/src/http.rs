//! HTTP requests of scripts: what they ask for, and what comes of them. Without JavaScript; see `modules::http`.

mod cookies;
mod digest;
mod failure;
mod forms;
mod json_path;
mod known_url;
mod operation;
mod received_body;
mod redirect;
mod request;
mod set_cookie;
mod status;
mod tls_alert;
mod url;

use std::cell::RefCell;
use std::ffi::CStr;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use engine::HeldBytes;
use engine::exchange::TlsFacts;
use wire::Headers;

use crate::js::Shared;

pub(crate) use cookies::{CookieJar, Sending, pair as cookie_pair};
pub(crate) use digest::authorization as answer_challenge;
pub(crate) use failure::Failure;
pub(crate) use forms::{FieldContent, FormField, FormFile, as_pairs, as_parts, boundary};
pub(crate) use json_path::{is_json, select};
pub(crate) use known_url::{KnownUrl, KnownUrls};
pub(crate) use operation::{HopEnd, HopTags, HttpOperation, NextHop, protocol, timings};
pub(crate) use redirect::{Redirect, Withheld};
pub(crate) use request::{Authentication, HttpRequest, shown_name};
pub(crate) use set_cookie::{SetCookie, date_ms};
pub(crate) use status::status_text;
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
    Discarded,
}

/// What a virtual user has set for its requests.
#[derive(Debug, Default)]
pub(crate) struct HttpState {
    pub(crate) expected: RefCell<Expected>,
    pub(crate) jar: RefCell<Rc<CookieJar>>,
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
#[derive(Debug, Default)]
pub(crate) struct HttpResponse {
    /// What the script asked for; none where that is not a request.
    pub(crate) request: Option<Rc<HttpRequest>>,
    /// The URL that redirects have led to.
    pub(crate) url: String,
    /// 0 where there was no response.
    pub(crate) status: u16,
    /// Such as `HTTP/1.1`; empty where there was no response.
    pub(crate) protocol: &'static str,
    pub(crate) headers: Headers,
    /// None where there was none, or it was not kept.
    pub(crate) body: Option<Vec<u8>>,
    /// What headers and body take of the run's budget, as long as the script holds this.
    pub(crate) _held: Option<HeldBytes>,
    pub(crate) timings: Timings,
    /// The server's address; none where nothing was sent.
    pub(crate) remote: Option<SocketAddr>,
    /// The TLS that it was received under.
    pub(crate) tls: Option<TlsFacts>,
    /// Why there was no response, or 4xx or 5xx by its code alone.
    pub(crate) failure: Option<Failure>,
}

impl HttpResponse {
    /// Of a request that was not sent.
    pub(crate) fn of_failure(
        request: Option<Rc<HttpRequest>>,
        url: String,
        failure: Failure,
    ) -> HttpResponse {
        HttpResponse { request, url, failure: Some(failure), ..HttpResponse::default() }
    }
}
