//! Hides what must not get into archives, reports and logs.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use regex::{Captures, Regex, RegexBuilder};

use crate::model::Workload;
use crate::template::push_json_escaped;

#[cfg(test)]
mod tests;

/// What secret values are replaced by.
pub const REDACTED: &str = "[redacted]";

/// Headers that carry secrets whatever the plan says, in lower case.
const HEADERS: [&str; 8] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "set-cookie",
    "x-api-key",
    "x-auth-token",
    "x-amz-security-token",
    "www-authenticate",
];
/// JSON fields that carry secrets whatever the plan says, in lower case.
const FIELDS: [&str; 8] =
    ["password", "secret", "token", "access_token", "refresh_token", "id_token", "client_secret", "api_key"];
/// Values shorter than this are not looked for in texts: they would hide half of any text.
const MIN_VALUE_BYTES: usize = 4;

/// Knows what is secret in one workload.
#[derive(Debug, Clone)]
pub struct Redactor {
    headers: BTreeSet<String>,
    /// Values of environment variables, longest first, so that one inside another does not uncover it.
    values: Vec<String>,
    /// A secret name, in JSON, a form or a query, and the value that follows; none if it could not be built.
    fields: Option<Regex>,
}

impl Redactor {
    /// For `workload`, run with these environment variables, whose values are secret.
    pub fn new(workload: &Workload, env: &BTreeMap<String, String>) -> Redactor {
        let named: Vec<String> = workload.secrets.iter().map(|name| name.to_ascii_lowercase()).collect();
        let headers = HEADERS.iter().map(|name| (*name).to_owned()).chain(named.iter().cloned()).collect();
        let mut values: Vec<String> = env
            .values()
            .filter(|v| v.len() >= MIN_VALUE_BYTES)
            .flat_map(|v| [v.clone(), in_json(v)])
            .collect();
        values.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        values.dedup();
        let mut fields: BTreeSet<String> = FIELDS.iter().map(|name| (*name).to_owned()).collect();
        fields.extend(named);
        Redactor { headers, values, fields: field_pattern(&fields) }
    }

    /// A header's value as it may be shown. The name's case does not matter.
    pub fn header<'a>(&self, name: &str, value: &'a str) -> Cow<'a, str> {
        if self.headers.contains(name.to_ascii_lowercase().as_str()) {
            return Cow::Borrowed(REDACTED);
        }
        self.text(value)
    }

    /// A text as it may be shown: values of environment variables, and what follows a secret name in JSON, in
    /// a form or in a query, are replaced.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut shown = Cow::Borrowed(text);
        for value in &self.values {
            if shown.contains(value.as_str()) {
                shown = Cow::Owned(shown.replace(value.as_str(), REDACTED));
            }
        }
        // Without a pattern nothing can be shown to be harmless.
        let Some(fields) = &self.fields else { return Cow::Borrowed(REDACTED) };
        match fields.replace_all(&shown, hidden) {
            Cow::Borrowed(_) => shown,
            Cow::Owned(replaced) => Cow::Owned(replaced),
        }
    }
}

/// The value as it stands inside a JSON string.
fn in_json(value: &str) -> String {
    let mut escaped = Vec::new();
    push_json_escaped(value.as_bytes(), &mut escaped);
    String::from_utf8_lossy(&escaped).into_owned()
}

/// A secret's name and sign as they were, its value hidden.
fn hidden(found: &Captures<'_>) -> String {
    if let Some(json) = found.name("json") {
        return format!("{}\"{REDACTED}\"", json.as_str());
    }
    format!("{}{REDACTED}", found.name("form").map_or("", |form| form.as_str()))
}

/// Matches `"name": value` of JSON, cut off at any place, and `name=value` of forms and queries.
fn field_pattern(names: &BTreeSet<String>) -> Option<Regex> {
    let names: Vec<_> = names.iter().map(|name| regex::escape(name)).collect();
    let names = names.join("|");
    let value = r#"(?:"(?:[^"\\]|\\.)*(?:"|\\?$)|[^\s",}\]]+)"#;
    let pattern =
        format!(r#"(?s)(?P<json>"(?:{names})"\s*:\s*){value}|(?P<form>(?:^|[?&\s])(?:{names})=)[^&\s]*"#);
    RegexBuilder::new(&pattern).case_insensitive(true).size_limit(8 << 20).build().ok()
}
