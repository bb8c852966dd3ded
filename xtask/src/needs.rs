//! Programs from the system that the build and its checks call, and where Debian keeps them.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::steps;

/// One program.
pub(crate) struct Need {
    binary: &'static str,
    package: &'static str,
    why: &'static str,
}

/// What `cargo xtask test` cannot do without. A browser is not among them: only whoever renews the
/// screenshot in the README needs one.
pub(crate) const NEEDS: &[Need] = &[
    Need { binary: "cc", package: "build-essential", why: "compiles SQLite" },
    Need { binary: "git", package: "git", why: "lists the files that `tidy` looks at" },
];

/// Installs what is missing, where this is allowed.
///
/// # Errors
/// Names the packages to install when this process may not, and fails when installing failed.
pub(crate) fn provide(needs: &[Need]) -> Result<()> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<_> = std::env::split_paths(&path).collect();
    let missing: Vec<&Need> =
        needs.iter().filter(|need| !folders.iter().any(|folder| folder.join(need.binary).exists())).collect();
    if missing.is_empty() {
        return Ok(());
    }
    if !may_install() {
        bail!("{}", request(&missing));
    }
    for need in missing {
        println!("installing {} ({} {})", need.package, need.binary, need.why);
        install(need.package)?;
    }
    Ok(())
}

fn request(missing: &[&Need]) -> String {
    let mut text = String::from("missing:");
    for need in missing {
        text.push_str(&format!(" `{}` ({});", need.binary, need.why));
    }
    let packages: Vec<&str> = missing.iter().map(|need| need.package).collect();
    format!("{text} run `apt-get install {}` or install them your system's way", packages.join(" "))
}

fn may_install() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let root = std::fs::metadata("/proc/self").is_ok_and(|itself| itself.uid() == 0);
    root && Path::new("/usr/bin/apt-get").exists()
}

/// A fresh image has no package lists: they are fetched only if the first attempt shows that they lack.
fn install(package: &str) -> Result<()> {
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        steps::run(command)
    };
    let attempt = ["install", "--yes", "--no-install-recommends", package];
    apt(&attempt).or_else(|_| {
        apt(&["update"])?;
        apt(&attempt)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_not_asked_for() {
        provide(&[Need { binary: "sh", package: "dash", why: "runs" }]).expect("every system has a shell");
    }

    #[test]
    fn what_is_missing_is_named_with_its_reason() {
        assert_eq!(
            request(&[&NEEDS[0], &NEEDS[1]]),
            "missing: `cc` (compiles SQLite); `git` (lists the files that `tidy` looks at); run `apt-get install \
             build-essential git` or install them your system's way"
        );
    }
}
