//! Reads steps: `[[setup]]`, `[[scenarios.setup]]`, `[[scenarios.steps]]`.

use std::time::Duration;

use super::expect;
use super::request;
use super::section::{Item, Section, Span};
use super::targets::Targets;
use crate::model::{Extract, ExtractFrom, Step};
use crate::template::{Template, Value, is_name};

/// Due instant of a request → failure.
pub(super) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// A step, and what is needed to check it against the rest of the plan.
pub(super) struct StepDraft {
    /// None if something is wrong with it; the rest is there all the same, so that nothing else is
    /// complained about in vain.
    pub(super) step: Option<Step>,
    pub(super) name: Option<String>,
    /// The names of the values it extracts.
    pub(super) extracts: Vec<String>,
    /// Where it is.
    pub(super) span: Span,
    pub(super) weight: Option<u32>,
    /// Every value it uses, and where.
    pub(super) uses: Vec<(Value, Span)>,
}

/// Reads one step: its section, the values met so far.
pub(super) struct StepReader<'a, 'b> {
    pub(super) section: &'b Section<'a>,
    pub(super) targets: &'b Targets,
    pub(super) uses: Vec<(Value, Span)>,
}

impl<'a> StepReader<'a, '_> {
    /// The template that `item` is.
    pub(super) fn template(&mut self, item: &Item<'a>) -> Option<Template> {
        let template = item.template()?;
        self.uses(&template, &item.span());
        Some(template)
    }

    /// Remember which values `template` uses.
    pub(super) fn uses(&mut self, template: &Template, span: &Span) {
        self.uses.extend(template.values().map(|value| (value.clone(), span.clone())));
    }

    /// Read the texts within `item` as templates, so that what is wrong with one is told at its place.
    /// None if one is no template.
    pub(super) fn inner_templates(&mut self, item: &Item<'a>) -> Option<()> {
        let mut all = Some(());
        for (text, span) in item.texts() {
            match item.issues.check(&span, Template::parse(text)) {
                Some(template) => self.uses(&template, &span),
                None => all = None,
            }
        }
        all
    }

    /// The table `key` of header names and templates; names in lower case.
    pub(super) fn headers(&mut self, key: &'static str) -> Vec<(String, Template)> {
        let mut headers = Vec::new();
        for item in self.section.entries(key) {
            headers.extend(self.header(&item));
        }
        headers
    }

    /// One header.
    pub(super) fn header(&mut self, item: &Item<'a>) -> Option<(String, Template)> {
        let name = item.key.to_ascii_lowercase();
        if !is_header_name(&name) {
            item.issues.add(&item.key_span, format!("`{}` is no header name", item.key));
        }
        let value = self.template(item)?;
        if value.source().chars().any(|c| c.is_control()) {
            item.wrong("a header's value has no line breaks or other control characters");
        }
        Some((name, value))
    }
}

/// A token of RFC 9110, section 5.6.2, or a pseudo-header's name.
fn is_header_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

/// Read the steps of `key`. None of a scenario's set-up has a weight.
pub(super) fn read(parent: &Section<'_>, key: &'static str, targets: &Targets) -> Vec<StepDraft> {
    parent.tables(key, "a step").iter().map(|section| read_step(section, targets)).collect()
}

fn read_step(section: &Section<'_>, targets: &Targets) -> StepDraft {
    let mut reader = StepReader { section, targets, uses: Vec::new() };
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
    let is_http = request.as_ref().is_none_or(|r| matches!(r, crate::model::Request::Http { .. }));
    let expect = expect::read(&mut reader, is_http);
    let extracts = section.entries("extract");
    let extract = extracts.iter().filter_map(read_extract).collect();
    let timeout = section.get("timeout").map_or(Some(DEFAULT_TIMEOUT), |item| {
        item.duration().inspect(|timeout| {
            if timeout.is_zero() {
                item.wrong("a timeout is longer than 0");
            }
        })
    });
    let think = section.get("think").map_or(Some(Duration::ZERO), |item| item.duration());
    section.finish();
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

/// `name = "$.path"`, or a table that says where else the value is.
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
    let given = ["json", "header", "regex"].into_iter().filter(|key| section.get(key).is_some()).count();
    section.finish();
    if given != 1 {
        item.wrong(
            "a value comes from one of `json`, `header` and `regex`, or is a JSON path: `\"$.token\"`",
        );
        return None;
    }
    Some(Extract { name, from: json.or(header).or(regex)? })
}

fn json_path(item: &Item<'_>) -> Option<ExtractFrom> {
    let text = item.text()?;
    item.issues.check(&item.span(), check_json_path(text))?;
    Some(ExtractFrom::Json(text.to_owned()))
}

/// Whether `text` is a regular expression of bearable size.
fn check_regex(text: &str) -> Result<(), String> {
    // The parser draws the place over several lines; the last one says what is wrong.
    let why = |error: regex::Error| error.to_string().lines().last().unwrap_or_default().to_owned();
    let built = regex::RegexBuilder::new(text).size_limit(1 << 20).build();
    built.map(|_| ()).map_err(|error| format!("`{text}` is no regular expression: {}", why(error)))
}

/// Whether `text` is a path of RFC 9535.
pub(super) fn check_json_path(text: &str) -> Result<(), String> {
    let wrong = |error| format!("`{text}` is no JSON path: {error}; write one like `$.items[0].id`");
    serde_json_path::JsonPath::parse(text).map(|_| ()).map_err(wrong)
}
