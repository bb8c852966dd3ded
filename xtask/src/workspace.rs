//! Where the workspace, its binaries and its scratch folders are: the only file that knows these paths.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

/// The checked-out tree this chore works on.
pub struct Workspace {
    root: PathBuf,
    binaries: PathBuf,
    target: PathBuf,
}

/// The folder below `target` for the files of chores. Cargo names the folders beside it after profiles, and one profile is
/// called as a chore is: `demo`.
const FILES: &str = "chores";

impl Workspace {
    /// Finds the tree that this chore is part of; its binaries are those built with the chore's own profile.
    ///
    /// # Errors
    /// When the path of this program can't be read.
    pub fn find() -> Result<Self> {
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest.parent().context("a chore is in a folder of the workspace")?.to_owned();
        let itself = std::env::current_exe().context("cannot find where this command was built")?;
        let binaries = itself.parent().context("a binary is in a folder")?.to_owned();
        let target = binaries.parent().context("binaries are in the target folder")?.to_owned();
        Ok(Self { root, binaries, target })
    }

    /// The same tree with the binaries of another profile.
    ///
    /// # Errors
    /// As [`Workspace::find`].
    pub fn with_profile(profile: &str) -> Result<Self> {
        let found = Self::find()?;
        Ok(Self { binaries: found.target.join(profile), ..found })
    }

    /// For tests: the same tree with the scripts of `fixtures/` in place of its binaries, and a scratch folder of its own.
    ///
    /// # Errors
    /// As [`Workspace::find`].
    pub fn with_fake_binaries(fixture: &str, test: &str) -> Result<Self> {
        let found = Self::find()?;
        let binaries = found.root.join("xtask/fixtures").join(fixture);
        Ok(Self { binaries, target: found.target.join("chores-tests").join(test), ..found })
    }

    /// The folder with the root manifest.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    #[must_use]
    pub fn binary(&self, name: &str) -> PathBuf {
        self.binaries.join(name)
    }

    /// A folder for a chore's files, emptied if it exists.
    ///
    /// # Errors
    /// When it can't be emptied or made.
    pub fn scratch(&self, name: &str) -> Result<PathBuf> {
        let scratch = self.target.join(FILES).join(name);
        if scratch.exists() {
            std::fs::remove_dir_all(&scratch)
                .with_context(|| format!("cannot empty {}", scratch.display()))?;
        }
        std::fs::create_dir_all(&scratch).with_context(|| format!("cannot make {}", scratch.display()))?;
        Ok(scratch)
    }

    /// A folder for what a chore keeps from one time to the next.
    ///
    /// # Errors
    /// When it can't be made.
    pub fn kept(&self, name: &str) -> Result<PathBuf> {
        let kept = self.target.join(FILES).join(name);
        std::fs::create_dir_all(&kept).with_context(|| format!("cannot make {}", kept.display()))?;
        Ok(kept)
    }

    /// What makes cargo build with the profile that this chore was built with.
    #[must_use]
    pub fn profile(&self) -> &'static [&'static str] {
        if self.binaries.ends_with("release") { &["--release"] } else { &[] }
    }

    /// The cargo that started this chore, run at the root.
    #[must_use]
    pub fn cargo(&self) -> Command {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        // The variables below describe the chore's package; a nested cargo must not inherit them.
        command.current_dir(&self.root).env_remove("CARGO_MANIFEST_DIR").env_remove("CARGO_PKG_NAME");
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn emptying_a_scratch_folder_leaves_what_cargo_built() {
        let found = Workspace::find().expect("tests run in the workspace");
        let target = found.target.join("chores-tests/scratch");
        let workspace = Workspace { binaries: target.join("demo"), target, ..found };
        std::fs::create_dir_all(&workspace.binaries).expect("target is writable");
        std::fs::write(workspace.binary("plimsoll"), "built").expect("target is writable");
        workspace.scratch("demo").expect("target is writable");
        assert!(
            workspace.binary("plimsoll").exists(),
            "a chore of the profile's name deleted the profile's programs"
        );
    }
}
