//! A request under way, redirects included. Each hop is a request of its own, as in k6.

use std::borrow::Cow;
use std::rc::Rc;

use engine::exchange::{CompletedTimes, RequestDraft, Response};
use evidence::{Instant, Outcome};
use wire::Headers;

use super::{BodyForm, Failure, HttpRequest, HttpResponse, Timings};
use crate::metrics::Tags;

/// The longest body that is kept for a script.
const KEPT_BODY_BYTES: usize = 16 << 20;

/// A request under way.
#[derive(Debug)]
pub(crate) struct HttpOperation {
    pub(crate) request: Rc<HttpRequest>,
    /// When the script asked for its current hop.
    pub(crate) due: Instant,
}

/// What follows when a hop has ended.
#[derive(Debug)]
pub(crate) enum NextHop {
    /// A redirect is followed: the operation's request is the next one.
    Follow,
    /// It is over.
    Done(Rc<HttpResponse>),
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
    /// Draft the current hop.
    pub(crate) fn draft(&self, draft: &mut RequestDraft) {
        let request = &self.request;
        (draft.due, draft.deadline) = (self.due, self.due + request.timeout);
        draft.method.extend_from_slice(request.method.as_bytes());
        draft.path.extend_from_slice(request.url.path.as_bytes());
        for (name, value) in &request.headers {
            draft.headers.push(name.as_bytes(), value.as_bytes());
        }
        draft.body.extend_from_slice(&request.body);
        draft.notes_connection = true;
        draft.keep_body_bytes = if request.form == BodyForm::Discarded { 0 } else { KEPT_BODY_BYTES };
    }

    /// What follows from a hop that ended in this way.
    pub(crate) fn ended(
        &mut self,
        response: &Response,
        transport: Option<Outcome>,
        times: &CompletedTimes,
    ) -> NextHop {
        let status = if transport.is_some() { 0 } else { response.status };
        let failure = transport
            .map(|outcome| Failure::of_transport(outcome, times.reason.as_deref().unwrap_or_default()))
            .or_else(|| Failure::of_status(status));
        if failure.is_none() && self.follow(response) {
            return NextHop::Follow;
        }
        NextHop::Done(Rc::new(HttpResponse {
            request: self.request.clone(),
            status,
            protocol: protocol(times.is_http2),
            headers: if transport.is_some() { Headers::new() } else { response.headers.clone() },
            body: self.decoded(response, transport),
            timings: timings(times),
            failure,
        }))
    }

    fn decoded(&self, response: &Response, transport: Option<Outcome>) -> Vec<u8> {
        if transport.is_some() || self.request.form == BodyForm::Discarded {
            return Vec::new();
        }
        let decoded = response
            .header(b"content-encoding")
            .and_then(|codings| wire::coding::decode(codings, &response.body, KEPT_BODY_BYTES).ok());
        decoded.unwrap_or_else(|| response.body.clone())
    }

    /// Make the request that a redirect leads to the current one; false where it is none, or not to be followed.
    fn follow(&mut self, response: &Response) -> bool {
        let status = response.status;
        if self.request.redirects == 0 || !matches!(status, 301 | 302 | 303 | 307 | 308) {
            return false;
        }
        let location = response.header(b"location").and_then(|location| str::from_utf8(location).ok());
        let Some(Ok(url)) = location.map(|location| self.request.url.join(location)) else { return false };
        let request = Rc::make_mut(&mut self.request);
        request.redirects -= 1;
        if url.origin != request.url.origin {
            let is_secret = |name: &str| matches!(name, "authorization" | "cookie" | "www-authenticate");
            request.headers.retain(|(name, _)| !is_secret(name));
        }
        let keeps_method = matches!(status, 307 | 308) || matches!(request.method.as_str(), "GET" | "HEAD");
        if !keeps_method {
            "GET".clone_into(&mut request.method);
            request.body.clear();
            request.headers.retain(|(name, _)| !name.starts_with("content-"));
        }
        request.url = Rc::new(url.into());
        true
    }
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
