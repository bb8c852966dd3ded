//! A plan of a recording (HTTP Archive 1.2, as browsers' developer tools save it): its requests in order, with the
//! pauses between them. <http://www.softwareishard.com/blog/har-12-spec/>

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::address::basic_auth;
use crate::error::DraftError;
use crate::names::{step_name, target_name};
use crate::plan::{
    BodyDraft, Draft, ExpectedStatus, FlowDraft, PlanDraft, Selection, StepDraft, StepState, TargetDraft,
};
use crate::secrets::{Variables, is_secret_name};
use crate::text::Text;
use crate::url::{SplitUrl, path_text, split};
use crate::{MAX_STEPS, body, render};

mod kind;

use kind::{is_of_page, is_static, site};

/// A shorter pause between two requests is none: the browser's, not its user's.
const SHORTEST_THINK: Duration = Duration::from_millis(100);

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    started_date_time: String,
    /// How long the request took, in milliseconds.
    #[serde(default)]
    time: f64,
    request: RecordedRequest,
    #[serde(default)]
    response: RecordedResponse,
    /// What the browser wanted it for.
    #[serde(default, rename = "_resourceType")]
    resource_type: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordedRequest {
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<NamedValue>,
    #[serde(default)]
    post_data: Option<PostData>,
}

#[derive(Debug, Default, Deserialize)]
struct RecordedResponse {
    #[serde(default)]
    status: i64,
    #[serde(default)]
    headers: Vec<NamedValue>,
    #[serde(default)]
    content: Content,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Content {
    #[serde(default)]
    mime_type: String,
}

#[derive(Debug, Deserialize)]
struct NamedValue {
    name: String,
    value: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PostData {
    #[serde(default)]
    mime_type: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    params: Vec<PostParameter>,
}

#[derive(Debug, Deserialize)]
struct PostParameter {
    name: String,
    #[serde(default)]
    value: String,
}

/// An entry with its times and its address.
struct Recorded {
    entry: Entry,
    started: Timestamp,
    ended: Timestamp,
    url: SplitUrl,
}

/// A plan of the recording in `value`, which was read from `name`.
///
/// # Errors
/// [`DraftError`] for the first entry that cannot be read, or if no request is left.
pub fn of_har(name: &str, value: &Value, selection: Selection) -> Result<Draft, DraftError> {
    let mut left_out = LeftOut::default();
    let recorded = read_entries(name, value, &mut left_out)?;
    let mut writer = Writer::new(selection);
    let first_site = recorded.iter().map(|recorded| site(&recorded.url.host)).next().unwrap_or_default();
    let mut last_end: Option<Timestamp> = None;
    for recorded in &recorded {
        let pause = last_end.map(|end| recorded.started.duration_since(end)).unwrap_or_default();
        let pause = Duration::try_from(pause).unwrap_or_default();
        last_end = Some(last_end.map_or(recorded.ended, |end| end.max(recorded.ended)));
        let is_foreign = site(&recorded.url.host) != first_site;
        if selection == Selection::Safe && is_static(recorded.view()) {
            left_out.static_files += 1;
        } else if selection == Selection::Safe && is_foreign {
            left_out.foreign.insert(recorded.url.host.clone());
        } else if writer.steps.len() == MAX_STEPS {
            left_out.surplus += 1;
        } else {
            writer.add(recorded, pause);
        }
    }
    if writer.steps.is_empty() {
        let problem = "has no request that becomes a step; `--all` takes static files and other sites too";
        return Err(DraftError::at(format!("{name}: log.entries"), problem));
    }
    Ok(render::draft(writer.plan(name, &left_out)))
}

/// What becomes no step.
#[derive(Debug, Default)]
struct LeftOut {
    static_files: usize,
    /// The hosts of other sites.
    foreign: BTreeSet<String>,
    /// Requests that no HTTP client sends, or that were never answered.
    not_sent: usize,
    surplus: usize,
}

impl LeftOut {
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.static_files > 0 {
            notes.push(format!("{} static files are left out; `--all` includes them", self.static_files));
        }
        if !self.foreign.is_empty() {
            let hosts: Vec<&str> = self.foreign.iter().take(5).map(String::as_str).collect();
            let more = if self.foreign.len() > 5 { " …" } else { "" };
            notes.push(format!(
                "requests to other sites are left out ({}{more}); `--all` includes them: load only what is yours",
                hosts.join(", ")
            ));
        }
        if self.not_sent > 0 {
            notes.push(format!("{} entries are no requests over HTTP with a response", self.not_sent));
        }
        if self.surplus > 0 {
            notes.push(format!(
                "only the first {MAX_STEPS} requests are in the plan; {} are not",
                self.surplus
            ));
        }
        notes
    }
}

/// All entries that were requests of the page, in the order in which they began.
fn read_entries(name: &str, value: &Value, left_out: &mut LeftOut) -> Result<Vec<Recorded>, DraftError> {
    let entries = value.pointer("/log/entries").and_then(Value::as_array);
    let entries = entries.ok_or_else(|| DraftError::at(format!("{name}: log.entries"), "is no list"))?;
    let mut all = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        let place = format!("{name}: log.entries[{index}]");
        let entry = Entry::deserialize(entry).map_err(|error| DraftError::at(&place, error.to_string()))?;
        let has_scheme = |scheme: &str| entry.request.url.to_ascii_lowercase().starts_with(scheme);
        if !(has_scheme("http://") || has_scheme("https://"))
            || !is_of_page(&entry.request.method, entry.response.status)
        {
            left_out.not_sent += 1;
            continue;
        }
        let at = |field: &str| format!("{place}.{field}");
        let started: Timestamp = entry
            .started_date_time
            .parse()
            .map_err(|_| DraftError::at(at("startedDateTime"), "is no time as `2026-01-31T12:00:00.000Z`"))?;
        let url = split(&entry.request.url).map_err(|why| DraftError::at(at("request.url"), why))?;
        let took = Duration::try_from_secs_f64(entry.time.max(0.0) / 1000.0).unwrap_or_default();
        let ended = started.checked_add(took).unwrap_or(started);
        all.push(Recorded { entry, started, ended, url });
    }
    all.sort_by_key(|recorded| recorded.started);
    Ok(all)
}

impl Recorded {
    fn view(&self) -> kind::RequestView<'_> {
        kind::RequestView {
            path: self.url.path.split('?').next().unwrap_or_default(),
            resource_type: &self.entry.resource_type,
            media_type: &self.entry.response.content.mime_type,
        }
    }
}

/// Makes steps of entries.
struct Writer {
    selection: Selection,
    targets: Vec<TargetDraft>,
    target_names: BTreeSet<String>,
    step_names: BTreeSet<String>,
    steps: Vec<StepDraft>,
    variables: Variables,
    /// The names of the cookies that each origin has set so far.
    cookies: BTreeMap<String, BTreeSet<String>>,
}

impl Writer {
    fn new(selection: Selection) -> Writer {
        Writer {
            selection,
            targets: Vec::new(),
            target_names: BTreeSet::new(),
            step_names: BTreeSet::new(),
            steps: Vec::new(),
            variables: Variables::default(),
            cookies: BTreeMap::new(),
        }
    }

    fn add(&mut self, recorded: &Recorded, pause: Duration) {
        let request = &recorded.entry.request;
        let target = self.target(&recorded.url);
        let path = path_text(&recorded.url.path, &mut self.variables);
        let method = request.method.to_ascii_uppercase();
        let mut step = StepDraft::new(&method, target, path);
        let shown = recorded.url.path.split('?').next().unwrap_or_default();
        step.name = step_name(&format!("{method} {shown}"), &mut self.step_names);
        step.auth = recorded.url.user.as_ref().map(|user| basic_auth(user, &mut self.variables));
        self.add_headers(recorded, &mut step);
        step.body = self.body(request, &mut step);
        if pause >= SHORTEST_THINK {
            // Ten milliseconds are exact enough.
            step.think = Some(Duration::from_millis((pause.as_millis() as u64).div_ceil(10) * 10));
        }
        let status = recorded.entry.response.status;
        match u16::try_from(status) {
            Ok(status @ 200..400) if status != 304 => step.statuses = vec![ExpectedStatus::Exactly(status)],
            Ok(status @ 400..) => {
                step.comments.push(format!("In the recording this request failed, with status {status}."))
            }
            _ => {}
        }
        self.steps.push(step);
        let names = self.cookies.entry(recorded.url.origin.clone()).or_default();
        names.extend(recorded.entry.response.headers.iter().flat_map(cookies_set));
    }

    fn target(&mut self, url: &SplitUrl) -> usize {
        if let Some(known) = self.targets.iter().position(|target| target.url == url.origin) {
            return known;
        }
        let name = target_name(&url.host, &mut self.target_names);
        self.targets.push(TargetDraft { name, url: url.origin.clone(), keys: Vec::new() });
        self.targets.len() - 1
    }

    fn add_headers(&mut self, recorded: &Recorded, step: &mut StepDraft) {
        for NamedValue { name, value } in &recorded.entry.request.headers {
            let name = name.to_ascii_lowercase();
            if name == "cookie" {
                self.add_cookies(&recorded.url.origin, value, step);
            } else if kind::is_kept_header(&name) && !step.has_header(&name) {
                let value = match is_secret_name(&name) {
                    true => self.variables.header(&name, value),
                    false => Text::literal(value),
                };
                step.add_header(&name, &value);
            }
        }
    }

    /// Cookies that the recording's responses set are set again in a run; all others are one variable.
    fn add_cookies(&mut self, origin: &str, value: &str, step: &mut StepDraft) {
        let set = self.cookies.get(origin);
        let names = value.split(';').map(|pair| pair.split('=').next().unwrap_or_default().trim());
        let others: Vec<&str> = names.filter(|name| !set.is_some_and(|set| set.contains(*name))).collect();
        if !others.is_empty() {
            let meaning = format!("the header `cookie`, as `NAME=VALUE; …`, of {}", others.join(", "));
            step.add_header("cookie", &self.variables.text("COOKIE", &others.join(" "), &meaning));
        }
    }

    fn body(&mut self, request: &RecordedRequest, step: &mut StepDraft) -> BodyDraft {
        let Some(data) = &request.post_data else { return BodyDraft::None };
        let content_type = Some(data.mime_type.as_str()).filter(|kind| !kind.is_empty());
        let text = match &data.text {
            Some(text) if !text.is_empty() => text.clone(),
            _ if data.mime_type.contains("x-www-form-urlencoded") => {
                let pairs = data.params.iter().map(|p| format!("{}={}", p.name, p.value));
                pairs.collect::<Vec<_>>().join("&")
            }
            _ => String::new(),
        };
        if data.mime_type.starts_with("multipart/") {
            step.state =
                StepState::Commented("its body, a form with files, is to be written by hand".to_owned());
        }
        let body = body::recorded(&text, content_type, &mut self.variables);
        if let (BodyDraft::Json(_), Some("application/json")) = (&body, content_type) {
            // `json` sends it.
            step.headers.retain(|(name, _)| name != "content-type");
        }
        body
    }

    fn plan(mut self, name: &str, left_out: &LeftOut) -> PlanDraft {
        for target in &mut self.targets {
            if self.cookies.get(&target.url).is_some_and(|names| !names.is_empty()) {
                target.keys.push((
                    "cookies",
                    "true   # each virtual user keeps the cookies that it is sent".to_owned(),
                ));
            }
        }
        let mut notes = left_out.notes();
        if self.selection == Selection::Safe && self.steps.iter().any(|step| !kind::is_safe(&step.method)) {
            notes.push("some steps write, as the recording did: run it where that does no harm".to_owned());
        }
        PlanDraft {
            source: name.to_owned(),
            targets: self.targets,
            scenario: "session",
            flow: FlowDraft::Sequence,
            setup: Vec::new(),
            steps: self.steps,
            variables: self.variables,
            files: Vec::new(),
            notes,
        }
    }
}

/// The names of the cookies that a header of a response sets. Some browsers join several with line breaks.
fn cookies_set(header: &NamedValue) -> Vec<String> {
    if !header.name.eq_ignore_ascii_case("set-cookie") {
        return Vec::new();
    }
    let name = |line: &str| line.split('=').next().unwrap_or_default().trim().to_owned();
    header.value.lines().map(name).filter(|name| !name.is_empty()).collect()
}
