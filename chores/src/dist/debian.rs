//! A Debian package, made by Debian's own `dpkg-deb`.

use std::process::Command;

use anyhow::{Context as _, Result};

use super::release::{DESCRIPTION, LICENCE, Release, SUMMARY};
use super::tree::{DATE, FileTree, gzip};
use crate::steps;

/// `plimsoll_0.1.0_amd64.deb`.
pub(super) fn file_name(release: &Release) -> String {
    format!("plimsoll_{}_{}.deb", release.version, release.platform.debian)
}

/// The package. The same release gives the same bytes: `dpkg-deb` sorts its entries, and takes the date of what is newer.
/// Its default compression differs from system to system.
///
/// # Errors
/// When `dpkg-deb` is not installed, or its folder cannot be written.
pub(super) fn package(release: &Release) -> Result<Vec<u8>> {
    let installed = installed(release)?;
    let control = control(release, &installed);
    let folder = tempfile::tempdir().context("cannot make a folder")?;
    let [root, package] = ["root", "package.deb"].map(|name| folder.path().join(name));
    installed.file("DEBIAN/control", control).write(&root)?;
    let mut build = Command::new("dpkg-deb");
    build.args(["--root-owner-group", "-Zxz", "--build"]).arg(&root).arg(&package);
    steps::printed(build.env("SOURCE_DATE_EPOCH", DATE.to_string()))?;
    std::fs::read(&package).context("cannot read the package")
}

/// Manual pages and the changelog are compressed, as Debian's policy asks (12.1, 12.7).
fn installed(release: &Release) -> Result<FileTree> {
    let mut tree = FileTree::default()
        .program("bin/plimsoll", release.program.as_slice())
        .file("share/bash-completion/completions/plimsoll", release.completions.bash.as_str())
        .file("share/zsh/vendor-completions/_plimsoll", release.completions.zsh.as_str())
        .file("share/fish/vendor_completions.d/plimsoll.fish", release.completions.fish.as_str())
        .file("share/doc/plimsoll/changelog.gz", gzip(release.changelog.as_bytes())?)
        .file("share/doc/plimsoll/copyright", copyright(release))
        .file("share/doc/plimsoll/plimsoll.cdx.json", release.bill.as_str());
    for (name, text) in &release.pages {
        tree = tree.file(format!("share/man/man1/{name}.gz"), gzip(text.as_bytes())?);
    }
    Ok(tree.below("usr"))
}

/// A static program depends on no package. Authorities for `https://` are another package's.
fn control(release: &Release, installed: &FileTree) -> String {
    let kibibytes: usize = installed.files().map(|(_, _, bytes)| bytes.len().div_ceil(1024)).sum();
    let Release { version, platform, .. } = release;
    format!(
        "Package: plimsoll\nVersion: {version}\nArchitecture: {}\n\
         Maintainer: The Plimsoll developers <plimsoll@localhost>\n\
         Installed-Size: {kibibytes}\nSection: utils\nPriority: optional\n\
         Recommends: ca-certificates\nDescription: {SUMMARY}\n {DESCRIPTION}\n",
        platform.debian
    )
}

fn copyright(release: &Release) -> String {
    let licences: Vec<&str> = release.licences.iter().map(|(_, text)| text.as_str()).collect();
    format!("Plimsoll, licensed under {LICENCE}, at your option.\n\n{}", licences.join("\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_control_file_names_version_architecture_and_size() {
        let release = Release::sample();
        let installed = installed(&release).expect("short paths");
        assert_eq!(
            control(&release, &installed),
            "Package: plimsoll\nVersion: 1.2.3\nArchitecture: amd64\n\
             Maintainer: The Plimsoll developers <plimsoll@localhost>\n\
             Installed-Size: 8\nSection: utils\nPriority: optional\n\
             Recommends: ca-certificates\n\
             Description: Open-model load tester for HTTP and gRPC that judges its own evidence\n \
             Plimsoll offers a known load to a service, from a plan file or a k6 script, records the run in one SQLite \
             file, and returns PASS, FAIL, INCONCLUSIVE or INVALID with its reasons.\n"
        );
    }

    #[test]
    fn the_same_release_gives_the_same_package() {
        if Command::new("dpkg-deb").arg("--version").output().is_err() {
            return;
        }
        assert_eq!(
            package(&Release::sample()).expect("packed"),
            package(&Release::sample()).expect("packed")
        );
        let other = Release { version: "1.2.4".to_owned(), ..Release::sample() };
        assert_ne!(package(&Release::sample()).expect("packed"), package(&other).expect("packed"));
    }

    /// Debian's own tool reads the package, where it is installed.
    #[test]
    fn dpkg_reads_the_package() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(file_name(&Release::sample()));
        let dpkg = |action: &str| Command::new("dpkg-deb").arg(action).arg(&path).output();
        if dpkg("--version").is_err() {
            return;
        }
        std::fs::write(&path, package(&Release::sample()).expect("packed")).expect("written");
        let fields = dpkg("--field").expect("it ran before");
        assert!(fields.status.success(), "{}", String::from_utf8_lossy(&fields.stderr));
        assert!(String::from_utf8_lossy(&fields.stdout).contains("Version: 1.2.3\n"));
        let contents = dpkg("--contents").expect("it ran before");
        let contents = String::from_utf8_lossy(&contents.stdout).into_owned();
        for line in ["-rwxr-xr-x root/root", "usr/bin/plimsoll", "usr/share/man/man1/plimsoll.1.gz"] {
            assert!(
                contents.contains(line) || line.contains("root/root") && contents.contains("-rwxr-xr-x 0/0"),
                "{contents}"
            );
        }
    }
}
