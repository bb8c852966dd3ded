//! Names of targets and steps that a plan accepts, and that are unique in it.

use std::collections::BTreeSet;

/// The longest name, in characters.
const MAX_NAME: usize = 80;

/// The name of a step: `wanted` without what a name may not contain, and with a number where it is taken.
pub(crate) fn step_name(wanted: &str, taken: &mut BTreeSet<String>) -> String {
    let clean: String = wanted.chars().filter(|c| !c.is_control() && *c != '"').take(MAX_NAME).collect();
    let clean = clean.trim();
    let base = if clean.is_empty() || clean == "all" { "request".to_owned() } else { clean.to_owned() };
    unique(base, ' ', taken)
}

/// The name of a target with this host: letters, digits, `-` and `_`.
pub(crate) fn target_name(host: &str, taken: &mut BTreeSet<String>) -> String {
    let keep = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c.to_ascii_lowercase() } else { '-' };
    let clean: String = host.chars().map(keep).take(MAX_NAME).collect();
    let clean = clean.trim_matches('-');
    let is_reserved = clean.is_empty() || ["env", "iteration", "vu", "host", "generator"].contains(&clean);
    unique(if is_reserved { "target".to_owned() } else { clean.to_owned() }, '-', taken)
}

fn unique(base: String, separator: char, taken: &mut BTreeSet<String>) -> String {
    let numbered = (2_u64..).map(|number| format!("{base}{separator}{number}"));
    let name = std::iter::once(base.clone()).chain(numbered).find(|name| !taken.contains(name));
    let name = name.unwrap_or(base);
    taken.insert(name.clone());
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_clean_and_unique() {
        let mut taken = BTreeSet::new();
        assert_eq!(step_name("GET /a\"\n", &mut taken), "GET /a");
        assert_eq!(step_name("GET /a", &mut taken), "GET /a 2");
        assert_eq!(step_name("all", &mut taken), "request");
        let mut taken = BTreeSet::new();
        assert_eq!(target_name("Api.example.com", &mut taken), "api-example-com");
        assert_eq!(target_name("[::1]", &mut taken), "1");
        assert_eq!(target_name("::", &mut taken), "target");
    }
}
