//! Secrets in the requests of others: which names they have, and the environment variables that replace them.

use std::collections::BTreeMap;

/// Parts of the names of headers, cookies and fields whose values are secret, without `-` and `_`.
const PARTS: [&str; 13] = [
    "authorization",
    "cookie",
    "token",
    "secret",
    "password",
    "passwd",
    "apikey",
    "session",
    "csrf",
    "xsrf",
    "credential",
    "signature",
    "otp",
];
/// Whole names.
const NAMES: [&str; 6] = ["auth", "pwd", "pass", "sid", "jwt", "key"];

/// Whether a header, cookie or field of this name has a secret. Rather one too many: its value is easily given.
pub(crate) fn is_secret_name(name: &str) -> bool {
    let plain: String = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    NAMES.contains(&plain.as_str()) || PARTS.iter().any(|part| plain.contains(part))
}

/// An environment variable that a plan uses in place of a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// What its value is.
    pub meaning: String,
}

/// The environment variables of a plan. The values are only kept to use one variable for equal ones.
#[derive(Default)]
pub(crate) struct Variables {
    of_values: BTreeMap<(String, String), String>,
    all: Vec<Variable>,
}

impl std::fmt::Debug for Variables {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Variables").field(&self.all).finish()
    }
}

impl Variables {
    /// `${env.NAME}` in place of `value`; the variable is named after `wanted`.
    pub(crate) fn template(&mut self, wanted: &str, value: &str, meaning: &str) -> String {
        let base = variable_name(wanted);
        let key = (base.clone(), value.to_owned());
        let name = match self.of_values.get(&key) {
            Some(name) => name.clone(),
            None => {
                let taken = |name: &String| self.all.iter().any(|known| known.name == *name);
                let numbered = (2_u64..).map(|number| format!("{base}_{number}"));
                let name = std::iter::once(base.clone()).chain(numbered).find(|name| !taken(name));
                let name = name.unwrap_or(base);
                self.all.push(Variable { name: name.clone(), meaning: meaning.to_owned() });
                self.of_values.insert(key, name.clone());
                name
            }
        };
        format!("${{env.{name}}}")
    }

    /// A header's value with its secret replaced: of credentials the scheme stays.
    pub(crate) fn header(&mut self, name: &str, value: &str) -> String {
        if name == "authorization" || name == "proxy-authorization" {
            return match value.split_once(' ') {
                Some((scheme, rest)) if scheme.chars().all(|c| c.is_ascii_alphanumeric()) => {
                    let wanted = if scheme.eq_ignore_ascii_case("bearer") { "TOKEN" } else { "CREDENTIALS" };
                    let meaning = format!("what follows `{scheme}` in the header `{name}`");
                    format!("{scheme} {}", self.template(wanted, rest.trim(), &meaning))
                }
                _ => self.template("CREDENTIALS", value, &format!("the header `{name}`")),
            };
        }
        self.template(name, value, &format!("the header `{name}`"))
    }

    pub(crate) fn all(&self) -> &[Variable] {
        &self.all
    }
}

/// `x-api-key` as `X_API_KEY`.
fn variable_name(wanted: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    let name: String = wanted.chars().map(keep).take(60).collect();
    let name = name.trim_matches('_');
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        format!("SECRET_{name}").trim_end_matches('_').to_owned()
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_recognised_in_any_spelling() {
        for secret in [
            "Authorization",
            "X-Api-Key",
            "api_key",
            "accessToken",
            "PHPSESSID_session",
            "X-CSRF-Token",
            "sid",
        ] {
            assert!(is_secret_name(secret), "{secret}");
        }
        for plain in ["accept", "content-type", "x-request-id", "q", "page", "user"] {
            assert!(!is_secret_name(plain), "{plain}");
        }
    }

    #[test]
    fn equal_secrets_share_a_variable_and_others_do_not() {
        let mut variables = Variables::default();
        assert_eq!(variables.header("authorization", "Bearer abc"), "Bearer ${env.TOKEN}");
        assert_eq!(variables.header("authorization", "Bearer abc"), "Bearer ${env.TOKEN}");
        assert_eq!(variables.header("authorization", "Bearer def"), "Bearer ${env.TOKEN_2}");
        assert_eq!(variables.header("x-api-key", "k"), "${env.X_API_KEY}");
        assert_eq!(variables.all().len(), 3);
    }
}
