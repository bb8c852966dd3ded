//! What a good response looks like, compiled; and what is taken out of it for later steps.

use std::cell::OnceCell;

use evidence::{GrpcCode, Outcome};
use regex::bytes::Regex;
use wire::grpc::{Framed, MessageError};

use super::lookup::{Found, Lookup};
use super::text::{Scope, Text};
use crate::operation::Response;

/// What a good response looks like. Checks are numbered in the order [`Expectation::checks`] names them.
#[derive(Debug)]
pub(crate) struct Expectation {
    pub(crate) status: ExpectedStatus,
    /// How many messages a stream must have had.
    pub(crate) messages: Option<u64>,
    pub(crate) headers: Vec<(Vec<u8>, Text)>,
    pub(crate) json: Vec<(Lookup, serde_json::Value)>,
    pub(crate) contains: Vec<Text>,
}

#[derive(Debug)]
pub(crate) enum ExpectedStatus {
    /// Any of these; none named: 200 to 399.
    Http(Vec<u16>),
    /// Any of these; none named: `OK`.
    Grpc(Vec<GrpcCode>, GrpcAnswer),
}

/// What a status of `OK` promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GrpcAnswer {
    /// One message.
    Message,
    /// Any number of them.
    Stream,
}

/// A value taken out of a response.
#[derive(Debug)]
pub(crate) struct Extraction {
    pub(crate) name: String,
    pub(crate) variable: usize,
    pub(crate) from: ExtractionFrom,
}

#[derive(Debug)]
pub(crate) enum ExtractionFrom {
    Json(Lookup),
    Header(Vec<u8>),
    Regex(Regex),
}

/// A response's body as JSON, taken apart only as far as it is asked about, and parsed at most once.
pub(crate) struct JsonBody<'a> {
    response: &'a Response,
    parsed: OnceCell<Result<serde_json::Value, String>>,
    /// Parses a body that is not JSON on the wire; none for one that is.
    decode: Option<&'a dyn Fn() -> Result<serde_json::Value, String>>,
}

impl<'a> JsonBody<'a> {
    /// A body that is JSON on the wire.
    pub(crate) fn text(response: &'a Response) -> Self {
        JsonBody { response, parsed: OnceCell::new(), decode: None }
    }

    /// A body that `decode` makes JSON of.
    pub(crate) fn decoded(
        response: &'a Response,
        decode: &'a dyn Fn() -> Result<serde_json::Value, String>,
    ) -> Self {
        JsonBody { response, parsed: OnceCell::new(), decode: Some(decode) }
    }

    fn find(&self, path: &Lookup) -> Result<Found, String> {
        if self.decode.is_none() && path.is_singular() && self.response.is_whole() {
            return path.follow(&self.response.body);
        }
        Ok(path.select(self.document()?))
    }

    fn first(&self, path: &Lookup) -> Result<Option<serde_json::Value>, String> {
        if path.is_singular() {
            return Ok(match self.find(path)? {
                Found::One(value) => Some(value),
                Found::Nothing | Found::Many(_) => None,
            });
        }
        Ok(path.first(self.document()?).cloned())
    }

    fn document(&self) -> Result<&serde_json::Value, String> {
        let read = || {
            let kept = self.response.body.len();
            if !self.response.is_whole() {
                return Err(format!("it is longer than the {kept} bytes that are kept for checks"));
            }
            match self.decode {
                Some(decode) => decode(),
                None => serde_json::from_slice(&self.response.body).map_err(|e| e.to_string()),
            }
        };
        self.parsed.get_or_init(read).as_ref().map_err(Clone::clone)
    }
}

/// What an expectation says of a response.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) outcome: Option<Outcome>,
    pub(crate) detail: String,
}

impl Verdict {
    fn fail(&mut self, outcome: Outcome, detail: impl FnOnce() -> String) {
        if self.outcome.is_none() {
            self.outcome = Some(outcome);
            self.detail = detail();
        }
    }
}

impl Expectation {
    /// The names of its checks.
    pub(crate) fn checks(&self) -> Vec<String> {
        let mut names = vec!["status".to_owned()];
        names.extend(self.messages.map(|count| format!("messages = {count}")));
        names.extend(self.headers.iter().map(|(n, _)| format!("header {}", String::from_utf8_lossy(n))));
        names.extend(self.json.iter().map(|(path, _)| format!("json {path}")));
        names.extend((1..=self.contains.len()).map(|n| format!("body contains ({n})")));
        names
    }

    pub(crate) fn needs_json(&self) -> bool {
        !self.json.is_empty()
    }

    pub(crate) fn needs_body(&self) -> bool {
        self.needs_json() || !self.contains.is_empty()
    }

    /// Hold a complete response against it; `check` hears of each check by its number. A failed status
    /// decides before failed checks do.
    pub(crate) fn judge(
        &self,
        response: &Response,
        (scope, body): (&Scope<'_>, &JsonBody<'_>),
        check: &mut dyn FnMut(u16, bool),
    ) -> Verdict {
        let mut verdict = Verdict::default();
        let mut number = 0u16;
        let mut note = |held: bool| {
            check(number, held);
            number += 1;
            held
        };
        if !note(self.status.accepts(response)) {
            verdict.fail(self.status.outcome_of(response), || self.status.complaint(response));
        } else if let Err(what) = self.status.holds_message(response) {
            verdict.fail(Outcome::Protocol, || format!("status OK, but no message: {what}"));
        }
        if let Some(wanted) = self.messages
            && !note(response.messages == wanted)
        {
            let found = response.messages;
            verdict.fail(Outcome::Check, || format!("{wanted} messages should have come, not {found}"));
        }
        self.judge_headers(response, scope, (&mut verdict, &mut note));
        self.judge_json(body, (&mut verdict, &mut note));
        self.judge_text(response, scope, (&mut verdict, &mut note));
        verdict
    }

    fn judge_headers(&self, response: &Response, scope: &Scope<'_>, (verdict, note): Ledger<'_>) {
        for (name, text) in &self.headers {
            let mut wanted = Vec::new();
            text.render(scope, &mut wanted);
            let found = response.header(name);
            if !note(found == Some(&wanted[..])) {
                verdict.fail(Outcome::Check, || {
                    let found = found.map(|f| String::from_utf8_lossy(f).into_owned());
                    let (name, wanted) = (String::from_utf8_lossy(name), String::from_utf8_lossy(&wanted));
                    format!("header {name} should be {wanted:?}, found {found:?}")
                });
            }
        }
    }

    fn judge_json(&self, body: &JsonBody<'_>, (verdict, note): Ledger<'_>) {
        for (path, wanted) in &self.json {
            let found = body.find(path);
            let held = matches!(&found, Ok(Found::One(value)) if value == wanted);
            if !note(held) {
                verdict.fail(Outcome::Check, || match &found {
                    Err(reason) => format!("{path} should be {wanted}, but the body is no JSON: {reason}"),
                    Ok(found) => format!("{path} should be {wanted}, found {}", describe(found)),
                });
            }
        }
    }

    fn judge_text(&self, response: &Response, scope: &Scope<'_>, (verdict, note): Ledger<'_>) {
        for text in &self.contains {
            let mut wanted = Vec::new();
            text.render(scope, &mut wanted);
            let found = memchr::memmem::find(&response.body, &wanted).is_some();
            if !note(found) {
                let wanted = String::from_utf8_lossy(&wanted).into_owned();
                verdict.fail(Outcome::Check, || format!("the body should contain {wanted:?}"));
            }
        }
    }
}

/// Where a judgement notes what it finds.
type Ledger<'a> = (&'a mut Verdict, &'a mut dyn FnMut(bool) -> bool);

fn describe(found: &Found) -> String {
    let text = match found {
        Found::Nothing => return "nothing".to_owned(),
        Found::One(value) => value.to_string(),
        Found::Many(count) => format!("{count} nodes"),
    };
    match text.char_indices().nth(120) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}

impl ExpectedStatus {
    pub(crate) fn accepts(&self, response: &Response) -> bool {
        match self {
            ExpectedStatus::Http(wanted) if wanted.is_empty() => (200..400).contains(&response.status),
            ExpectedStatus::Http(wanted) => wanted.contains(&response.status),
            ExpectedStatus::Grpc(wanted, _) if wanted.is_empty() => grpc_code(response) == GrpcCode::OK,
            ExpectedStatus::Grpc(wanted, _) => wanted.contains(&grpc_code(response)),
        }
    }

    /// Whether there is the one message that a gRPC status of `OK` promises. Of a body that was not kept whole
    /// the length is held against its prefix.
    fn holds_message(&self, response: &Response) -> Result<(), MessageError> {
        let promises = matches!(self, ExpectedStatus::Grpc(_, GrpcAnswer::Message));
        if !promises || grpc_code(response) != GrpcCode::OK {
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
            // An unexpected OK is a failed check: `grpc:OK` would read like a success.
            ExpectedStatus::Grpc(..) => match grpc_code(response) {
                GrpcCode::OK => Outcome::Check,
                code => Outcome::Grpc(code),
            },
        }
    }

    fn complaint(&self, response: &Response) -> String {
        match self {
            ExpectedStatus::Http(wanted) if wanted.is_empty() => {
                format!("status {}, expected 200 to 399", response.status)
            }
            ExpectedStatus::Http(wanted) => format!("status {}, expected {wanted:?}", response.status),
            ExpectedStatus::Grpc(..) => {
                let mut text = format!("gRPC status {}", grpc_code(response));
                if let Some(status) = wire::grpc::Status::of(&response.headers.view()) {
                    text.push_str(": ");
                    status.text_into(&mut text);
                }
                text
            }
        }
    }
}

fn grpc_code(response: &Response) -> GrpcCode {
    match wire::grpc::Status::of(&response.headers.view()) {
        Some(status) => status.code,
        // Whoever ends a stream is told no status.
        None if response.is_cut => GrpcCode::OK,
        None => wire::grpc::code_of_http(response.status),
    }
}

impl Extraction {
    pub(crate) fn needs_body(&self) -> bool {
        !matches!(self.from, ExtractionFrom::Header(_))
    }

    /// The value, or in words why there is none.
    pub(crate) fn take(&self, response: &Response, body: &JsonBody<'_>) -> Result<Vec<u8>, String> {
        match &self.from {
            ExtractionFrom::Header(name) => response.header(name).map(<[u8]>::to_vec).ok_or_else(|| {
                format!("no header {} to take `{}` from", String::from_utf8_lossy(name), self.name)
            }),
            ExtractionFrom::Regex(regex) => {
                let found = regex.captures(&response.body).and_then(|c| c.get(1).or_else(|| c.get(0)));
                let missing = || format!("nothing matches {regex} to take `{}` from", self.name);
                found.map(|m| m.as_bytes().to_vec()).ok_or_else(missing)
            }
            ExtractionFrom::Json(path) => {
                let found = body.first(path).map_err(|reason| {
                    format!("the body is no JSON to take `{}` from: {reason}", self.name)
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
