//! A bill of materials as CycloneDX 1.6 (ECMA-424): every package with its version, licence, origin and digest, and which
//! package needs which. The same tree gives the same bytes.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// What `cargo tree --prefix depth` prints of each package.
pub(super) const FORMAT: &str = "|{p}|{l}";

/// The name of a binary's bill.
pub(super) fn file_name(binary: &str) -> String {
    format!("{binary}.cdx.json")
}

/// One version of a package.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Package {
    name: String,
    version: String,
}

impl Package {
    fn reference(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }
}

#[derive(Debug, Default)]
struct Entry {
    licence: String,
    needs: BTreeSet<Package>,
}

/// The bill of the first package of a tree.
///
/// # Errors
/// Names the line that is not a package; when the tree is empty, or `Cargo.lock` cannot be read.
pub(super) fn cyclonedx(tree: &str, lock: &str) -> Result<String> {
    let digests = digests(lock)?;
    let mut entries: BTreeMap<Package, Entry> = BTreeMap::new();
    let mut ancestors: Vec<Package> = Vec::new();
    for text in tree.lines().filter(|line| !line.is_empty()) {
        let line = TreeLine::read(text).with_context(|| format!("cargo tree printed no package: {text}"))?;
        ancestors.truncate(line.depth);
        if let Some(parent) = ancestors.last() {
            entries.entry(parent.clone()).or_default().needs.insert(line.package.clone());
        }
        entries.entry(line.package.clone()).or_default().licence = line.licence;
        ancestors.push(line.package);
    }
    let root = ancestors.first().context("cargo tree printed nothing")?.clone();
    let components: Vec<Value> = entries
        .iter()
        .filter(|(package, _)| **package != root)
        .map(|(package, entry)| component(package, entry, digests.get(package)))
        .collect();
    let dependencies: Vec<Value> =
        entries.iter().map(|(package, entry)| dependency(package, entry)).collect();
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "component": {
            "type": "application",
            "bom-ref": root.reference(),
            "name": root.name,
            "version": root.version,
            "licenses": [{ "expression": entries[&root].licence }],
        }},
        "components": components,
        "dependencies": dependencies,
    });
    Ok(format!("{bill:#}\n"))
}

/// Packages of the workspace have no digest, as they come from no registry.
fn component(package: &Package, entry: &Entry, digest: Option<&String>) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": package.reference(),
        "name": package.name,
        "version": package.version,
        "licenses": [{ "expression": entry.licence }],
    });
    if let Some(digest) = digest {
        // A `+` is encoded: https://github.com/package-url/purl-spec
        let version = package.version.replace('+', "%2B");
        component["purl"] = json!(format!("pkg:cargo/{}@{version}", package.name));
        component["hashes"] = json!([{ "alg": "SHA-256", "content": digest }]);
    }
    component
}

fn dependency(package: &Package, entry: &Entry) -> Value {
    let needs: Vec<String> = entry.needs.iter().map(Package::reference).collect();
    json!({ "ref": package.reference(), "dependsOn": needs })
}

/// A line such as `2|syn v2.0.1 (proc-macro)|MIT OR Apache-2.0 (*)`.
struct TreeLine {
    depth: usize,
    package: Package,
    licence: String,
}

impl TreeLine {
    fn read(text: &str) -> Option<Self> {
        let (depth, rest) = text.split_once('|')?;
        let (package, licence) = rest.split_once('|')?;
        let mut words = package.split_whitespace();
        let package =
            Package { name: words.next()?.to_owned(), version: words.next()?.strip_prefix('v')?.to_owned() };
        // Older packages separate licences by a slash, which SPDX does not know.
        let licence = licence.trim_end_matches("(*)").trim().replace(" / ", "/").replace('/', " OR ");
        Some(Self { depth: depth.parse().ok()?, package, licence })
    }
}

fn digests(lock: &str) -> Result<BTreeMap<Package, String>> {
    let lock = DeTable::parse(lock).context("Cargo.lock is not TOML")?;
    let packages = lock.get_ref().get("package").and_then(|list| list.get_ref().as_array());
    let packages = packages.context("Cargo.lock has no packages")?;
    let digest = |package: &Spanned<DeValue<'_>>| {
        let text = |key: &str| package.get_ref().get(key)?.get_ref().as_str().map(str::to_owned);
        Some((Package { name: text("name")?, version: text("version")? }, text("checksum")?))
    };
    Ok(packages.iter().filter_map(digest).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCK: &str = "[[package]]\nname = \"app\"\nversion = \"0.1.0\"\n\
                        [[package]]\nname = \"b\"\nversion = \"2.0.0+x\"\nchecksum = \"ab\"\n\
                        [[package]]\nname = \"c\"\nversion = \"1.0.0\"\nchecksum = \"cd\"\n";
    const TREE: &str = "0|app v0.1.0 (/x)|MIT\n1|b v2.0.0+x (proc-macro)|MIT/Apache-2.0\n2|c v1.0.0|ISC\n1|c v1.0.0|ISC (*)\n";

    #[test]
    fn a_tree_becomes_components_and_their_dependencies() {
        let bill: Value = serde_json::from_str(&cyclonedx(TREE, LOCK).expect("well formed")).expect("JSON");
        assert_eq!(bill["metadata"]["component"]["name"], "app");
        assert_eq!(
            bill["components"],
            json!([
                { "type": "library", "bom-ref": "b@2.0.0+x", "name": "b", "version": "2.0.0+x",
                  "licenses": [{ "expression": "MIT OR Apache-2.0" }], "purl": "pkg:cargo/b@2.0.0%2Bx",
                  "hashes": [{ "alg": "SHA-256", "content": "ab" }] },
                { "type": "library", "bom-ref": "c@1.0.0", "name": "c", "version": "1.0.0",
                  "licenses": [{ "expression": "ISC" }], "purl": "pkg:cargo/c@1.0.0",
                  "hashes": [{ "alg": "SHA-256", "content": "cd" }] },
            ])
        );
        assert_eq!(
            bill["dependencies"],
            json!([
                { "ref": "app@0.1.0", "dependsOn": ["b@2.0.0+x", "c@1.0.0"] },
                { "ref": "b@2.0.0+x", "dependsOn": ["c@1.0.0"] },
                { "ref": "c@1.0.0", "dependsOn": [] },
            ])
        );
    }

    #[test]
    fn what_is_no_tree_is_an_error() {
        assert!(cyclonedx("", LOCK).is_err());
        assert!(cyclonedx("error: no such package\n", LOCK).is_err());
        assert!(cyclonedx(TREE, "not = [toml").is_err());
    }
}
