//! Reads the texts of options as templates.

use std::collections::BTreeMap;

use super::names::header_name;
use super::{AdhocError, Sources};
use workload::redact::env_value;
use workload::template::{Part, Template, TemplateError, Value};

/// Reads texts as templates, and collects the environment variables that they use.
pub(super) struct TemplateReader<'a> {
    pub(super) sources: Sources<'a>,
    /// Environment variables, with their values.
    pub(super) used: BTreeMap<String, String>,
}

impl<'a> TemplateReader<'a> {
    pub(super) fn new(sources: Sources<'a>) -> TemplateReader<'a> {
        TemplateReader { sources, used: BTreeMap::new() }
    }

    /// Parse `text` as a template; `option` is the option that contains it. Errors do not show the text, which may be a
    /// secret.
    pub(super) fn template(&mut self, option: &str, text: &str) -> Result<Template, AdhocError> {
        let wrong = |error: TemplateError| {
            let at = text.get(..error.at).map_or(0, |before| before.chars().count()) + 1;
            AdhocError(format!("{option}: {error}, at character {at}"))
        };
        let template = Template::parse(text).map_err(wrong)?;
        self.check_values(option, &template)?;
        Ok(template)
    }

    /// Look up the environment variables of `template`; refuse data and extracted values, which an ad-hoc run does not
    /// have.
    fn check_values(&mut self, option: &str, template: &Template) -> Result<(), AdhocError> {
        for value in template.values() {
            match value {
                Value::Data { .. } | Value::Variable(_) => {
                    return Err(AdhocError(format!(
                        "{option}: `${{{value}}}` has no value here; write `$${{` where `${{` is meant, or use a plan \
                         for data and extracted values"
                    )));
                }
                Value::Env(name) => {
                    let value = env_value(name, self.sources.env)
                        .map_err(|message| AdhocError(format!("{option}: {message}")))?;
                    self.used.insert(name.clone(), value);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// `USER:PASSWORD` of basic authorization; both may be in one value.
    pub(super) fn basic_auth(&mut self, pair: Option<&String>) -> Result<Option<Template>, AdhocError> {
        let Some(pair) = pair else { return Ok(None) };
        let template = self.template("--basic-auth", pair)?;
        match pair.contains(':') || template.as_literal().is_none() {
            true => Ok(Some(template)),
            false => Err(AdhocError("--basic-auth is `user:password`".to_owned())),
        }
    }

    /// Headers from names and values; names in lower case.
    pub(super) fn headers(
        &mut self,
        headers: &[(String, String)],
    ) -> Result<Vec<(String, Template)>, AdhocError> {
        headers.iter().map(|(name, value)| self.header(name, value)).collect()
    }

    fn header(&mut self, name: &str, value: &str) -> Result<(String, Template), AdhocError> {
        let name = header_name(name)?;
        let template = self.template("--header", value)?;
        let has_control = |part: &Part| matches!(part, Part::Literal(text) if text.chars().any(|c| c.is_control() && c != '\t'));
        if template.parts().iter().any(has_control) {
            return Err(AdhocError(format!(
                "the header `{name}` has a line break or another control character"
            )));
        }
        Ok((name, template))
    }
}
