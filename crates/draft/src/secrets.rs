//! Secrets in the requests of others: which names they have, and the environment variables that replace them.

use std::collections::BTreeMap;

use crate::slots::{Slot, SlotKind, fill, of_header, of_path};
use crate::text::Text;

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
    /// A variable in place of `value`, named after `wanted`.
    pub(crate) fn text(&mut self, wanted: &str, value: &str, meaning: &str) -> Text {
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
        Text::env(&name)
    }

    /// A variable that is used under this very name.
    pub(crate) fn declare(&mut self, name: &str, meaning: &str) {
        if !self.all.iter().any(|known| known.name == name) {
            self.all.push(Variable { name: name.to_owned(), meaning: meaning.to_owned() });
        }
    }

    /// A variable in place of the value of a slot; none if the slot's name is not that of a secret, or it has no value.
    pub(crate) fn of_slot(&mut self, slot: &Slot, recorded: &str) -> Option<Text> {
        if slot.value.is_empty() || slot.kind == SlotKind::PathSegment || !is_secret_name(&slot.name) {
            return None;
        }
        if slot.kind == SlotKind::JsonNumber {
            return None;
        }
        let scheme = recorded[..slot.range.start].trim_end();
        Some(match (slot.kind, slot.name.as_str()) {
            (SlotKind::Header, "authorization" | "proxy-authorization") if !scheme.is_empty() => {
                let wanted = if scheme.eq_ignore_ascii_case("bearer") { "TOKEN" } else { "CREDENTIALS" };
                let meaning = format!("what follows `{scheme}` in the header `{}`", slot.name);
                self.text(wanted, &slot.value, &meaning)
            }
            (SlotKind::Header, "authorization" | "proxy-authorization") => {
                self.text("CREDENTIALS", &slot.value, &format!("the header `{}`", slot.name))
            }
            (kind, name) => self.text(name, &slot.value, &kind.describe(name)),
        })
    }

    /// `recorded` with variables in place of the values of its secret slots.
    pub(crate) fn in_slots(&mut self, recorded: &str, slots: &[Slot]) -> Text {
        let fill_in = |slot: &Slot| {
            let text = self.of_slot(slot, recorded)?;
            Some((slot.range.clone(), slot.kind.written(&text)))
        };
        let filled: Vec<_> = slots.iter().filter_map(fill_in).collect();
        fill(recorded, &filled)
    }

    /// Path and query as they are sent, in which the values of secret parameters are environment variables.
    pub(crate) fn path(&mut self, path: &str) -> Text {
        self.in_slots(path, &of_path(path))
    }

    /// A header's value with its secret replaced: of credentials the scheme stays.
    pub(crate) fn header(&mut self, name: &str, value: &str) -> Text {
        self.in_slots(value, &[of_header(name, value)])
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
        let mut header = |name, value| variables.header(name, value).source();
        assert_eq!(header("authorization", "Bearer abc"), "Bearer ${env.TOKEN}");
        assert_eq!(header("authorization", "Bearer abc"), "Bearer ${env.TOKEN}");
        assert_eq!(header("authorization", "Bearer def"), "Bearer ${env.TOKEN_2}");
        assert_eq!(header("x-api-key", "k"), "${env.X_API_KEY}");
        assert_eq!(variables.all().len(), 3);
    }

    #[test]
    fn secret_parameters_of_a_path_become_variables_and_nothing_else_does() {
        let path = Variables::default().path("/a/${x}?page=2&api_key=a%2Bc");
        assert_eq!(path.source(), "/a/$${x}?page=2&api_key=${env.API_KEY | url}");
    }
}
