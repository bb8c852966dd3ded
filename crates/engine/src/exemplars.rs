//! Which exchanges are kept whole, and how they are put down, redacted.

use std::sync::Arc;

use evidence::exemplar::{EXEMPLAR_BODY_BYTES, EXEMPLARS_PER_OUTCOME};
use evidence::{Exemplar, ExemplarKind, Outcome};

use crate::books::Exchange;
use crate::operation::Operation;
use crate::program::{Program, Speaks};

/// Decides which exchanges of one loop are kept. Its memory is bounded by endpoints, outcomes and phases.
#[derive(Debug)]
pub(crate) struct Keeper {
    program: Arc<Program>,
    /// How many failures of each endpoint and outcome were kept.
    failed: Vec<u8>,
    /// The slowest success of each endpoint and phase, in nanoseconds.
    slowest: Vec<u64>,
}

impl Keeper {
    pub(crate) fn new(program: Arc<Program>) -> Self {
        Keeper {
            failed: vec![0; program.endpoints.len() * Outcome::COUNT],
            slowest: vec![0; program.endpoints.len() * program.phases.len()],
            program,
        }
    }

    /// Why this exchange is kept, if it is.
    pub(crate) fn wants(&mut self, exchange: &Exchange) -> Option<ExemplarKind> {
        if exchange.outcome.is_failure() {
            let kept = &mut self.failed[exchange.endpoint * Outcome::COUNT + exchange.outcome.index()];
            let has_room = usize::from(*kept) < EXEMPLARS_PER_OUTCOME;
            *kept += u8::from(has_room);
            return has_room.then_some(ExemplarKind::Failed);
        }
        let slowest = &mut self.slowest[exchange.endpoint * self.program.phases.len() + exchange.phase];
        let is_slowest = exchange.outcome == Outcome::Ok && exchange.response_ns > *slowest;
        if is_slowest {
            *slowest = exchange.response_ns;
        }
        is_slowest.then_some(ExemplarKind::Slowest)
    }
}

/// The exchange as it may be shown. `detail` says what was wrong.
pub(crate) fn exemplar(
    program: &Program,
    (operation, exchange): (&Operation, &Exchange),
    (kind, detail): (ExemplarKind, &str),
) -> Exemplar {
    let draft = &operation.draft;
    let response = &operation.response;
    let endpoint = &program.endpoints[exchange.endpoint];
    let scenario = program.scenarios.get(endpoint.scenario).map_or("setup".into(), |s| s.name.clone());
    let redactor = &program.redactor;
    let text = |bytes: &[u8]| redactor.text(&readable(bytes)).into_owned();
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
        phase: program.phases[exchange.phase].name.clone(),
        outcome: exchange.outcome,
        due: draft.due,
        response_time_ns: exchange.response_ns,
        service_time_ns: exchange.service_ns.unwrap_or(0),
        request: text(request_line(program, operation).as_bytes()),
        request_headers: headers(&draft.headers),
        request_body: text(&draft.body),
        status: (response.status != 0).then_some(response.status),
        response_headers: headers(&response.headers),
        response_body: text(&response.body),
        detail: redactor.text(detail).into_owned(),
        trace_id: draft.trace_id.map(|id| id.iter().map(|byte| format!("{byte:02x}")).collect()),
    }
}

fn request_line(program: &Program, operation: &Operation) -> String {
    let origin = &program.origins[operation.draft.origin];
    let path = String::from_utf8_lossy(&operation.draft.path);
    match origin.speaks {
        Speaks::Http1 => {
            let method = String::from_utf8_lossy(&operation.draft.method);
            format!("{method} http://{}{path}", origin.authority)
        }
        Speaks::Http2 => format!("gRPC {}{path}", origin.authority),
    }
}

/// The first bytes of a body: as text where it is text, else as hexadecimal.
fn readable(bytes: &[u8]) -> String {
    let cut = &bytes[..bytes.len().min(EXEMPLAR_BODY_BYTES)];
    let text = match std::str::from_utf8(cut) {
        Ok(text) => Some(text),
        // A character may have been cut in two at the end.
        Err(error) if error.error_len().is_none() => std::str::from_utf8(&cut[..error.valid_up_to()]).ok(),
        Err(_) => None,
    };
    let is_plain = |text: &&str| !text.chars().any(|c| c.is_control() && !c.is_whitespace());
    match text.filter(is_plain) {
        Some(text) => text.to_owned(),
        None => cut.iter().take(EXEMPLAR_BODY_BYTES / 4).map(|byte| format!("{byte:02x}")).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::readable;

    #[test]
    fn bodies_are_text_where_they_are_text() {
        assert_eq!(readable("tëxt\n".as_bytes()), "tëxt\n");
        assert_eq!(readable(&[0, 0, 0, 0, 5, 10]), "00000000050a");
        assert_eq!(readable(&"é".as_bytes()[..1]), "");
    }
}
