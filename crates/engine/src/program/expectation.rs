//! What a good response looks like, compiled; and what is taken out of it for later steps.

use std::cell::OnceCell;

use evidence::{GrpcCode, Outcome};
use regex::bytes::Regex;
use serde_json_path::JsonPath;

use super::text::{Scope, Text};
use crate::operation::Response;

/// What a good response looks like. Checks are numbered in the order [`Expectation::checks`] names them.
#[derive(Debug)]
pub(crate) struct Expectation {
    pub(crate) status: ExpectedStatus,
    pub(crate) headers: Vec<(Vec<u8>, Text)>,
    pub(crate) json: Vec<(JsonPath, serde_json::Value)>,
    pub(crate) contains: Vec<Text>,
}

#[derive(Debug)]
pub(crate) enum ExpectedStatus {
    /// Any of these; none named: 200 to 399.
    Http(Vec<u16>),
    /// Any of these; none named: `OK`.
    Grpc(Vec<GrpcCode>),
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
    Json(JsonPath),
    Header(Vec<u8>),
    Regex(Regex),
}

/// A response's body as JSON, read when first asked for and at most once.
pub(crate) struct JsonBody<'a> {
    parsed: OnceCell<Result<serde_json::Value, String>>,
    read: &'a dyn Fn() -> Result<serde_json::Value, String>,
}

impl<'a> JsonBody<'a> {
    pub(crate) fn new(read: &'a dyn Fn() -> Result<serde_json::Value, String>) -> Self {
        JsonBody { parsed: OnceCell::new(), read }
    }

    fn get(&self) -> Result<&serde_json::Value, &String> {
        self.parsed.get_or_init(self.read).as_ref()
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
        if self.json.is_empty() {
            return;
        }
        let parsed = body.get();
        for (path, wanted) in &self.json {
            let found = parsed.map(|json| path.query(json).all());
            let held = matches!(&found, Ok(nodes) if nodes.len() == 1 && nodes[0] == wanted);
            if !note(held) {
                verdict.fail(Outcome::Check, || match &found {
                    Err(reason) => format!("{path} should be {wanted}, but the body is no JSON: {reason}"),
                    Ok(nodes) => format!("{path} should be {wanted}, found {}", shorten(nodes)),
                });
            }
        }
    }

    fn judge_text(&self, response: &Response, scope: &Scope<'_>, (verdict, note): Ledger<'_>) {
        for text in &self.contains {
            let mut wanted = Vec::new();
            text.render(scope, &mut wanted);
            let found = wanted.is_empty() || response.body.windows(wanted.len()).any(|w| w == wanted);
            if !note(found) {
                let wanted = String::from_utf8_lossy(&wanted).into_owned();
                verdict.fail(Outcome::Check, || format!("the body should contain {wanted:?}"));
            }
        }
    }
}

/// Where a judgement notes what it finds.
type Ledger<'a> = (&'a mut Verdict, &'a mut dyn FnMut(bool) -> bool);

fn shorten(nodes: &[&serde_json::Value]) -> String {
    let text = match nodes {
        [] => return "nothing".to_owned(),
        [one] => one.to_string(),
        many => format!("{} nodes", many.len()),
    };
    match text.char_indices().nth(120) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}

impl ExpectedStatus {
    fn accepts(&self, response: &Response) -> bool {
        match self {
            ExpectedStatus::Http(wanted) if wanted.is_empty() => (200..400).contains(&response.status),
            ExpectedStatus::Http(wanted) => wanted.contains(&response.status),
            ExpectedStatus::Grpc(wanted) if wanted.is_empty() => grpc_code(response) == GrpcCode::OK,
            ExpectedStatus::Grpc(wanted) => wanted.contains(&grpc_code(response)),
        }
    }

    fn outcome_of(&self, response: &Response) -> Outcome {
        match self {
            ExpectedStatus::Http(_) => Outcome::of_http_status(response.status),
            // An unexpected OK is a failed check: `grpc:OK` would read like a success.
            ExpectedStatus::Grpc(_) => match grpc_code(response) {
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
            ExpectedStatus::Grpc(_) => {
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
                let json = body.get().map_err(|reason| {
                    format!("the body is no JSON to take `{}` from: {reason}", self.name)
                })?;
                match path.query(json).first() {
                    Some(serde_json::Value::String(text)) => Ok(text.clone().into_bytes()),
                    Some(value) => Ok(value.to_string().into_bytes()),
                    None => Err(format!("{path} selects nothing to take `{}` from", self.name)),
                }
            }
        }
    }
}
