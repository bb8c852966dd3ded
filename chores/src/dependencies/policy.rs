//! What `deny.toml` allows, as far as it is checked without cargo-deny.

use anyhow::{Context as _, Result};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::package::Package;

/// The lists of `deny.toml`.
#[derive(Debug)]
pub(super) struct Policy {
    pub(super) licences: Vec<String>,
    pub(super) bans: Vec<Ban>,
    pub(super) skips: Vec<Skip>,
}

/// A package that must not be built.
#[derive(Debug)]
pub(super) struct Ban {
    pub(super) name: String,
    pub(super) reason: String,
}

/// A version that may be built beside a newer one.
#[derive(Debug)]
pub(super) struct Skip {
    pub(super) name: String,
    /// The first numbers of the version.
    pub(super) version: String,
}

impl Skip {
    pub(super) fn matches(&self, package: &Package) -> bool {
        let rest = package.version.strip_prefix(&self.version);
        self.name == package.name && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

impl Policy {
    /// # Errors
    /// When the text is not TOML, or an entry has not the form that this check reads.
    pub(super) fn read(text: &str) -> Result<Self> {
        let root = DeTable::parse(text).context("deny.toml is not TOML")?;
        let section = |name: &str| root.get_ref().get(name).map(Spanned::get_ref);
        let licences = section("licenses").and_then(|licenses| licenses.get("allow"));
        let licences =
            licences.and_then(|allow| allow.get_ref().as_array()).context("no list `allow` of licences")?;
        let licences = licences.iter().filter_map(|one| one.get_ref().as_str().map(str::to_owned)).collect();
        let entries = |list: &str| {
            let list =
                section("bans").and_then(|bans| bans.get(list)).and_then(|list| list.get_ref().as_array());
            list.into_iter().flatten().map(Spanned::get_ref)
        };
        Ok(Self {
            licences,
            bans: entries("deny").map(ban).collect::<Result<_>>()?,
            skips: entries("skip").map(skip).collect::<Result<_>>()?,
        })
    }
}

fn ban(entry: &DeValue<'_>) -> Result<Ban> {
    Ok(Ban { name: text(entry, "crate")?, reason: text(entry, "reason")? })
}

fn skip(entry: &DeValue<'_>) -> Result<Skip> {
    text(entry, "reason")?;
    let package = text(entry, "crate")?;
    let (name, version) =
        package.split_once('@').with_context(|| format!("write `{package}` under `skip` as NAME@VERSION"))?;
    Ok(Skip { name: name.to_owned(), version: version.to_owned() })
}

fn text(entry: &DeValue<'_>, key: &str) -> Result<String> {
    let value = entry.get(key).and_then(|value| value.get_ref().as_str());
    value.map(str::to_owned).with_context(|| format!("an entry of deny.toml has no text `{key}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skip_matches_whole_numbers_of_a_version() {
        let package = |version: &str| Package {
            name: "syn".to_owned(),
            version: version.to_owned(),
            licence: String::new(),
            source: None,
        };
        let skip = Skip { name: "syn".to_owned(), version: "2.1".to_owned() };
        assert!(skip.matches(&package("2.1")) && skip.matches(&package("2.1.7")));
        assert!(!skip.matches(&package("2.11.0")) && !skip.matches(&package("12.1.0")));
    }

    #[test]
    fn entries_without_a_reason_or_a_version_are_refused() {
        let of = |bans: &str| {
            let text = format!("[licenses]\nallow = []\n[bans]\n{bans}\n");
            Policy::read(&text).map(drop).map_err(|error| error.to_string())
        };
        assert_eq!(of(""), Ok(()));
        let no_reason = "an entry of deny.toml has no text `reason`".to_owned();
        assert_eq!(of("deny = [{ crate = \"a\" }]"), Err(no_reason.clone()));
        assert_eq!(of("skip = [{ crate = \"a@1\" }]"), Err(no_reason));
        let no_version = "write `a` under `skip` as NAME@VERSION".to_owned();
        assert_eq!(of("skip = [{ crate = \"a\", reason = \"b\" }]"), Err(no_version));
        assert!(Policy::read("[licenses]\n").is_err());
    }
}
