//! What the readers of all kinds of steps share.

use super::default_headers::{DefaultHeader, read_header};
use super::section::{Item, Section, Span};
use super::targets::Targets;
use super::value_use::ValueUse;
use workload::template::{Template, Value};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum StepProtocol {
    Http,
    Grpc,
}

/// Reads one step.
pub(super) struct StepReader<'a, 'b> {
    pub(super) section: &'b Section<'a>,
    pub(super) targets: &'b Targets,
    /// The headers that its scenario sets for its steps.
    pub(super) of_scenario: &'b [DefaultHeader],
    /// The values that the step's templates use, as far as they are read.
    pub(super) uses: Vec<ValueUse>,
}

impl<'a> StepReader<'a, '_> {
    /// The template that `item` is.
    pub(super) fn template(&mut self, item: &Item<'a>) -> Option<Template> {
        let template = item.template()?;
        self.add_uses(&template, &item.span());
        Some(template)
    }

    /// Record which values `template` uses.
    pub(super) fn add_uses(&mut self, template: &Template, span: &Span) {
        self.add_uses_of(template, span, false);
    }

    fn add_uses_of(&mut self, template: &Template, span: &Span, is_of_default: bool) {
        let of = |value: &Value| ValueUse { value: value.clone(), span: span.clone(), is_of_default };
        self.uses.extend(template.values().map(of));
    }

    /// Read the texts within `item` as templates, so that an error in one is reported at its place. None if one is no
    /// template.
    pub(super) fn inner_templates(&mut self, item: &Item<'a>) -> Option<()> {
        let mut all = Some(());
        for (text, span) in item.texts() {
            match item.issues.check(&span, Template::parse(text)) {
                Some(template) => self.add_uses(&template, &span),
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

    /// Adds the headers that the scenario, and after it the target, set for steps that have none of that name. Credentials of
    /// the step's own take the place of theirs.
    pub(super) fn add_default_headers(&mut self, headers: &mut Vec<(String, Template)>, target: &str) {
        let of_target = self.targets.headers.get(target).into_iter().flatten();
        for DefaultHeader { name, value, span } in self.of_scenario.iter().chain(of_target) {
            let has_own_credentials = name == "authorization" && self.section.get("auth").is_some();
            if has_own_credentials || headers.iter().any(|(own, _)| own == name) {
                continue;
            }
            self.add_uses_of(value, span, true);
            headers.push((name.clone(), value.clone()));
        }
    }

    pub(super) fn header(&mut self, item: &Item<'a>) -> Option<(String, Template)> {
        let (name, value) = read_header(item)?;
        self.add_uses(&value, &item.span());
        Some((name, value))
    }

    /// Whether `compress` is given with `gzip`, the only coding of requests.
    pub(super) fn compress(&self) -> bool {
        let Some(item) = self.section.get("compress") else { return false };
        match item.text() {
            Some("gzip") => true,
            Some(other) => {
                item.wrong(format!("`{other}` is not known; the only compression of requests is `\"gzip\"`"));
                false
            }
            None => false,
        }
    }

    /// Report a key that this kind of step does not have.
    pub(super) fn refuse_key(&self, key: &'static str, why: &str) {
        if let Some(item) = self.section.get(key) {
            item.issues.add(&item.key_span, format!("`{key}` {why}"));
        }
    }
}

/// Check that `text` is a path of RFC 9535.
pub(super) fn check_json_path(text: &str) -> Result<(), String> {
    let wrong = |error| format!("`{text}` is not a JSON path: {error}; write one like `$.items[0].id`");
    serde_json_path::JsonPath::parse(text).map(|_| ()).map_err(wrong)
}
