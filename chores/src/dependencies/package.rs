//! The packages that `cargo tree` lists.

use anyhow::{Context as _, Result};

/// What `cargo tree` prints of each package.
pub(super) const FORMAT: &str = "{p}|{l}";

/// One version of a package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) version: String,
    /// An SPDX expression; empty when the package has none.
    pub(super) licence: String,
    /// Where it comes from, unless that is crates.io or the workspace.
    pub(super) source: Option<String>,
}

impl Package {
    /// Whether its version is higher, by its numbers.
    pub(super) fn is_newer_than(&self, other: &Self) -> bool {
        numbers(&self.version) > numbers(&other.version)
    }
}

fn numbers(version: &str) -> Vec<u64> {
    version.split(['.', '+', '-']).map_while(|part| part.parse().ok()).collect()
}

/// Reads lines such as `syn v2.0.1 (proc-macro)|MIT OR Apache-2.0`, each package once.
///
/// # Errors
/// Names the line that is none of these.
pub(super) fn parse(tree: &str) -> Result<Vec<Package>> {
    let mut packages = Vec::new();
    for line in tree.lines().filter(|line| !line.trim().is_empty()) {
        let package = package(line).with_context(|| format!("cargo tree printed no package: {line}"))?;
        if !packages.contains(&package) {
            packages.push(package);
        }
    }
    Ok(packages)
}

fn package(line: &str) -> Option<Package> {
    let (package, licence) = line.split_once('|')?;
    let mut words = package.split_whitespace();
    let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
    let mut notes = words.map(|word| word.trim_matches(['(', ')']));
    let source = notes.find(|note| !matches!(*note, "proc-macro" | "*") && !note.starts_with('/'));
    Some(Package {
        name: name.to_owned(),
        version: version.to_owned(),
        licence: licence.trim_end_matches("(*)").trim().to_owned(),
        source: source.map(str::to_owned),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_every_shape_are_read_once() {
        let tree = "engine v0.1.0 (/x/crates/engine)|MIT OR Apache-2.0\nsyn v2.0.1 (proc-macro)|MIT\n\n\
                    syn v2.0.1 (proc-macro)|MIT (*)\ngit v1.0.0 (https://example.com/git#12)|\n";
        let found = parse(tree).expect("well formed");
        let found: Vec<_> =
            found.iter().map(|p| (p.name.as_str(), p.licence.as_str(), p.source.as_deref())).collect();
        let expect = [
            ("engine", "MIT OR Apache-2.0", None),
            ("syn", "MIT", None),
            ("git", "", Some("https://example.com/git#12")),
        ];
        assert_eq!(found, expect);
        assert!(parse("error: no such package").is_err());
    }

    #[test]
    fn versions_are_compared_by_number() {
        let of = |version: &str| Package {
            name: "a".to_owned(),
            version: version.to_owned(),
            licence: String::new(),
            source: None,
        };
        assert!(of("1.10.0").is_newer_than(&of("1.9.9+spec-1")));
        assert!(!of("1.9.9").is_newer_than(&of("1.9.9")));
    }
}
