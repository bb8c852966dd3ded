//! Where PostgreSQL's programs are.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::PeerError;

/// The oldest major version that the services support.
pub const OLDEST: u32 = 15;

/// Debian keeps each major version in a folder of its own, outside the search path.
const VERSIONS: &str = "/usr/lib/postgresql";
const PROGRAMS: [&str; 3] = ["postgres", "initdb", "psql"];

/// The programs of one PostgreSQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    folder: PathBuf,
    major: u32,
}

impl Installation {
    /// The newest of Debian's versions, or else the one in `PATH`.
    ///
    /// # Errors
    /// When there is none, or only older ones than [`OLDEST`]; with every path that was searched.
    pub fn find() -> Result<Self, PeerError> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        Self::among(Path::new(VERSIONS), std::env::split_paths(&path))
    }

    fn among(versions: &Path, path: impl Iterator<Item = PathBuf>) -> Result<Self, PeerError> {
        let mut found: Vec<Self> = versioned(versions).chain(path.filter_map(|at| in_path(&at))).collect();
        found.retain(|one| PROGRAMS.iter().all(|program| one.program(program).exists()));
        // The sort is stable: of equal versions the first found wins.
        found.sort_by_key(|one| std::cmp::Reverse(one.major));
        let older: Vec<String> = found.iter().map(|one| format!("{} (version {})", one, one.major)).collect();
        found.into_iter().find(|one| one.major >= OLDEST).ok_or_else(|| PeerError::Missing {
            program: "PostgreSQL 15 or newer (`postgres`, `initdb` and `psql` in one folder)",
            looked: match older.as_slice() {
                [] => format!("{}/*/bin and PATH", versions.display()),
                older => format!("{}/*/bin and PATH, which have {}", versions.display(), older.join(", ")),
            },
            package: "postgresql",
        })
    }

    #[must_use]
    pub fn program(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The major version, such as 15.
    #[must_use]
    pub fn major(&self) -> u32 {
        self.major
    }

    /// Whether a library that servers can load is installed.
    pub(super) fn has_library(&self, name: &str) -> bool {
        let file = format!("{name}.so");
        ["../lib", "../lib/postgresql"].iter().any(|lib| self.folder.join(lib).join(&file).exists())
    }
}

impl std::fmt::Display for Installation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.folder.display().fmt(f)
    }
}

fn versioned(versions: &Path) -> impl Iterator<Item = Installation> {
    let entries = std::fs::read_dir(versions).into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let major = entry.file_name().to_str()?.parse().ok()?;
        Some(Installation { folder: entry.path().join("bin"), major })
    })
}

/// A link in the search path leads to the folder that has the other programs too.
fn in_path(folder: &Path) -> Option<Installation> {
    let postgres = folder.join("postgres").canonicalize().ok()?;
    let output = Command::new(&postgres).arg("--version").output().ok()?;
    let output = String::from_utf8_lossy(&output.stdout);
    let version = output.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    let digits = version.split(|c: char| !c.is_ascii_digit()).next()?;
    Some(Installation { folder: postgres.parent()?.to_owned(), major: digits.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn put(folder: &Path, version: &str) {
        std::fs::create_dir_all(folder).unwrap();
        for program in PROGRAMS {
            let file = folder.join(program);
            std::fs::write(&file, format!("#!/bin/sh\necho 'postgres (PostgreSQL) {version}'\n")).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    fn check(versions: &[&str], in_path: Option<&str>, expect: Result<(u32, &str), &str>) {
        let root = tempfile::tempdir().unwrap();
        for version in versions {
            put(&root.path().join("versions").join(version).join("bin"), version);
        }
        let path = root.path().join("path");
        if let Some(version) = in_path {
            put(&path, version);
        }
        let found = Installation::among(&root.path().join("versions"), [path].into_iter());
        let relative = |text: String| text.replace(&root.path().display().to_string(), "");
        let found = found.map(|one| (one.major, relative(one.to_string())));
        let found = found.map_err(|error| relative(error.to_string()));
        let found = found.as_ref().map(|(major, folder)| (*major, folder.as_str())).map_err(String::as_str);
        assert_eq!(found, expect);
    }

    #[test]
    fn the_newest_one_that_is_new_enough_is_taken() {
        check(&["9.6", "14", "16", "15"], None, Ok((16, "/versions/16/bin")));
        check(&["14"], Some("17.2 (Debian 17.2-1)"), Ok((17, "/path")));
        check(&["15"], Some("15.18"), Ok((15, "/versions/15/bin")));
        check(&[], Some("18beta1"), Ok((18, "/path")));
    }

    #[test]
    fn a_missing_installation_is_named_with_the_searched_paths() {
        check(
            &[],
            None,
            Err(
                "PostgreSQL 15 or newer (`postgres`, `initdb` and `psql` in one folder) is missing: looked in \
                 /versions/*/bin and PATH; install the Debian package `postgresql`",
            ),
        );
        check(
            &["13"],
            Some("14.1"),
            Err(
                "PostgreSQL 15 or newer (`postgres`, `initdb` and `psql` in one folder) is missing: looked in \
                 /versions/*/bin and PATH, which have /path (version 14), /versions/13/bin (version 13); install \
                 the Debian package `postgresql`",
            ),
        );
    }
}
