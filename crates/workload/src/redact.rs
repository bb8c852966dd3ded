//! Redaction: removes secrets from archives, reports and logs.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use regex::{Captures, Regex, RegexBuilder};

use crate::address::percent_decoded;
use crate::model::{Request, Workload};
use crate::observation::filled;
use crate::secret_address::{Secrets, secrets_of};
use crate::template::{Template, Value, push_json_escaped};

pub use crate::secret_address::{REDACTED, shown as shown_address};

mod command_line;
mod cut;
mod stored;
#[cfg(test)]
mod tests;

/// Headers that are secret in every plan, in lower case.
const HEADERS: [&str; 16] = [
    "authorization",
    "proxy-authorization",
    "cookie",
    "set-cookie",
    "www-authenticate",
    "proxy-authenticate",
    "api-key",
    "x-api-key",
    "x-goog-api-key",
    "x-auth-token",
    "x-access-token",
    "x-session-token",
    "x-csrf-token",
    "x-vault-token",
    "x-amz-security-token",
    "private-token",
];
/// JSON fields that are secret in every plan, in lower case.
const FIELDS: [&str; 8] =
    ["password", "secret", "token", "access_token", "refresh_token", "id_token", "client_secret", "api_key"];
/// Shorter values of environment variables cannot be searched in texts, since they would hide half of any text: a plan
/// that uses one is refused.
const MIN_VALUE_CHARS: usize = 4;
/// The same for values found in secret headers and fields, which may be common words.
const MIN_FOUND_BYTES: usize = 6;

/// Characters that stay as they are in a percent-encoded secret (RFC 3986, section 2.3).
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// The same in a form, where a blank becomes `+` (WHATWG URL, section 5.2).
const FORM_ENCODED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'*').remove(b' ');

/// The value of the environment variable `name`, which can be hidden wherever it appears. An empty one hides nothing.
///
/// # Errors
/// A message, if it is not set, or too short to be hidden.
pub fn env_value(name: &str, env: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let value = env(name)
        .ok_or_else(|| format!("the environment variable `{name}` is not set: `export {name}=…`"))?;
    match value.chars().count() {
        1..MIN_VALUE_CHARS => Err(format!(
            "the environment variable `{name}` is too short to be hidden in reports: use a value of at least \
             {MIN_VALUE_CHARS} characters, or write one that is not a secret into the plan"
        )),
        _ => Ok(value),
    }
}

/// Whether a header of this name, in whatever case, is secret in every plan and script.
pub fn is_secret_header_name(name: &str) -> bool {
    HEADERS.iter().any(|known| known.eq_ignore_ascii_case(name))
}

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
        let secrets =
            env.values().cloned().chain(address_secrets(workload, env)).chain(credentials(workload, env));
        redactor.add(secrets.filter(|value| value.chars().count() >= MIN_VALUE_CHARS));
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
            if self.is_secret_name(&name) {
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

    /// Whether a header of this name is secret, in this case.
    fn is_secret_name(&self, name: &str) -> bool {
        self.headers.contains(name.to_ascii_lowercase().as_str())
    }

    /// Whether a request must lose this header when it is redirected to another origin: by its name.
    pub fn is_secret_header(&self, name: &[u8]) -> bool {
        str::from_utf8(name).is_ok_and(|name| self.is_secret_name(name))
    }

    /// The same by its value: one from the environment or from a response, or of a column with a secret name.
    pub fn is_secret_value(&self, value: &Template) -> bool {
        value.values().any(|value| match value {
            Value::Env(_) | Value::Variable(_) => true,
            Value::Data { column, .. } => self.names.contains(column.to_ascii_lowercase().as_str()),
            _ => false,
        })
    }

    fn add(&mut self, values: impl Iterator<Item = String>) {
        self.values.extend(values.flat_map(|value| {
            let url = utf8_percent_encode(&value, ENCODED).to_string();
            let form = utf8_percent_encode(&value, FORM_ENCODED).to_string().replace(' ', "+");
            [in_json(&value), with_lower_escapes(&url), url, with_lower_escapes(&form), form, value]
        }));
        self.values.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        self.values.dedup();
    }

    /// A header's value, redacted. The name's case does not matter.
    pub fn header<'a>(&self, name: &str, value: &'a str) -> Cow<'a, str> {
        if self.is_secret_name(name) {
            return Cow::Borrowed(REDACTED);
        }
        self.text(value)
    }

    /// A text without secret values.
    pub fn without_values<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut shown = Cow::Borrowed(text);
        for value in &self.values {
            if shown.contains(value.as_str()) {
                shown = Cow::Owned(shown.replace(value.as_str(), REDACTED));
            }
        }
        shown
    }

    /// A text, redacted: secret values, and the values of secret names in JSON, in a form or in a query, are replaced.
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let shown = self.without_values(text);
        // Without the pattern secrets cannot be found, so the whole text is replaced.
        let Some(fields) = &self.fields else { return Cow::Borrowed(REDACTED) };
        match fields.replace_all(&shown, replacement) {
            Cow::Borrowed(_) => shown,
            Cow::Owned(replaced) => Cow::Owned(replaced),
        }
    }
}

/// The secrets in the addresses of observers and proxies.
fn address_secrets(workload: &Workload, env: &BTreeMap<String, String>) -> Vec<String> {
    let targets = workload.targets.values();
    let observed = targets.clone().flat_map(|target| target.observe.urls());
    let addresses: Vec<String> = observed.map(|url| filled(url, env)).collect();
    let mut secrets = Vec::new();
    for address in &addresses {
        match secrets_of(address) {
            Secrets::User(user) => secrets.extend(secrets_of_user(user)),
            Secrets::Values(values) => secrets.extend(values.into_iter().map(str::to_owned)),
        }
    }
    let proxies = targets.filter_map(|target| target.connecting.proxy.as_ref()?.authorization());
    secrets.extend(proxies.flat_map(|value| secrets_of_header("proxy-authorization", &value)));
    secrets
}

/// The password of `USER:PASSWORD` in a URL, as it is written and decoded, and the credentials that are sent.
fn secrets_of_user(user: &str) -> Vec<String> {
    if user.is_empty() {
        return Vec::new();
    }
    let decoded = percent_decoded(user);
    let passwords = [user, &decoded].map(|user| user.split_once(':').map_or(user, |(_, password)| password));
    let [written, plain] = passwords.map(str::to_owned);
    // In the manner of tokens: a user with an empty password.
    let pair = if user.contains(':') { decoded } else { decoded + ":" };
    vec![written, plain, basic_credentials(&pair)]
}

/// The passwords of basic authorization, and the credentials that are sent, where they are known before the run.
fn credentials(workload: &Workload, env: &BTreeMap<String, String>) -> Vec<String> {
    let pairs = workload.steps().filter_map(|step| match &step.request {
        Request::Http { options, .. } => options.basic_auth.as_ref(),
        Request::Grpc { .. } => None,
    });
    let known = pairs.filter(|pair| pair.values().all(|value| matches!(value, Value::Env(_))));
    known
        .flat_map(|pair| {
            let pair = filled(pair.source(), env);
            let password = pair.split_once(':').map_or(String::new(), |(_, password)| password.to_owned());
            [basic_credentials(&pair), password]
        })
        .collect()
}

/// `USER:PASSWORD` as basic authorization sends it (RFC 7617).
fn basic_credentials(pair: &str) -> String {
    STANDARD.encode(pair)
}

/// The value, escaped for a JSON string.
fn in_json(value: &str) -> String {
    let mut escaped = Vec::new();
    push_json_escaped(value.as_bytes(), &mut escaped);
    String::from_utf8_lossy(&escaped).into_owned()
}

/// The percent-encoded text with the digits of its escapes in lower case, as some servers write them.
fn with_lower_escapes(encoded: &str) -> String {
    let mut lowered = encoded.to_owned();
    for (at, _) in encoded.match_indices('%') {
        if let Some(digits) = lowered.get_mut(at + 1..at + 3) {
            digits.make_ascii_lowercase();
        }
    }
    lowered
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
    let credentials = value.trim().split_once(' ').map(|(_, rest)| rest.trim());
    let decoded = credentials.and_then(|text| String::from_utf8(STANDARD.decode(text).ok()?).ok());
    secrets.extend(decoded.and_then(|pair| Some(pair.split_once(':')?.1.to_owned())));
    secrets.extend(credentials.map(str::to_owned));
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
