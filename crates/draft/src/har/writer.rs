//! Makes steps of the entries of a recording.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::body::{self, RecordedBody};
use super::entry::{NamedValue, Recorded};
use super::kind;
use super::left_out::LeftOut;
use crate::address::basic_auth;
use crate::body as bodies;
use crate::correlate::{Correlation, Exchange, Look, Origin, Response, SlottedText, correlate, look};
use crate::error::DraftError;
use crate::names::{step_name, target_name};
use crate::plan::{
    BodyDraft, Choice, ExpectedStatus, FlowDraft, PlanDraft, Selection, StepDraft, StepState, TargetDraft,
};
use crate::secrets::Variables;
use crate::slots;
use crate::text::Text;
use crate::url::SplitUrl;

/// A shorter pause between two requests is none: the browser's, not its user's.
const SHORTEST_THINK: Duration = Duration::from_millis(100);
/// So many values that could not be placed are named one by one.
const MOST_NAMED: usize = 10;

/// The texts of a request in its exchange; after these come its headers.
const PATH: usize = 0;
const BODY: usize = 1;
const FIRST_HEADER: usize = 2;

pub(super) struct Writer {
    selection: Selection,
    targets: Vec<TargetDraft>,
    target_names: BTreeSet<String>,
    step_names: BTreeSet<String>,
    requests: Vec<Request>,
    /// The requests' texts, in the same order.
    exchanges: Vec<Exchange>,
    variables: Variables,
    /// The names of the cookies that each origin has set so far.
    cookies: BTreeMap<String, BTreeSet<String>>,
}

/// What a step needs besides its texts.
struct Request {
    step: StepDraft,
    body_kind: bodies::BodyKind,
    /// The names of the headers among the texts.
    headers: Vec<String>,
    /// The cookies that no response of the recording set.
    other_cookies: Vec<String>,
    user: Option<String>,
}

impl Writer {
    pub(super) fn new(selection: Selection) -> Writer {
        Writer {
            selection,
            targets: Vec::new(),
            target_names: BTreeSet::new(),
            step_names: BTreeSet::new(),
            requests: Vec::new(),
            exchanges: Vec::new(),
            variables: Variables::default(),
            cookies: BTreeMap::new(),
        }
    }

    pub(super) fn steps(&self) -> usize {
        self.requests.len()
    }

    pub(super) fn add(&mut self, recorded: &Recorded, pause: Duration) -> Result<(), DraftError> {
        let request = &recorded.entry.request;
        let method = request.method.to_ascii_uppercase();
        let mut step = StepDraft::new(&method, self.target(&recorded.url), Text::default());
        step.name = step_name(&format!("{method} {}", recorded.shown_path()), &mut self.step_names);
        if pause >= SHORTEST_THINK {
            // Ten milliseconds are exact enough.
            step.think = Some(Duration::from_millis((pause.as_millis() as u64).div_ceil(10) * 10));
        }
        expect(&mut step, recorded.entry.response.status);
        let mut headers = kept_headers(&request.headers);
        let mut content_type =
            headers.iter().find(|(name, _)| name == "content-type").map(|(_, value)| value.clone());
        let mut body = String::new();
        if let Some(data) = &request.post_data {
            match body::of_request(data, &recorded.place)? {
                RecordedBody::Text(text) => body = text,
                RecordedBody::Unsendable(why) => step.state = StepState::Impossible(why),
            }
            if content_type.is_none() && !data.mime_type.is_empty() {
                headers.push(("content-type".to_owned(), data.mime_type.clone()));
                content_type = Some(data.mime_type.clone());
            }
        }
        let content_type = content_type.unwrap_or_default();
        let path = recorded.url.path.clone();
        let mut texts = vec![
            SlottedText { slots: slots::of_path(&path), recorded: path },
            SlottedText { slots: bodies::slots(&body, &content_type), recorded: body.clone() },
        ];
        let is_value = |name: &str| !matches!(name, "content-type" | "accept" | "origin");
        texts.extend(headers.iter().map(|(name, value)| SlottedText {
            slots: if is_value(name) { vec![slots::of_header(name, value)] } else { Vec::new() },
            recorded: value.clone(),
        }));
        self.exchanges.push(Exchange {
            texts,
            // What is not sent is not answered.
            response: if step.is_possible() { response(recorded) } else { Response::default() },
            started: recorded.started,
            ended: recorded.ended,
        });
        self.requests.push(Request {
            step,
            body_kind: bodies::kind(&body, &content_type),
            headers: headers.into_iter().map(|(name, _)| name).collect(),
            other_cookies: self.other_cookies(recorded),
            user: recorded.url.user.clone(),
        });
        let names = self.cookies.entry(recorded.url.origin.clone()).or_default();
        names.extend(recorded.entry.response.headers.iter().flat_map(cookies_set));
        Ok(())
    }

    fn target(&mut self, url: &SplitUrl) -> usize {
        if let Some(known) = self.targets.iter().position(|target| target.url == url.origin) {
            return known;
        }
        let name = target_name(&url.host, &mut self.target_names);
        // Like a browser, and each iteration like a new one.
        let cookies =
            ("cookies", "\"iteration\"   # each iteration is a visitor with its own cookies".to_owned());
        self.targets.push(TargetDraft { name, url: url.origin.clone(), keys: vec![cookies] });
        self.targets.len() - 1
    }

    /// The cookies of a request that no response before it set: those that were there when the recording began.
    fn other_cookies(&self, recorded: &Recorded) -> Vec<String> {
        let set = self.cookies.get(&recorded.url.origin);
        let lines = recorded.entry.request.headers.iter().filter(|h| h.name.eq_ignore_ascii_case("cookie"));
        let pairs = lines.flat_map(|header| header.value.split(';'));
        let names = pairs.map(|pair| pair.split('=').next().unwrap_or_default().trim().to_owned());
        names.filter(|name| !name.is_empty() && !set.is_some_and(|set| set.contains(name))).collect()
    }

    pub(super) fn plan(
        mut self,
        name: &str,
        left_out: &LeftOut,
        avoided: &BTreeSet<Origin>,
    ) -> (PlanDraft, Vec<Choice>) {
        let found = correlate(&self.exchanges, avoided);
        let mut notes = left_out.notes();
        let requests = std::mem::take(&mut self.requests);
        let steps: Vec<StepDraft> = requests
            .into_iter()
            .enumerate()
            .map(|(number, request)| self.step(number, request, &found))
            .collect();
        for step in &steps {
            if let StepState::Impossible(why) = &step.state {
                notes.push(format!("`{}` is not sent: {why}", step.name));
            }
        }
        notes.extend(self.unplaced(&found, &steps));
        if self.selection == Selection::Safe && steps.iter().any(|step| !kind::is_safe(&step.method)) {
            notes.push("some steps write, as the recording did: run it where that does no harm".to_owned());
        }
        let choices = found
            .references
            .iter()
            .map(|((step, ..), reference)| Choice::new(*step, reference, &steps))
            .collect();
        let plan = PlanDraft {
            source: name.to_owned(),
            targets: self.targets,
            scenario: "session",
            flow: FlowDraft::Sequence,
            setup: Vec::new(),
            steps,
            variables: self.variables,
            files: Vec::new(),
            notes,
        };
        (plan, choices)
    }

    fn step(&mut self, number: usize, request: Request, found: &Correlation) -> StepDraft {
        let Request { mut step, body_kind, headers, other_cookies, user } = request;
        step.path = self.text(number, PATH, found);
        step.auth = user.as_ref().map(|user| basic_auth(user, &mut self.variables));
        for (index, name) in headers.iter().enumerate() {
            let value = self.text(number, FIRST_HEADER + index, found);
            step.add_header(name, &value);
        }
        if !other_cookies.is_empty() {
            let meaning = format!("the header `cookie`, as `NAME=VALUE; …`, of {}", other_cookies.join(", "));
            step.add_header("cookie", &self.variables.text("COOKIE", &other_cookies.join(" "), &meaning));
        }
        step.body = bodies::draft(self.text(number, BODY, found), body_kind);
        if matches!(step.body, BodyDraft::Json(_)) {
            // `json` sends it.
            let is_default = |(name, value): &(String, Text)| {
                name == "content-type" && *value == Text::literal("application/json")
            };
            step.headers.retain(|header| !is_default(header));
        }
        step.extract = found.extractions[number].clone();
        step
    }

    /// A text with the values that come from elsewhere.
    fn text(&mut self, exchange: usize, text: usize, found: &Correlation) -> Text {
        let SlottedText { recorded, slots } = &self.exchanges[exchange].texts[text];
        let mut filled = Vec::new();
        for (index, slot) in slots.iter().enumerate() {
            let written = match found.references.get(&(exchange, text, index)) {
                Some(reference) => {
                    let value = Text::variable(&reference.name);
                    Some(if reference.is_raw { value } else { slot.kind.written(&value) })
                }
                None => self.variables.of_slot(slot, recorded).map(|value| slot.kind.written(&value)),
            };
            filled.extend(written.map(|written| (slot.range.clone(), written)));
        }
        slots::fill(recorded, &filled)
    }

    /// The values that look as if a response had given them, which are sent as they were recorded.
    fn unplaced(&self, found: &Correlation, steps: &[StepDraft]) -> Vec<String> {
        let mut named = Vec::new();
        for (exchange, text, slot) in &found.unplaced {
            let slot = &self.exchanges[*exchange].texts[*text].slots[*slot];
            // One that is secret is a variable of the environment.
            if crate::secrets::is_secret_name(&slot.name) || look(&slot.value) != Look::Token {
                continue;
            }
            named.push(format!(
                "`{}` sends {} as it was recorded: no earlier response has that value at an unambiguous place",
                steps[*exchange].name,
                slot.kind.describe(&slot.name)
            ));
        }
        let surplus = named.len().saturating_sub(MOST_NAMED);
        named.truncate(MOST_NAMED);
        if surplus > 0 {
            named.push(format!("{surplus} more values are sent as they were recorded"));
        }
        named
    }
}

/// A recorded success is expected, and so is a refusal, after which a session goes on. What failed is not expected to.
fn expect(step: &mut StepDraft, status: i64) {
    match u16::try_from(status) {
        Ok(status @ 200..500) if status != 304 => step.statuses = vec![ExpectedStatus::Exactly(status)],
        Ok(status @ 500..) => {
            step.comments.push(format!("In the recording this request failed, with status {status}."));
        }
        _ => {}
    }
}

/// The headers that belong into a plan, names in lower case; several of one name are one, with all values.
fn kept_headers(recorded: &[NamedValue]) -> Vec<(String, String)> {
    let mut kept: Vec<(String, String)> = Vec::new();
    for NamedValue { name, value } in recorded {
        let name = name.to_ascii_lowercase();
        if name == "cookie" || !kind::is_kept_header(&name) {
            continue;
        }
        let value: String = value.chars().filter(|c| !c.is_control()).collect();
        match kept.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) if *known != value => *known = format!("{known}, {value}"),
            Some(_) => {}
            None => kept.push((name, value)),
        }
    }
    kept
}

fn response(recorded: &Recorded) -> Response {
    let response = &recorded.entry.response;
    // Some browsers join several headers of one name with line breaks.
    let lines = |header: &NamedValue| {
        let name = header.name.to_ascii_lowercase();
        header.value.lines().map(|line| (name.clone(), line.to_owned())).collect::<Vec<_>>()
    };
    Response {
        content_type: response.content.mime_type.to_ascii_lowercase(),
        body: body::of_response(&response.content),
        headers: response.headers.iter().flat_map(lines).collect(),
        has_created: response.status == 201,
    }
}

/// The names of the cookies that a header of a response sets.
fn cookies_set(header: &NamedValue) -> Vec<String> {
    if !header.name.eq_ignore_ascii_case("set-cookie") {
        return Vec::new();
    }
    let name = |line: &str| line.split('=').next().unwrap_or_default().trim().to_owned();
    header.value.lines().map(name).filter(|name| !name.is_empty()).collect()
}
