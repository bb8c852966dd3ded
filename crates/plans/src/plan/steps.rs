//! Reads steps: `[[setup]]`, `[[scenarios.setup]]`, `[[scenarios.steps]]`.

use std::time::Duration;

use super::default_headers::DefaultHeader;
use super::section::{Item, Section, Span};
use super::step_reader::{StepProtocol, StepReader, check_json_path};
use super::targets::Targets;
use super::value_use::ValueUse;
use super::{expect, request, think};
use workload::model::{Extract, ExtractFrom, Request, Step};
use workload::template::is_name;
use workload::think::Think;

/// The default time limit of a request.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// Keys that are easily written into the scenario instead.
pub(super) const KEYS: &[&str] = &[
    "get", "post", "put", "patch", "delete", "head", "url", "grpc", "method", "headers", "json", "body",
    "message", "expect", "extract", "timeout", "think", "weight",
];
/// Keys of scenarios that are easily written into a step instead.
const KEYS_OF_SCENARIOS: &[&str] =
    &["executor", "rate", "stages", "vus", "iterations", "duration", "max_vus", "phases", "arrivals"];

/// A step, and what the checks of the whole plan need to know of it.
#[derive(Clone)]
pub(super) struct StepDraft {
    /// None if the step has an error. The other fields are set all the same, so that one error causes no others.
    pub(super) step: Option<Step>,
    pub(super) name: Option<String>,
    /// The names of the values it extracts.
    pub(super) extracts: Vec<String>,
    pub(super) span: Span,
    pub(super) weight: Option<u32>,
    pub(super) uses: Vec<ValueUse>,
}

/// Read the steps of `key`, which send these headers unless they have their own.
pub(super) fn read(
    parent: &Section<'_>,
    key: &'static str,
    targets: &Targets,
    headers: &[DefaultHeader],
) -> Vec<StepDraft> {
    parent.tables(key, "a step").iter().map(|section| read_step(section, targets, headers)).collect()
}

/// Read one step, which sends these headers unless it has its own.
pub(super) fn read_step(section: &Section<'_>, targets: &Targets, headers: &[DefaultHeader]) -> StepDraft {
    let mut reader = StepReader { section, targets, of_scenario: headers, uses: Vec::new() };
    let name =
        section.need("name", "`name = \"list\"`, the endpoint's name in every table").and_then(|item| {
            let name = item.text()?;
            if name.is_empty() || name == "all" || name.chars().any(|c| c.is_control() || c == '"') {
                item.wrong("a step's name is not empty, not `all`, and has no quotes or line breaks");
            }
            Some(name.to_owned())
        });
    let weight = section.get("weight").and_then(|item| item.whole(1..=1_000_000)).map(|w| w as u32);
    let request = request::read(&mut reader);
    let is_http = request.as_ref().is_none_or(|r| matches!(r, Request::Http { .. }));
    let protocol = if is_http { StepProtocol::Http } else { StepProtocol::Grpc };
    let expect = expect::read(&mut reader, protocol);
    let extracts = section.entries("extract");
    let extract = extracts.iter().filter_map(read_extract).collect();
    let timeout = section.get("timeout").map_or(Some(DEFAULT_TIMEOUT), |item| {
        item.duration().inspect(|timeout| {
            if timeout.is_zero() {
                item.wrong("a timeout is longer than 0");
            }
        })
    });
    let think = section.get("think").map_or(Some(Think::default()), |item| think::read(&item));
    section.finish_beside(KEYS_OF_SCENARIOS, "the scenario: write it before its steps");
    let step = name.clone().zip(request).zip(timeout).zip(think).zip(expect);
    let step = step.map(|((((name, request), timeout), think), expect)| Step {
        name,
        request,
        timeout,
        think,
        expect,
        extract,
    });
    StepDraft {
        step,
        name,
        extracts: extracts.into_iter().map(|item| item.key).collect(),
        span: section.span.clone(),
        weight,
        uses: reader.uses,
    }
}

/// `name = "$.path"`, or a table with another source of the value.
fn read_extract(item: &Item<'_>) -> Option<Extract> {
    let name = item.key.clone();
    if !is_name(&name) || ["iteration", "vu", "env"].contains(&name.as_str()) {
        item.issues
            .add(&item.key_span, format!("`{name}` cannot name a value; use letters, digits, `_`, `-`"));
    }
    if !item.is_table() {
        return Some(Extract { name, from: json_path(item)? });
    }
    let section = item.section("`extract`")?;
    let json = section.get("json").and_then(|json| json_path(&json));
    let header =
        section.get("header").and_then(|h| Some(ExtractFrom::Header(h.text()?.to_ascii_lowercase())));
    let regex = section.get("regex").and_then(|regex| {
        let text = regex.text()?;
        regex.issues.check(&regex.span(), check_regex(text))?;
        Some(ExtractFrom::Regex(text.to_owned()))
    });
    let is_there = ["json", "header", "regex"].map(|key| section.get(key).is_some());
    section.finish();
    let from = match is_there {
        [true, false, false] => json?,
        [false, true, false] => header?,
        [false, false, true] => regex?,
        [false, true, true] => match (header?, regex?) {
            (ExtractFrom::Header(header), ExtractFrom::Regex(regex)) => {
                ExtractFrom::HeaderRegex { header, regex }
            }
            _ => return None,
        },
        _ => {
            item.wrong(
                "a value comes from one of `json`, `header` and `regex`, from `header` with `regex`, or is a JSON path: \
                 `\"$.token\"`",
            );
            return None;
        }
    };
    Some(Extract { name, from })
}

fn json_path(item: &Item<'_>) -> Option<ExtractFrom> {
    let text = item.text()?;
    item.issues.check(&item.span(), check_json_path(text))?;
    Some(ExtractFrom::Json(text.to_owned()))
}

/// Check that `text` is a regular expression of limited size.
fn check_regex(text: &str) -> Result<(), String> {
    // The parser's message has several lines, which show the place; the last one is the error itself.
    let why = |error: regex::Error| error.to_string().lines().last().unwrap_or_default().to_owned();
    let built = regex::RegexBuilder::new(text).size_limit(1 << 20).build();
    built.map(|_| ()).map_err(|error| format!("`{text}` is not a regular expression: {}", why(error)))
}
