//! The redacted workload for the archive. Values that are not known before the run are in it by name only; what must
//! be hidden are secrets that the plan contains literally.

use serde_json::Value as Json;

use super::{REDACTED, Redactor, shown_address};
use crate::model::{ReadyProbe, Request, Step, Workload};
use crate::template::{Part, Template, Value};

impl Redactor {
    /// `workload` without secrets that its plan contains literally: a password in a body, a token in a header.
    pub fn stored(&self, workload: &Workload) -> Workload {
        let mut stored = workload.clone();
        for target in stored.targets.values_mut() {
            target.observe.urls_mut().for_each(|url| *url = shown_address(url));
            if let Some(ReadyProbe::Url(url)) = target.wait_ready.as_mut().map(|wait| &mut wait.probe) {
                *url = shown_address(url);
            }
        }
        let flows = stored.scenarios.iter_mut().flat_map(|s| s.setup.iter_mut().chain(s.flow.steps_mut()));
        stored.setup.iter_mut().chain(flows).for_each(|step| self.hide_in_step(step));
        stored
    }

    fn hide_in_step(&self, step: &mut Step) {
        match &mut step.request {
            Request::Http { path, headers, body, options, .. } => {
                if let Some(auth) = options.basic_auth.as_mut().filter(|auth| !is_password_by_name(auth)) {
                    *auth = Template::literal(REDACTED);
                }
                self.hide_in_headers(headers);
                self.hide_in_text(path);
                self.hide_in_text(body);
            }
            Request::Grpc { metadata, message, call, .. } => {
                self.hide_in_headers(metadata);
                std::iter::once(message).chain(&mut call.then).for_each(|message| self.hide_in_json(message));
            }
        }
        self.hide_in_headers(&mut step.expect.headers);
        step.expect.body_contains.iter_mut().for_each(|text| self.hide_in_text(text));
        for (path, expected) in &mut step.expect.json {
            let last = path.rsplit(['.', '[', '\'', '"']).find(|part| !matches!(*part, "" | "]"));
            if last.is_some_and(|name| self.names.contains(name.to_ascii_lowercase().as_str())) {
                *expected = Json::from(REDACTED);
            }
            self.hide_in_json(expected);
        }
    }

    fn hide_in_headers(&self, headers: &mut [(String, Template)]) {
        for (name, value) in headers {
            if self.is_secret_name(name) && !is_by_name(value) {
                *value = Template::literal(REDACTED);
            }
            self.hide_in_text(value);
        }
    }

    fn hide_in_text(&self, text: &mut Template) {
        let shown = self.text(text.source());
        if shown != text.source() {
            // The replacement may have cut a value in half, or replaced one text of a choice.
            let is_choice = text.values().any(|value| matches!(value, Value::Choice(_)));
            let parsed = Template::parse(&shown).ok().filter(|_| !is_choice);
            *text = parsed.unwrap_or_else(|| Template::literal(REDACTED));
        }
    }

    fn hide_in_json(&self, json: &mut Json) {
        match json {
            Json::Object(fields) => {
                for (name, value) in fields {
                    match self.names.contains(name.to_ascii_lowercase().as_str()) {
                        true => *value = Json::from(REDACTED),
                        false => self.hide_in_json(value),
                    }
                }
            }
            Json::Array(items) => items.iter_mut().for_each(|item| self.hide_in_json(item)),
            Json::String(text) => *text = self.text(text).into_owned(),
            Json::Null | Json::Bool(_) | Json::Number(_) => {}
        }
    }
}

/// Whether the password of `USER:PASSWORD` is a value, not literal text.
fn is_password_by_name(auth: &Template) -> bool {
    let after = |text: &str| text.split_once(':').is_none_or(|(_, password)| password.is_empty());
    auth.as_literal().is_none()
        && auth.parts().iter().all(|part| !matches!(part, Part::Literal(text) if !after(text)))
        && auth.parts().last().is_some_and(|part| part.value().is_some())
}

/// Whether all of a header but its scheme is a value, not literal text: `Bearer ${env.TOKEN}`.
fn is_by_name(value: &Template) -> bool {
    let is_scheme =
        |text: &str| text.trim_end().chars().all(|c| c.is_ascii_alphabetic()) && text.ends_with(' ');
    value.as_literal().is_none()
        && value.parts().iter().enumerate().all(|(index, part)| match part {
            Part::Literal(text) => index == 0 && is_scheme(text),
            _ => true,
        })
}
