//! Which exchanges are stored as exemplars, and how they are redacted.

use std::sync::Arc;

use evidence::exemplar::{EXEMPLAR_BODY_BYTES, EXEMPLARS_PER_OUTCOME};
use evidence::{Exemplar, ExemplarKind, Outcome};
use wire::grpc::Framed;
use workload::redact::Redactor;

use crate::exchange::{Exchange, KEPT_BODY_BYTES};
use crate::index::grown;
use crate::operation::Operation;
use crate::program::{OriginKind, Program};

/// Selects the exchanges of one loop that are kept. Its memory is bounded by endpoints, outcomes and phases.
#[derive(Debug)]
pub(crate) struct ExemplarSelector {
    program: Arc<Program>,
    /// How many failures of each endpoint and outcome were kept.
    failed: Vec<u8>,
    /// The slowest success of each endpoint and phase, in nanoseconds.
    slowest: Vec<u64>,
}

impl ExemplarSelector {
    pub(crate) fn new(program: Arc<Program>) -> Self {
        ExemplarSelector { failed: Vec::new(), slowest: Vec::new(), program }
    }

    /// Whether this exchange is kept, and as which kind.
    pub(crate) fn select(&mut self, exchange: &Exchange) -> Option<ExemplarKind> {
        if exchange.outcome.is_failure() {
            let cell = exchange.at.endpoint.0 * Outcome::COUNT + exchange.outcome.index();
            let kept = grown(&mut self.failed, cell, 0);
            let has_space = usize::from(*kept) < EXEMPLARS_PER_OUTCOME;
            *kept += u8::from(has_space);
            return has_space.then_some(ExemplarKind::Failed);
        }
        let cell = exchange.at.endpoint.0 * self.program.shape.phases.len() + exchange.at.phase.0;
        let slowest = grown(&mut self.slowest, cell, 0);
        let is_slowest = exchange.outcome == Outcome::Ok && exchange.response_ns > *slowest;
        if is_slowest {
            *slowest = exchange.response_ns;
        }
        is_slowest.then_some(ExemplarKind::Slowest)
    }
}

/// An exchange that is kept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeptExchange<'a> {
    pub(crate) operation: &'a Operation,
    pub(crate) exchange: &'a Exchange,
    pub(crate) kind: ExemplarKind,
    /// What was wrong, in words.
    pub(crate) detail: &'a str,
}

/// The exchange in the form that may be shown.
pub(crate) fn exemplar(program: &Program, kept: &KeptExchange<'_>) -> Exemplar {
    let KeptExchange { operation, exchange, kind, detail } = *kept;
    let draft = &operation.draft;
    let response = &operation.response;
    let endpoint = program.endpoint(exchange.at.endpoint);
    let scenario =
        program.shape.scenarios.get(endpoint.scenario.0).map_or("setup".into(), |s| s.name.clone());
    let redactor = &redactor_of(program, operation);
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
    Exemplar {
        kind,
        scenario,
        endpoint: endpoint.name.clone(),
        phase: program.phase(exchange.at.phase).name.clone(),
        outcome: exchange.outcome,
        due: draft.due,
        response_time_ns: exchange.response_ns,
        service_time_ns: exchange.service_ns.unwrap_or(0),
        request: redactor.text(&request_line(program, operation)).into_owned(),
        request_headers: headers(&draft.headers),
        request_body: shown_message(&draft.body, redactor, &sent),
        status: (response.status != 0).then_some(response.status),
        response_headers: headers(&response.headers),
        response_body: shown_message(&response.body, redactor, &received),
        detail: redactor.text(detail).into_owned(),
        trace_id: draft.trace_id.map(|id| id.iter().map(|byte| format!("{byte:02x}")).collect()),
    }
}

/// The redactor of this exchange, with the secrets that the exchange itself contains.
fn redactor_of(program: &Program, operation: &Operation) -> Redactor {
    let Operation { draft, response, .. } = operation;
    let fields = draft.headers.iter().chain(response.headers.iter());
    let headers = fields.map(|(name, value)| (String::from_utf8_lossy(name), String::from_utf8_lossy(value)));
    let kept = |body: &'_ [u8]| body.len().min(KEPT_BODY_BYTES);
    let (sent, received) = (&draft.body[..kept(&draft.body)], &response.body[..kept(&response.body)]);
    let texts = [&draft.path[..], sent, received].map(String::from_utf8_lossy);
    program.redactor.of_exchange(headers, &texts)
}

fn request_line(program: &Program, operation: &Operation) -> String {
    let origin = program.origin(operation.draft.origin);
    let path = String::from_utf8_lossy(&operation.draft.path);
    match origin.kind {
        OriginKind::Http => {
            let method = String::from_utf8_lossy(&operation.draft.method);
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
