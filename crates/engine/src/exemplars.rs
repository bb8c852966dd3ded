//! Which exchanges are stored as exemplars, and how they are redacted.

use std::borrow::Cow;
use std::sync::Arc;

use evidence::exemplar::{EXEMPLAR_BODY_BYTES, EXEMPLARS_PER_OUTCOME};
use evidence::{Exemplar, ExemplarKind, Outcome};
use wire::grpc::Framed;
use workload::redact::Redactor;

use crate::body_budget::{BodyLease, UNCOUNTED_BYTES};
use crate::exchange::{Exchange, KEPT_BODY_BYTES, RequestDraft, Response};
use crate::index::grown;
use crate::operation::Operation;
use crate::program::{KeptExchanges, OriginKind, Program};

/// The exchanges of one loop that are kept: in each tick at most one of every endpoint, phase and outcome. Those that end are
/// put aside as they are, and are made readable when the tick closes: one that is replaced by a slower one costs nothing.
/// Memory is bounded by endpoints, outcomes and phases.
#[derive(Debug)]
pub(crate) struct Exemplars {
    program: Arc<Program>,
    kept: KeptExchanges,
    /// How many failures of each endpoint and outcome were kept.
    failed: Vec<u8>,
    /// The slowest success of each endpoint and phase, in nanoseconds.
    slowest: Vec<u64>,
    /// The place in `ended` of each endpoint, phase and outcome, in this tick.
    slots: Vec<Option<usize>>,
    ended: Vec<EndedExchange>,
}

/// An exchange that was put aside, with the cell of its slot.
#[derive(Debug)]
struct EndedExchange {
    slot: usize,
    draft: RequestDraft,
    response: Response,
    exchange: Exchange,
    detail: String,
}

impl Exemplars {
    pub(crate) fn new(program: Arc<Program>, kept: KeptExchanges) -> Self {
        let (failed, slowest, slots, ended) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Exemplars { program, kept, failed, slowest, slots, ended }
    }

    /// Put this exchange aside if it is to be kept; `detail` is why it failed. The operation is about to be
    /// closed: its buffers are exchanged for those of the exchange that was in the slot.
    pub(crate) fn add(&mut self, operation: &mut Operation, exchange: &Exchange, detail: &str) {
        let of_endpoint = exchange.at.endpoint.0;
        let of_phase = of_endpoint * self.program.shape.phases.len() + exchange.at.phase.0 as usize;
        let slot = of_phase * Outcome::COUNT + exchange.outcome.index();
        let is_kept = match exchange.outcome {
            _ if self.kept == KeptExchanges::All => true,
            Outcome::Ok => exchange.response_ns > *grown(&mut self.slowest, of_phase, 0),
            outcome if outcome.is_failure() => {
                let kept = *grown(&mut self.failed, of_endpoint * Outcome::COUNT + outcome.index(), 0);
                usize::from(kept) < EXEMPLARS_PER_OUTCOME && grown(&mut self.slots, slot, None).is_none()
            }
            _ => false,
        };
        if !is_kept {
            return;
        }
        match (self.kept, exchange.outcome) {
            (KeptExchanges::All, _) => *grown(&mut self.slots, slot, None) = None,
            (_, Outcome::Ok) => self.slowest[of_phase] = exchange.response_ns,
            (_, outcome) => self.failed[of_endpoint * Outcome::COUNT + outcome.index()] += 1,
        }
        let aside = self.in_slot(slot, exchange);
        std::mem::swap(&mut aside.draft, &mut operation.draft);
        std::mem::swap(&mut aside.response, &mut operation.response);
        // What checks needed of long bodies is not held until the tick closes.
        aside.draft.body.truncate(UNCOUNTED_BYTES);
        aside.draft.body.shrink_to(UNCOUNTED_BYTES);
        aside.response.body.shorten();
        aside.response.lease.end();
        aside.exchange = *exchange;
        aside.detail.clear();
        aside.detail.push_str(detail);
    }

    fn in_slot(&mut self, slot: usize, exchange: &Exchange) -> &mut EndedExchange {
        let place = *grown(&mut self.slots, slot, None).get_or_insert(self.ended.len());
        if place == self.ended.len() {
            let lease = BodyLease::new(&self.program.body_budget);
            let response = Response { lease, ..Response::default() };
            let (draft, detail) = (RequestDraft::default(), String::new());
            self.ended.push(EndedExchange { slot, draft, response, exchange: *exchange, detail });
        }
        &mut self.ended[place]
    }

    /// The exchanges that were put aside, in the form that may be shown. None is left.
    pub(crate) fn take(&mut self) -> Vec<Exemplar> {
        let mut shown = Vec::with_capacity(self.ended.len());
        for ended in self.ended.drain(..) {
            self.slots[ended.slot] = None;
            let EndedExchange { draft, response, exchange, detail, .. } = &ended;
            shown.push(exemplar(&self.program, &KeptExchange { draft, response, exchange, detail }));
        }
        shown
    }
}

/// Why an operation failed, in words; `detail` is the reason of the verdict on its response.
pub(crate) fn failure_reason<'d>(operation: &Operation, outcome: Outcome, detail: &'d str) -> Cow<'d, str> {
    match operation.failure_reason() {
        Some(reason) => Cow::Owned(reason),
        None if detail.is_empty() && operation.is_lost_in_flight => Cow::Borrowed(LOST_IN_FLIGHT),
        None if detail.is_empty() => Cow::Borrowed(explain(outcome)),
        None => Cow::Borrowed(detail),
    }
}

/// What was wrong with an exchange, in the form that may be shown.
pub(crate) fn redacted(program: &Program, kept: &KeptExchange<'_>) -> String {
    redactor_of(program, kept).text(kept.detail).into_owned()
}

/// Of a request that is not sent again because the peer may have processed it.
const LOST_IN_FLIGHT: &str =
    "the server closed the connection while the request was in flight: whether it was processed is not known";

fn explain(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Timeout => "no complete response within the step's time limit",
        Outcome::Dns => "the name of the host was not found",
        Outcome::Refused => "the connection was refused",
        Outcome::Reset => "the connection was reset or closed before the response was complete",
        Outcome::Tls => "the TLS handshake failed",
        Outcome::Protocol => "the peer violated the protocol",
        _ => "",
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct KeptExchange<'a> {
    pub(crate) draft: &'a RequestDraft,
    pub(crate) response: &'a Response,
    pub(crate) exchange: &'a Exchange,
    /// What was wrong, in words.
    pub(crate) detail: &'a str,
}

/// The exchange in the form that may be shown.
pub(crate) fn exemplar(program: &Program, kept: &KeptExchange<'_>) -> Exemplar {
    let KeptExchange { draft, response, exchange, detail } = *kept;
    let endpoint = program.endpoint(exchange.at.endpoint);
    let scenario =
        program.shape.scenarios.get(endpoint.scenario.0).map_or("setup".into(), |s| s.name.clone());
    let redactor = &redactor_of(program, kept);
    let method = endpoint.method.as_ref();
    let sent = |bytes: &[u8]| method?.request_to_json(bytes).ok();
    let received = |bytes: &[u8]| method?.decode_to_json(bytes).ok();
    let headers = |fields: &wire::Headers| {
        let redacted = |(name, value): (&[u8], &[u8])| {
            let (name, value) = (String::from_utf8_lossy(name), String::from_utf8_lossy(value));
            let value = redactor.text(&redactor.header(&name, &value)).into_owned();
            (name.into_owned(), value)
        };
        fields.iter().map(redacted).collect()
    };
    let is_failure = exchange.outcome.is_failure();
    Exemplar {
        kind: if is_failure { ExemplarKind::Failed } else { ExemplarKind::Slowest },
        scenario,
        endpoint: endpoint.name.clone(),
        phase: program.phase(exchange.at.phase).name.clone(),
        outcome: exchange.outcome,
        due: draft.due,
        response_time_ns: exchange.response_ns,
        service_time_ns: exchange.service_ns.unwrap_or(0),
        request: redactor.text(&request_line(program, draft)).into_owned(),
        request_headers: headers(&draft.headers),
        request_body: shown_message(&draft.body, redactor, &sent),
        status: (response.status != 0).then_some(response.status),
        response_headers: headers(&response.headers),
        response_body: shown_message(&response.body, redactor, &received),
        detail: redactor.text(detail).into_owned(),
        trace_id: draft.trace_id.map(hex::encode),
    }
}

/// The redactor of this exchange, with the secrets that the exchange itself contains.
fn redactor_of(program: &Program, kept: &KeptExchange<'_>) -> Redactor {
    let KeptExchange { draft, response, .. } = *kept;
    let fields = draft.headers.iter().chain(response.headers.iter());
    let headers = fields.map(|(name, value)| (String::from_utf8_lossy(name), String::from_utf8_lossy(value)));
    let kept = |body: &'_ [u8]| body.len().min(KEPT_BODY_BYTES);
    let (sent, received) = (&draft.body[..kept(&draft.body)], &response.body[..kept(&response.body)]);
    let texts = [&draft.path[..], sent, received].map(String::from_utf8_lossy);
    program.redactor.of_exchange(headers, &texts)
}

fn request_line(program: &Program, draft: &RequestDraft) -> String {
    let origin = program.origin(draft.origin);
    let path = String::from_utf8_lossy(&draft.path);
    match origin.kind {
        OriginKind::Http | OriginKind::WebSocket => {
            let method = String::from_utf8_lossy(&draft.method);
            format!("{method} {}", origin.url(&path))
        }
        OriginKind::Grpc => format!("gRPC {}{path}", origin.authority),
    }
}

/// A body in the form that may be shown. Of a binary body only the size is shown: in another notation its secrets
/// could not be found.
fn shown(bytes: &[u8], redactor: &Redactor) -> String {
    let end = bytes.len().min(KEPT_BODY_BYTES);
    let text = match std::str::from_utf8(&bytes[..end]) {
        Ok(text) => Some(text),
        // A character may have been cut in two at the end.
        Err(error) if error.error_len().is_none() => std::str::from_utf8(&bytes[..error.valid_up_to()]).ok(),
        Err(_) => None,
    };
    let is_plain = |text: &&str| !text.chars().any(|c| c.is_control() && !c.is_whitespace());
    match text.filter(is_plain) {
        Some(text) => cut(redactor.text(text).into_owned()),
        None => format!("({} bytes that are not text)", bytes.len()),
    }
}

/// A body in the form that may be shown: a gRPC message that `decode` understands is shown as JSON, the first
/// where there are several.
fn shown_message(body: &[u8], redactor: &Redactor, decode: Decode<'_>) -> String {
    match Framed::first(body).and_then(Framed::message).ok().and_then(decode) {
        Some(json) => cut(redactor.text(&json.to_string()).into_owned()),
        None => shown(body, redactor),
    }
}

/// Converts a message to JSON; none where the bytes are not such a message.
type Decode<'a> = &'a dyn Fn(&[u8]) -> Option<serde_json::Value>;

fn cut(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(EXEMPLAR_BODY_BYTES));
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn redactor(secret: &str) -> Redactor {
        let workload = serde_json::json!({
            "name": "", "seed": 0, "targets": {}, "data": {}, "phases": [], "scenarios": [], "setup": [],
            "objectives": [], "precheck": false, "traceparent": false, "secrets": []
        });
        let workload = serde_json::from_value(workload).unwrap();
        Redactor::new(&workload, &BTreeMap::from([("SECRET".to_owned(), secret.to_owned())]))
    }

    #[test]
    fn text_bodies_are_shown_and_binary_bodies_only_by_size() {
        let redactor = redactor("hunter2");
        assert_eq!(shown("tëxt\n".as_bytes(), &redactor), "tëxt\n");
        assert_eq!(shown(&[0, 0, 0, 0, 5, 10], &redactor), "(6 bytes that are not text)");
        assert_eq!(shown(&"é".as_bytes()[..1], &redactor), "");
    }

    #[test]
    fn a_secret_that_crosses_the_end_of_the_shown_part_is_redacted() {
        let redactor = redactor("hunter2");
        for before in EXEMPLAR_BODY_BYTES - 8..EXEMPLAR_BODY_BYTES {
            let body = format!("{}hunter2 and more", "x".repeat(before));
            assert!(!shown(body.as_bytes(), &redactor).contains("xh"), "{before} bytes before the secret");
        }
    }
}
