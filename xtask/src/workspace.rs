//! Where the workspace, its binaries and its scratch folders are: the only file that knows these paths.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

/// The checked-out tree this chore works on.
pub(crate) struct Workspace {
    root: PathBuf,
    binaries: PathBuf,
    target: PathBuf,
}

impl Workspace {
    /// Finds the tree that this chore is part of.
    pub(crate) fn find() -> Result<Self> {
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest.parent().context("xtask is in a folder of the workspace")?.to_owned();
        let itself = std::env::current_exe().context("cannot find where this command was built")?;
        let binaries = itself.parent().context("a binary is in a folder")?.to_owned();
        let target = binaries.parent().context("binaries are in the target folder")?.to_owned();
        Ok(Self { root, binaries, target })
    }

    /// The same tree with scripts in place of its binaries, and a scratch folder of its own.
    #[cfg(test)]
    pub(crate) fn with_fake_binaries(folder: &str, test: &str) -> Self {
        let found = Self::find().expect("tests run in the workspace");
        let binaries = found.root.join("xtask/fixtures").join(folder);
        let target = found.target.join("xtask-tests").join(test);
        Self { root: found.root, binaries, target }
    }

    /// The folder with the root manifest.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A binary of the workspace: in the folder of this chore's own, which was built with the same profile.
    pub(crate) fn binary(&self, name: &str) -> PathBuf {
        self.binaries.join(name)
    }

    /// A folder for a chore's files, emptied if it exists.
    pub(crate) fn scratch(&self, name: &str) -> Result<PathBuf> {
        let scratch = self.target.join(name);
        if scratch.exists() {
            std::fs::remove_dir_all(&scratch)
                .with_context(|| format!("cannot empty {}", scratch.display()))?;
        }
        std::fs::create_dir_all(&scratch).with_context(|| format!("cannot make {}", scratch.display()))?;
        Ok(scratch)
    }

    /// A folder for what a chore keeps from one time to the next.
    pub(crate) fn kept(&self, name: &str) -> Result<PathBuf> {
        let kept = self.target.join(name);
        std::fs::create_dir_all(&kept).with_context(|| format!("cannot make {}", kept.display()))?;
        Ok(kept)
    }

    /// What makes cargo build with the profile that this chore was built with.
    pub(crate) fn profile(&self) -> &'static [&'static str] {
        if self.binaries.ends_with("release") { &["--release"] } else { &[] }
    }

    /// The cargo that started this chore, run at the root.
    pub(crate) fn cargo(&self) -> Command {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        // The variables below describe the xtask package; a nested cargo must not inherit them.
        command.current_dir(&self.root).env_remove("CARGO_MANIFEST_DIR").env_remove("CARGO_PKG_NAME");
        command
    }
}
