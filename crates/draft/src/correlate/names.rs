//! Names of values: which are of identifiers, which mean the same, and names of variables.

use std::collections::BTreeSet;

use crate::slots::{Slot, SlotKind};

/// Whether a field of this name identifies something.
pub(super) fn is_identifier(name: &str) -> bool {
    let plain = plain(name);
    let is_of_words = |word: &str| {
        let rest = name.strip_suffix(word);
        rest.is_some_and(|rest| rest.is_empty() || rest.ends_with(['_', '-', '.']) || word.starts_with('I'))
    };
    ["id", "Id", "ID"].into_iter().any(is_of_words)
        || ["uuid", "guid", "key", "token", "number", "code", "ref", "reference", "handle"]
            .contains(&plain.as_str())
        || plain.ends_with("uuid")
        || plain.ends_with("token")
}

/// Whether two names mean the same: equal but for case and separators, or one ends with the other.
pub(super) fn are_alike(a: &str, b: &str) -> bool {
    let (a, b) = (plain(a), plain(b));
    !a.is_empty() && !b.is_empty() && (a == b || a.ends_with(&b) || b.ends_with(&a))
}

fn plain(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Names of variables of a plan.
#[derive(Debug, Default)]
pub(super) struct VariableNames {
    taken: BTreeSet<String>,
}

/// The longest name, in characters.
const MAX_NAME: usize = 40;

impl VariableNames {
    /// A new name after the field that has the value, or after the slot that it is for.
    pub(super) fn new_name(&mut self, produced: &str, slot: &Slot) -> String {
        let (own, of_slot) = (clean(produced), clean(&slot.name));
        let base = match (own.as_str(), slot.kind) {
            (own, SlotKind::PathSegment)
                if !of_slot.is_empty() && (matches!(own, "" | "id") || own == of_slot) =>
            {
                format!("{}_id", singular(&of_slot))
            }
            ("" | "id" | "value" | "key", _) if !of_slot.is_empty() => of_slot,
            ("", _) => "value".to_owned(),
            _ => own,
        };
        let base = match base.as_str() {
            "iteration" | "vu" | "env" | "api" => format!("{base}_value"),
            _ => base,
        };
        let numbered = (2_u64..).map(|number| format!("{base}_{number}"));
        let name = std::iter::once(base.clone()).chain(numbered).find(|name| !self.taken.contains(name));
        let name = name.unwrap_or(base);
        self.taken.insert(name.clone());
        name
    }
}

/// `X-CSRF-Token` as `x_csrf_token`.
fn clean(name: &str) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let name: String = name.chars().map(keep).take(MAX_NAME).collect();
    name.trim_matches('_').to_owned()
}

fn singular(name: &str) -> &str {
    name.strip_suffix('s').filter(|name| name.len() > 2).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_identifiers_are_recognised() {
        for name in ["id", "order_id", "orderId", "ID", "cart-id", "csrfToken", "uuid", "code"] {
            assert!(is_identifier(name), "{name}");
        }
        for name in ["paid", "price", "count", "valid", "page", "quantity"] {
            assert!(!is_identifier(name), "{name}");
        }
        assert!(are_alike("itemId", "item_id") && are_alike("id", "item_id") && !are_alike("price", "page"));
    }

    #[test]
    fn variables_are_named_after_what_they_are() {
        let mut names = VariableNames::default();
        let slot = |name: &str, kind| Slot { range: 0..0, name: name.to_owned(), value: String::new(), kind };
        assert_eq!(names.new_name("id", &slot("orders", SlotKind::PathSegment)), "order_id");
        assert_eq!(names.new_name("id", &slot("orders", SlotKind::PathSegment)), "order_id_2");
        assert_eq!(
            names.new_name("csrfmiddlewaretoken", &slot("x", SlotKind::FormField)),
            "csrfmiddlewaretoken"
        );
        assert_eq!(names.new_name("", &slot("X-CSRF-Token", SlotKind::Header)), "x_csrf_token");
        assert_eq!(names.new_name("env", &slot("", SlotKind::JsonText)), "env_value");
    }
}
