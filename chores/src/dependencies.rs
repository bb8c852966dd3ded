//! Checks all dependencies against `deny.toml`: licences, banned packages, duplicate versions and sources.
//!
//! cargo-deny reads the same file and runs too where it is installed. Building it takes longer than all other checks on a
//! fresh machine, hence this one. What is built is taken from `cargo tree`: `cargo metadata` and `Cargo.lock` also contain
//! packages behind features that are never enabled, such as `ring`.

mod licence;
mod package;
mod policy;

use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};

use self::package::Package;
use self::policy::Policy;
use crate::steps;
use xtask::workspace::Workspace;

const POLICY: &str = "deny.toml";

/// Checks what the workspace builds on this machine.
///
/// # Errors
/// When a dependency violates the policy, or cargo fails.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let text = std::fs::read_to_string(workspace.root().join(POLICY))
        .with_context(|| format!("cannot read {POLICY}"))?;
    let policy = Policy::read(&text)?;
    let packages = packages(workspace)?;
    let complaints = complaints(&packages, &policy);
    complaints.iter().for_each(|complaint| println!("{complaint}"));
    ensure!(complaints.is_empty(), "{} complaints about {} packages", complaints.len(), packages.len());
    println!("dependencies: {} packages, no complaints", packages.len());
    if has_cargo_deny(workspace) {
        let mut command = workspace.cargo();
        command.args(["deny", "check", "licenses", "bans", "sources"]);
        steps::run(command)?;
    }
    Ok(())
}

fn has_cargo_deny(workspace: &Workspace) -> bool {
    let mut command = workspace.cargo();
    command.args(["deny", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn packages(workspace: &Workspace) -> Result<Vec<Package>> {
    let mut command = workspace.cargo();
    command.args(["tree", "--workspace", "--all-features", "--locked", "--edges", "normal,build,dev"]);
    command.args(["--prefix", "none", "--format", package::FORMAT]);
    package::parse(&steps::printed(command.stderr(Stdio::inherit()))?)
}

/// What violates the policy, and what the policy contains in vain.
fn complaints(packages: &[Package], policy: &Policy) -> Vec<String> {
    let mut complaints = Vec::new();
    for package in packages {
        let Package { name, version, licence, source } = package;
        if !licence::is_allowed(licence, &policy.licences) {
            complaints.push(format!(
                "{name} {version}: licence `{licence}` is not allowed; replace the package, or add the licence to {POLICY}"
            ));
        }
        if let Some(ban) = policy.bans.iter().find(|ban| ban.name == *name) {
            complaints.push(format!(
                "{name} {version}: banned ({}); switch off the feature that brings it: `cargo tree -i {name}`",
                ban.reason
            ));
        }
        if let Some(source) = source {
            complaints.push(format!("{name} {version}: is from `{source}`; take it from crates.io"));
        }
        let is_duplicate = packages.iter().any(|other| other.name == *name && other.version != *version);
        let has_newer = packages.iter().any(|other| other.name == *name && other.is_newer_than(package));
        if is_duplicate && has_newer && !policy.skips.iter().any(|skip| skip.matches(package)) {
            complaints.push(format!(
                "{name} {version}: a newer version is built too; update what needs this one, or list `{name}@{version}` \
                 in {POLICY} under `skip` with the reason"
            ));
        }
    }
    for skip in &policy.skips {
        let is_needed = packages.iter().any(|package| {
            skip.matches(package)
                && packages.iter().any(|other| other.name == package.name && other.version != package.version)
        });
        if !is_needed {
            complaints.push(format!(
                "{POLICY}: `{}@{}` under `skip` is not a duplicate; delete it",
                skip.name, skip.version
            ));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY_TEXT: &str = "[licenses]\nallow = [\"MIT\"]\n[bans]\n\
                               deny = [{ crate = \"ring\", reason = \"one provider\" }]\n\
                               skip = [{ crate = \"syn@2\", reason = \"macros\" }]\n";

    fn check_tree(tree: &str, expect: &[&str]) {
        let policy = Policy::read(POLICY_TEXT).expect("well formed");
        let packages = package::parse(tree).expect("well formed");
        assert_eq!(complaints(&packages, &policy), expect, "of {tree}");
    }

    #[test]
    fn allowed_packages_pass() {
        check_tree("a v1.0.0|MIT\nsyn v2.0.1|MIT OR GPL-3.0\nsyn v3.0.0|MIT\nours v0.1.0 (/x)|MIT", &[]);
    }

    #[test]
    fn each_violation_is_named_with_what_to_do() {
        check_tree(
            "ring v0.17.1|MIT\nb v1.2.0|GPL-3.0\nb v1.10.0|MIT\nc v1.0.0 (https://example.com/c#1)|MIT\n\
             syn v2.0.1|MIT\nsyn v3.0.0|MIT",
            &[
                "ring 0.17.1: banned (one provider); switch off the feature that brings it: `cargo tree -i ring`",
                "b 1.2.0: licence `GPL-3.0` is not allowed; replace the package, or add the licence to deny.toml",
                "b 1.2.0: a newer version is built too; update what needs this one, or list `b@1.2.0` in deny.toml \
                 under `skip` with the reason",
                "c 1.0.0: is from `https://example.com/c#1`; take it from crates.io",
            ],
        );
    }

    #[test]
    fn a_skip_that_is_not_needed_is_named() {
        check_tree("syn v2.0.1|MIT", &["deny.toml: `syn@2` under `skip` is not a duplicate; delete it"]);
    }

    #[test]
    fn the_policy_of_this_tree_is_read() {
        let text = include_str!("../../deny.toml");
        let policy = Policy::read(text).expect("it is well formed");
        assert!(policy.bans.iter().any(|ban| ban.name == "ring"));
        assert!(licence::is_allowed("MIT OR Apache-2.0", &policy.licences));
    }
}
