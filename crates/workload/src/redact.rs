//! Redaction: removes secrets from archives, reports and logs.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use regex::{Captures, Regex, RegexBuilder};

use crate::model::Workload;
use crate::template::push_json_escaped;

mod stored;
#[cfg(test)]
mod tests;

/// The replacement of secret values.
pub const REDACTED: &str = "[redacted]";

/// Headers that are secret in every plan, in lower case.
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
/// JSON fields that are secret in every plan, in lower case.
const FIELDS: [&str; 8] =
    ["password", "secret", "token", "access_token", "refresh_token", "id_token", "client_secret", "api_key"];
/// Shorter values of environment variables are not searched in texts: they would hide half of any text.
const MIN_VALUE_BYTES: usize = 4;
/// The same for values found in secret headers and fields, which may be common words.
const MIN_FOUND_BYTES: usize = 6;

/// The secrets of one workload.
#[derive(Debug, Clone)]
pub struct Redactor {
    headers: BTreeSet<String>,
    /// Secret JSON fields, form fields and query parameters, in lower case.
    names: BTreeSet<String>,
    /// Secret values, longest first, so that a value that contains another is hidden as a whole.
    values: Vec<String>,
    /// Matches a secret name in JSON, a form or a query, and the value after it; none if it could not be built.
    fields: Option<Regex>,
}

impl Redactor {
    /// The redactor of `workload`; the values of the environment variables `env` are secret.
    pub fn new(workload: &Workload, env: &BTreeMap<String, String>) -> Redactor {
        let named: Vec<String> = workload.secrets.iter().map(|name| name.to_ascii_lowercase()).collect();
        let headers = HEADERS.iter().map(|name| (*name).to_owned()).chain(named.iter().cloned()).collect();
        let mut names: BTreeSet<String> = FIELDS.iter().map(|name| (*name).to_owned()).collect();
        names.extend(named);
        let fields = field_pattern(&names);
        let mut redactor = Redactor { headers, names, values: Vec::new(), fields };
        redactor.add(env.values().filter(|v| v.len() >= MIN_VALUE_BYTES).cloned());
        redactor
    }

    /// The redactor of one exchange: values of its secret headers and fields are hidden in all of it, such as a token
    /// that a server repeats in another field, or that a failed check quotes.
    pub fn of_exchange<'a>(
        &self,
        headers: impl IntoIterator<Item = (Cow<'a, str>, Cow<'a, str>)>,
        texts: &[Cow<'_, str>],
    ) -> Redactor {
        let mut secrets = Vec::new();
        for (name, value) in headers {
            if self.headers.contains(name.to_ascii_lowercase().as_str()) {
                secrets.extend(secrets_of_header(&name.to_ascii_lowercase(), &value));
            }
        }
        for found in self.fields.iter().flat_map(|f| texts.iter().flat_map(|text| f.captures_iter(text))) {
            secrets.push(value_of(&found).to_owned());
        }
        let mut redactor = self.clone();
        redactor.add(secrets.into_iter().filter(|value| value.len() >= MIN_FOUND_BYTES && value != REDACTED));
        redactor
    }

    fn add(&mut self, values: impl Iterator<Item = String>) {
        self.values.extend(values.flat_map(|value| [in_json(&value), value]));
        self.values.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        self.values.dedup();
    }

    /// A header's value, redacted. The name's case does not matter.
    pub fn header<'a>(&self, name: &str, value: &'a str) -> Cow<'a, str> {
        if self.headers.contains(name.to_ascii_lowercase().as_str()) {
            return Cow::Borrowed(REDACTED);
        }
        self.text(value)
    }

    /// A text, redacted: secret values, and the values of secret names in JSON, in a form or in a query, are replaced.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut shown = Cow::Borrowed(text);
        for value in &self.values {
            if shown.contains(value.as_str()) {
                shown = Cow::Owned(shown.replace(value.as_str(), REDACTED));
            }
        }
        // Without the pattern secrets cannot be found, so the whole text is replaced.
        let Some(fields) = &self.fields else { return Cow::Borrowed(REDACTED) };
        match fields.replace_all(&shown, replacement) {
            Cow::Borrowed(_) => shown,
            Cow::Owned(replaced) => Cow::Owned(replaced),
        }
    }
}

/// The value, escaped for a JSON string.
fn in_json(value: &str) -> String {
    let mut escaped = Vec::new();
    push_json_escaped(value.as_bytes(), &mut escaped);
    String::from_utf8_lossy(&escaped).into_owned()
}

/// The secrets in the value of a secret header: the whole value, the part after the scheme, values of cookies.
fn secrets_of_header(name: &str, value: &str) -> Vec<String> {
    let mut secrets = vec![value.trim().to_owned()];
    let pairs = match name {
        "cookie" => value.split(';').collect(),
        // The pairs after the first are the cookie's attributes.
        "set-cookie" => value.split(';').take(1).collect(),
        _ => Vec::new(),
    };
    secrets.extend(pairs.iter().filter_map(|pair| Some(pair.split_once('=')?.1.trim().to_owned())));
    secrets.extend(value.trim().split_once(' ').map(|(_, rest)| rest.trim().to_owned()));
    secrets
}

/// The value after a secret name, without its quotes.
fn value_of<'t>(found: &Captures<'t>) -> &'t str {
    let name = found.name("json").or_else(|| found.name("form"));
    let whole = found.get_match();
    let value = &whole.as_str()[name.map_or(0, |name| name.len())..];
    value.strip_prefix('"').map_or(value, |inner| inner.strip_suffix('"').unwrap_or(inner))
}

/// The secret's name and separator, unchanged, and the replacement of its value.
fn replacement(found: &Captures<'_>) -> String {
    if let Some(json) = found.name("json") {
        return format!("{}\"{REDACTED}\"", json.as_str());
    }
    format!("{}{REDACTED}", found.name("form").map_or("", |form| form.as_str()))
}

/// Matches `"name": value` of JSON, also of truncated JSON, and `name=value` of forms and queries.
fn field_pattern(names: &BTreeSet<String>) -> Option<Regex> {
    let names: Vec<_> = names.iter().map(|name| regex::escape(name)).collect();
    let names = names.join("|");
    let value = r#"(?:"(?:[^"\\]|\\.)*(?:"|\\?$)|[^\s",}\]]+)"#;
    let pattern =
        format!(r#"(?s)(?P<json>"(?:{names})"\s*:\s*){value}|(?P<form>(?:^|[?&\s])(?:{names})=)[^&\s]*"#);
    RegexBuilder::new(&pattern).case_insensitive(true).size_limit(8 << 20).build().ok()
}
