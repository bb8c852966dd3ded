//! A request under way, redirects included. Each hop is a request of its own, as in k6.

use std::borrow::Cow;
use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::HeldBytes;
use engine::exchange::{CompletedTimes, RequestDraft, Response};
use evidence::{Instant, Outcome};

use super::received_body::{MOST_BODY_BYTES, body, hold_headers};
use super::redirect::Redirect;
use super::{BodyForm, Failure, HttpRequest, HttpResponse, Sending, Timings, Withheld, answer_challenge};
use crate::metrics::Tags;
use crate::response_memory::ResponseMemory;
use crate::script::RedirectSecrets;

/// A request under way.
#[derive(Debug)]
pub(crate) struct HttpOperation {
    /// The current hop.
    pub(crate) request: Rc<HttpRequest>,
    /// What the script asked for, once that is no longer the current hop.
    asked: Option<Rc<HttpRequest>>,
    /// The cookies that the script gives, as a header.
    given_cookies: Option<String>,
    /// When the script asked for its current hop.
    pub(crate) due: Instant,
    /// The header `Authorization` that answers a challenge to the current hop.
    answer: Option<String>,
    /// Whether a challenge was answered.
    was_challenged: bool,
    /// What other origins do not get; none where no redirect has led to one.
    pub(crate) withheld: Option<Withheld>,
}

/// What follows when a hop has ended.
#[derive(Debug)]
pub(crate) enum NextHop {
    /// A redirect is followed, or a challenge answered: the operation's request is the next one.
    Follow,
    /// It is over.
    Done(Rc<HttpResponse>),
}

pub(crate) struct HopEnd<'a> {
    pub(crate) response: &'a Response,
    /// Why there was no complete response.
    pub(crate) transport: Option<Outcome>,
    pub(crate) times: &'a CompletedTimes,
    /// Milliseconds since 1970.
    pub(crate) now_ms: f64,
    pub(crate) memory: ResponseMemory<'a>,
}

/// How one hop ended, as the tags of its values say it.
pub(crate) struct HopTags<'a> {
    pub(crate) request: &'a HttpRequest,
    pub(crate) status: u16,
    pub(crate) protocol: &'static str,
    pub(crate) failure: Option<&'a Failure>,
}

impl Tags for HopTags<'_> {
    fn tag(&self, name: &str) -> Option<Cow<'_, str>> {
        let given = self.request.tags.iter().find(|(known, _)| known == name);
        if let Some((_, value)) = given {
            return Some(Cow::Borrowed(value));
        }
        match name {
            "method" => Some(Cow::Borrowed(&self.request.method)),
            "name" | "url" => Some(Cow::Borrowed(self.request.called())),
            "status" => Some(Cow::Owned(self.status.to_string())),
            "proto" if self.status > 0 => Some(Cow::Borrowed(self.protocol)),
            "expected_response" => self
                .request
                .expected
                .includes(self.status)
                .map(|is| Cow::Borrowed(if is { "true" } else { "false" })),
            "error" => self
                .failure
                .filter(|failure| !failure.text.is_empty())
                .map(|f| Cow::Borrowed(f.text.as_str())),
            "error_code" => self.failure.map(|failure| Cow::Owned(failure.code.to_string())),
            _ => None,
        }
    }

    fn given(&self) -> &[(String, String)] {
        &self.request.tags
    }
}

impl HttpOperation {
    pub(crate) fn new(request: HttpRequest, due: Instant) -> HttpOperation {
        let given_cookies = request.header("cookie").map(str::to_owned);
        HttpOperation {
            request: Rc::new(request),
            asked: None,
            given_cookies,
            due,
            answer: None,
            was_challenged: false,
            withheld: None,
        }
    }

    /// Draft the current hop, at so many milliseconds since 1970; `user_agent` is sent unless the script sets another.
    pub(crate) fn draft(&mut self, draft: &mut RequestDraft, user_agent: &str, now_ms: f64) {
        self.set_cookies(now_ms);
        let request = &self.request;
        (draft.due, draft.deadline) = (self.due, self.due + request.timeout);
        draft.method.extend_from_slice(request.method.as_bytes());
        draft.path.extend_from_slice(request.url.path.as_bytes());
        if request.header("user-agent").is_none() {
            draft.headers.push(b"user-agent", user_agent.as_bytes());
        }
        for (name, value) in &request.headers {
            match &*in_lower_case(name) {
                "host" => draft.authority.extend_from_slice(value.as_bytes()),
                name => draft.headers.push(name.as_bytes(), value.as_bytes()),
            }
        }
        let basic = || request.url.user.as_ref().map(|user| format!("Basic {}", STANDARD.encode(user)));
        if let Some(authorization) = self.answer.clone().or_else(basic)
            && request.header("authorization").is_none()
        {
            draft.headers.push(b"authorization", authorization.as_bytes());
        }
        draft.body.extend_from_slice(request.coded_body.as_ref().unwrap_or(&request.body));
        draft.notes_connection = true;
        draft.keep_body_bytes = if request.form == BodyForm::Discarded { 0 } else { MOST_BODY_BYTES };
    }

    /// The cookies that the script gives, then those of the jar.
    fn set_cookies(&mut self, now_ms: f64) {
        let request = &self.request;
        let sending = match request.redirect_secrets {
            RedirectSecrets::Removed if self.asked.is_some() => Sending::ByRedirect,
            _ => Sending::ByScript,
        };
        let mut of_jar = request.jar.pairs(&request.url, sending, now_ms);
        let name = |pair: &str| pair.split('=').next().unwrap_or_default().to_owned();
        of_jar.retain(|pair| !request.replaced_cookies.contains(&name(pair)));
        if of_jar.is_empty() && self.request.header("cookie") == self.given_cookies.as_deref() {
            return;
        }
        let is_first = self.asked.is_none();
        let shown = of_jar.iter().filter(|_| is_first).filter_map(|pair| pair.split_once('='));
        let shown: Vec<_> = shown.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let all: Vec<String> = self.given_cookies.iter().cloned().chain(of_jar).collect();
        let request = Rc::make_mut(&mut self.request);
        request.cookies.extend(shown);
        match all.is_empty() {
            true => request.remove_header("cookie"),
            false => request.set_header("Cookie", all.join("; ")),
        }
    }

    fn asked(&self) -> Rc<HttpRequest> {
        self.asked.as_ref().unwrap_or(&self.request).clone()
    }

    /// The end of a request that cannot be sent.
    pub(crate) fn refused(&self, failure: Failure) -> HttpResponse {
        let url = self.request.url.shown();
        HttpResponse::of_failure(Some(self.asked()), url, failure.of_request(&self.request.log_name()))
    }

    /// What follows from a hop that ended in this way.
    pub(crate) fn ended(&mut self, end: &HopEnd<'_>) -> NextHop {
        let followed = match end.transport {
            Some(outcome) => Err(self.failure(outcome, end)),
            None => {
                self.keep_cookies(end);
                self.next(end.response)
            }
        };
        let mut held = HeldBytes::new(end.memory.budget);
        let body = match followed {
            Ok(Next::Hop) => return NextHop::Follow,
            Ok(Next::None) => self.body(end, &mut held),
            Err(failure) => Err(failure),
        };
        NextHop::Done(Rc::new(match body {
            Err(failure) => {
                let received = &end.response.body;
                held.shrink_to(0);
                let is_cut = end.transport.is_some() && end.response.status > 0;
                let is_kept = is_cut && end.memory.grow(&mut held, received.len()).is_ok();
                let body = is_kept.then(|| received.to_vec());
                HttpResponse { timings: timings(end.times), body, _held: Some(held), ..self.refused(failure) }
            }
            Ok(body) => HttpResponse {
                url: match self.was_challenged {
                    true => self.request.url.to_string(),
                    false => self.request.url.shown(),
                },
                status: end.response.status,
                protocol: protocol(end.times.is_http2),
                headers: end.response.headers.clone(),
                body,
                _held: Some(held),
                timings: timings(end.times),
                remote: end.times.remote,
                tls: end.times.tls,
                failure: Failure::of_status(end.response.status),
                request: Some(self.asked()),
            },
        }))
    }

    fn keep_cookies(&self, end: &HopEnd<'_>) {
        let lines = end.response.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(b"set-cookie"));
        self.request.jar.set_lines(&self.request.url, lines.map(|(_, line)| line), end.now_ms);
    }

    fn failure(&self, outcome: Outcome, end: &HopEnd<'_>) -> Failure {
        let failure = Failure::of_transport(outcome, end.times, &self.request.url.server());
        match outcome == Outcome::Reset && end.response.status > 0 {
            true => Failure::of_body(failure.code, failure.text),
            false => failure,
        }
    }

    /// The body for the script; none where it is not kept. What it takes with the headers is held.
    fn body(&self, end: &HopEnd<'_>, held: &mut HeldBytes) -> Result<Option<Vec<u8>>, Failure> {
        hold_headers(end.memory, held, &end.response.headers)?;
        if self.request.form == BodyForm::Discarded || matches!(end.response.status, 204 | 304) {
            return Ok(None);
        }
        body(end.memory, held, end.response, MOST_BODY_BYTES).map(Some)
    }

    /// Make the request that follows from a response to the current one.
    fn next(&mut self, response: &Response) -> Result<Next, Failure> {
        let text = |name: &[u8]| response.header(name).and_then(|value| str::from_utf8(value).ok());
        let (status, request) = (response.status, &self.request);
        if request.awaits_challenge(status) && self.answer.is_none() {
            let challenge = text(b"www-authenticate").unwrap_or_default();
            self.answer = answer_challenge(&request.method, &request.url, challenge);
            self.was_challenged |= self.answer.is_some();
            return Ok(if self.answer.is_some() { Next::Hop } else { Next::None });
        }
        let is_redirect = request.redirects > 0 && matches!(status, 301 | 302 | 303 | 307 | 308);
        match text(b"location").filter(|_| is_redirect) {
            Some(location) => self.follow(status, location),
            None => Ok(Next::None),
        }
    }

    /// Make the request that a redirect leads to the current one.
    fn follow(&mut self, status: u16, location: &str) -> Result<Next, Failure> {
        let redirect = Redirect::follow(&self.request, status, location)?;
        if redirect.hands_on_body(&self.request) {
            self.withheld.get_or_insert_default().has_body = true;
            return Ok(Next::None);
        }
        let first = self.asked.get_or_insert_with(|| self.request.clone());
        if !redirect.keeps_given_cookies(&first.url) {
            self.given_cookies = None;
        }
        // An answer is for the server that has asked.
        self.answer = None;
        let names = redirect.apply(Rc::make_mut(&mut self.request), first);
        if !names.is_empty() {
            self.withheld.get_or_insert_default().headers.extend(names);
        }
        self.request.refusal().map_or(Ok(Next::Hop), Err)
    }
}

/// What follows from a response.
enum Next {
    /// The operation's request is another one.
    Hop,
    /// Nothing.
    None,
}

/// `HTTP/1.1` or `HTTP/2.0`.
pub(crate) fn protocol(is_http2: bool) -> &'static str {
    if is_http2 { "HTTP/2.0" } else { "HTTP/1.1" }
}

/// The times of a hop in milliseconds.
pub(crate) fn timings(times: &CompletedTimes) -> Timings {
    let milliseconds = |ns: u64| ns as f64 / 1e6;
    Timings {
        blocked: milliseconds(times.blocked_ns),
        looking_up: milliseconds(times.resolving_ns),
        connecting: milliseconds(times.connecting_ns),
        tls_handshaking: milliseconds(times.tls_handshaking_ns),
        sending: milliseconds(times.sending_ns),
        waiting: milliseconds(times.waiting_ns),
        receiving: milliseconds(times.receiving_ns),
    }
}

/// Most names are in lower case as they are.
fn in_lower_case(name: &str) -> Cow<'_, str> {
    match name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => Cow::Owned(name.to_ascii_lowercase()),
        false => Cow::Borrowed(name),
    }
}
