//! What a response is expected to be, compiled, and the values that are extracted from it for later steps.

use std::cell::OnceCell;

use evidence::{GrpcCode, Outcome};
use regex::bytes::Regex;
use wire::grpc::{Framed, MessageError};

use super::bounded_json;
use super::json_lookup::{JsonLookup, SelectedNodes};
use super::template::{CompiledTemplate, RenderScope};
use crate::exchange::{CheckResult, Response};
use crate::index::CheckIndex;

/// What a response is expected to be. Checks are numbered in the order of [`Expectation::checks`].
#[derive(Debug)]
pub(crate) struct Expectation {
    pub(crate) status: ExpectedStatus,
    /// How many messages a stream must contain.
    pub(crate) messages: Option<u64>,
    pub(crate) headers: Vec<(Vec<u8>, CompiledTemplate)>,
    pub(crate) json: Vec<(JsonLookup, serde_json::Value)>,
    pub(crate) contains: Vec<CompiledTemplate>,
}

#[derive(Debug)]
pub(crate) enum ExpectedStatus {
    /// Any of these; 200 to 399 when the list is empty.
    Http(Vec<u16>),
    /// Any of these; `OK` when the list is empty.
    Grpc(Vec<GrpcCode>, GrpcResponseKind),
}

/// What follows from a status of `OK`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GrpcResponseKind {
    Message,
    /// The response has any number of messages.
    Stream,
}

/// A value that is extracted from a response.
#[derive(Debug)]
pub(crate) struct Extraction {
    pub(crate) name: String,
    pub(crate) variable: usize,
    pub(crate) from: ExtractionFrom,
}

#[derive(Debug)]
pub(crate) enum ExtractionFrom {
    Json(JsonLookup),
    Header(Vec<u8>),
    Regex(Regex),
    HeaderRegex { header: Vec<u8>, regex: Regex },
}

/// A response's body as JSON, read only as far as a path needs, and parsed at most once.
pub(crate) struct JsonBody<'a> {
    response: &'a Response,
    parsed: OnceCell<Result<serde_json::Value, String>>,
    /// Converts a body that is not JSON on the wire; none for one that is.
    decode: Option<&'a dyn Fn() -> Result<serde_json::Value, String>>,
}

impl<'a> JsonBody<'a> {
    /// A body that is JSON on the wire.
    pub(crate) fn text(response: &'a Response) -> Self {
        JsonBody { response, parsed: OnceCell::new(), decode: None }
    }

    /// A body that `decode` converts to JSON.
    pub(crate) fn decoded(
        response: &'a Response,
        decode: &'a dyn Fn() -> Result<serde_json::Value, String>,
    ) -> Self {
        JsonBody { response, parsed: OnceCell::new(), decode: Some(decode) }
    }

    fn find(&self, path: &JsonLookup) -> Result<SelectedNodes, String> {
        if self.decode.is_none() && path.is_singular() && self.response.is_whole() {
            return path.follow(&self.response.body);
        }
        Ok(path.select(self.document()?))
    }

    fn first(&self, path: &JsonLookup) -> Result<Option<serde_json::Value>, String> {
        if path.is_singular() {
            return Ok(match self.find(path)? {
                SelectedNodes::One(value) => Some(value),
                SelectedNodes::None | SelectedNodes::Many(_) => None,
            });
        }
        Ok(path.first(self.document()?).cloned())
    }

    fn document(&self) -> Result<&serde_json::Value, String> {
        let read = || {
            if let Some(why) = self.response.cut_reason() {
                return Err(why);
            }
            match self.decode {
                Some(decode) => decode(),
                None => bounded_json::parse(&self.response.body),
            }
        };
        self.parsed.get_or_init(read).as_ref().map_err(Clone::clone)
    }
}

/// Whether a response is as expected.
#[derive(Debug, Default)]
pub(crate) struct ExpectationVerdict {
    /// None when it is.
    pub(crate) outcome: Option<Outcome>,
    pub(crate) detail: String,
}

impl ExpectationVerdict {
    fn fail(&mut self, outcome: Outcome, detail: impl FnOnce() -> String) {
        if self.outcome.is_none() {
            self.outcome = Some(outcome);
            self.detail = detail();
        }
    }
}

impl Expectation {
    pub(crate) fn needs_json(&self) -> bool {
        !self.json.is_empty()
    }

    pub(crate) fn needs_body(&self) -> bool {
        self.needs_json() || !self.contains.is_empty()
    }

    /// Check a complete response. `check` is called with the result of each check. A failed status decides before
    /// failed checks do.
    pub(crate) fn judge(
        &self,
        response: &Response,
        scope: &RenderScope<'_>,
        body: &JsonBody<'_>,
        check: &mut dyn FnMut(CheckIndex, CheckResult),
    ) -> ExpectationVerdict {
        let mut ledger = CheckLedger { verdict: ExpectationVerdict::default(), next: 0, check };
        if !ledger.note(self.status.accepts(response)) {
            ledger.verdict.fail(self.status.outcome_of(response), || self.status.complaint(response));
        } else if let Err(error) = self.status.check_message(response) {
            ledger.verdict.fail(Outcome::Protocol, || format!("status OK, but no message: {error}"));
        }
        if let Some(expected) = self.messages
            && !ledger.note(response.messages == expected)
        {
            let found = response.messages;
            ledger.verdict.fail(Outcome::Check, || format!("expected {expected} messages, received {found}"));
        }
        self.judge_headers(response, scope, &mut ledger);
        self.judge_json(body, &mut ledger);
        self.judge_text(response, scope, &mut ledger);
        ledger.verdict
    }

    fn judge_headers(&self, response: &Response, scope: &RenderScope<'_>, ledger: &mut CheckLedger<'_>) {
        for (name, text) in &self.headers {
            let mut expected = Vec::new();
            text.render(scope, &mut expected);
            let found = response.header(name);
            if !ledger.note(found == Some(&expected[..])) {
                ledger.verdict.fail(Outcome::Check, || {
                    let found = found.map(|f| String::from_utf8_lossy(f).into_owned());
                    let (name, expected) =
                        (String::from_utf8_lossy(name), String::from_utf8_lossy(&expected));
                    let note = response.left_out_note();
                    format!("header {name} should be {expected:?}, found {found:?}{note}")
                });
            }
        }
    }

    fn judge_json(&self, body: &JsonBody<'_>, ledger: &mut CheckLedger<'_>) {
        for (path, expected) in &self.json {
            let found = body.find(path);
            let is_equal = matches!(&found, Ok(SelectedNodes::One(value)) if value == expected);
            if !ledger.note(is_equal) {
                ledger.verdict.fail(Outcome::Check, || match &found {
                    Err(reason) => {
                        format!("{path} should be {expected}, but the body cannot be read as JSON: {reason}")
                    }
                    Ok(found) => format!("{path} should be {expected}, found {}", describe(found)),
                });
            }
        }
    }

    fn judge_text(&self, response: &Response, scope: &RenderScope<'_>, ledger: &mut CheckLedger<'_>) {
        for text in &self.contains {
            let mut expected = Vec::new();
            text.render(scope, &mut expected);
            let is_found = memchr::memmem::find(&response.body, &expected).is_some();
            if !ledger.note(is_found) {
                let expected = String::from_utf8_lossy(&expected).into_owned();
                ledger.verdict.fail(Outcome::Check, || {
                    let cut = response.cut_reason().map(|why| format!(", and {why}")).unwrap_or_default();
                    format!("the body should contain {expected:?}{cut}")
                });
            }
        }
    }
}

/// Collects the results of the checks of one response.
struct CheckLedger<'a> {
    verdict: ExpectationVerdict,
    next: u16,
    check: &'a mut dyn FnMut(CheckIndex, CheckResult),
}

impl CheckLedger<'_> {
    /// Note the result of the next check, and return it.
    fn note(&mut self, is_as_expected: bool) -> bool {
        (self.check)(CheckIndex(self.next), CheckResult::of(is_as_expected));
        self.next += 1;
        is_as_expected
    }
}

fn describe(found: &SelectedNodes) -> String {
    let text = match found {
        SelectedNodes::None => return "nothing".to_owned(),
        SelectedNodes::One(value) => value.to_string(),
        SelectedNodes::Many(count) => format!("{count} nodes"),
    };
    match text.char_indices().nth(120) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}

impl ExpectedStatus {
    pub(crate) fn accepts(&self, response: &Response) -> bool {
        match self {
            ExpectedStatus::Http(accepted) if accepted.is_empty() => (200..400).contains(&response.status),
            ExpectedStatus::Http(accepted) => accepted.contains(&response.status),
            ExpectedStatus::Grpc(accepted, _) if accepted.is_empty() => response.grpc_code() == GrpcCode::OK,
            ExpectedStatus::Grpc(accepted, _) => accepted.contains(&response.grpc_code()),
        }
    }

    /// Check that the response has the one message that a gRPC status of `OK` requires. Where the body was not kept
    /// whole, its length is compared with the message's prefix.
    fn check_message(&self, response: &Response) -> Result<(), MessageError> {
        let requires_message = matches!(self, ExpectedStatus::Grpc(_, GrpcResponseKind::Message));
        if !requires_message || response.grpc_code() != GrpcCode::OK {
            return Ok(());
        }
        if response.is_whole() {
            return Framed::single(&response.body).map(drop);
        }
        let Some(([0 | 1, length @ ..], _)) = response.body.split_first_chunk::<5>() else {
            return Err(MessageError::Prefix);
        };
        let claimed = 5 + u64::from(u32::from_be_bytes(*length));
        if claimed == response.body_bytes { Ok(()) } else { Err(MessageError::Truncated) }
    }

    fn outcome_of(&self, response: &Response) -> Outcome {
        match self {
            ExpectedStatus::Http(_) => Outcome::of_http_status(response.status),
            // An unexpected OK is a failed check: the outcome `grpc:OK` would look like a success.
            ExpectedStatus::Grpc(..) => match response.grpc_code() {
                GrpcCode::OK => Outcome::Check,
                code => Outcome::Grpc(code),
            },
        }
    }

    fn complaint(&self, response: &Response) -> String {
        match self {
            ExpectedStatus::Http(accepted) if accepted.is_empty() => {
                format!("status {}, expected 200 to 399", response.status)
            }
            ExpectedStatus::Http(accepted) => {
                format!("status {}, expected {}", response.status, ranges(accepted).join(" or "))
            }
            ExpectedStatus::Grpc(..) => {
                let mut text = format!("gRPC status {}", response.grpc_code());
                if let Some(status) = wire::grpc::Status::from_trailers(&response.headers.view()) {
                    text.push_str(": ");
                    status.text_into(&mut text);
                }
                text
            }
        }
    }
}

/// The first group of the first match, or the whole match.
fn first_group(regex: &Regex, text: &[u8]) -> Option<Vec<u8>> {
    let found = regex.captures(text)?;
    found.get(1).or_else(|| found.get(0)).map(|group| group.as_bytes().to_vec())
}

/// Statuses as texts; those that follow each other as one.
fn ranges(statuses: &[u16]) -> Vec<String> {
    let of_run = |run: &[u16]| match run {
        [first, .., last] if run.len() > 2 => vec![format!("{first} to {last}")],
        few => few.iter().map(u16::to_string).collect(),
    };
    statuses.chunk_by(|a, b| a.checked_add(1) == Some(*b)).flat_map(of_run).collect()
}

impl Extraction {
    pub(crate) fn needs_body(&self) -> bool {
        !matches!(self.from, ExtractionFrom::Header(_) | ExtractionFrom::HeaderRegex { .. })
    }

    /// The value, or the reason in words why there is none.
    pub(crate) fn take(&self, response: &Response, body: &JsonBody<'_>) -> Result<Vec<u8>, String> {
        match &self.from {
            ExtractionFrom::Header(name) => response.header(name).map(<[u8]>::to_vec).ok_or_else(|| {
                let (name, note) = (String::from_utf8_lossy(name), response.left_out_note());
                format!("no header {name} to take `{}` from{note}", self.name)
            }),
            ExtractionFrom::HeaderRegex { header, regex } => {
                let mut values =
                    response.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case(header));
                values.find_map(|(_, value)| first_group(regex, value)).ok_or_else(|| {
                    let (name, note) = (String::from_utf8_lossy(header), response.left_out_note());
                    format!("nothing in the header {name} matches {regex} to take `{}` from{note}", self.name)
                })
            }
            ExtractionFrom::Regex(regex) => {
                let found = first_group(regex, &response.body);
                let missing = || {
                    let cut = response.cut_reason().map(|why| format!("; {why}")).unwrap_or_default();
                    format!("nothing matches {regex} to take `{}` from{cut}", self.name)
                };
                found.ok_or_else(missing)
            }
            ExtractionFrom::Json(path) => {
                let found = body.first(path).map_err(|reason| {
                    format!("the body cannot be read as JSON to take `{}` from: {reason}", self.name)
                })?;
                match found {
                    Some(serde_json::Value::String(text)) => Ok(text.into_bytes()),
                    Some(value) => Ok(value.to_string().into_bytes()),
                    None => Err(format!("{path} selects nothing to take `{}` from", self.name)),
                }
            }
        }
    }
}
