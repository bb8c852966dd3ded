//! The files that rules check: everything that git tracks or would track, as text.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use super::lexer::Code;
use crate::steps;

/// How files begin that `cargo xtask protobuf` writes.
const GENERATED: &str = "// This file is @generated";

/// One text file; `code` is there for Rust sources.
pub(crate) struct Source {
    /// Relative to the root, with forward slashes.
    pub(crate) path: String,
    pub(crate) text: String,
    pub(crate) code: Option<Code>,
}

impl Source {
    pub(crate) fn new(path: &str, text: String) -> Self {
        let code = path.ends_with(".rs").then(|| Code::of(path, &text));
        Self { path: path.to_owned(), text, code }
    }

    /// The line that holds the byte at `offset`, counted from 1.
    pub(crate) fn line_at(&self, offset: usize) -> usize {
        1 + self.text.as_bytes()[..offset].iter().filter(|&&byte| byte == b'\n').count()
    }
}

/// All files, read once.
pub(crate) struct Tree {
    pub(crate) sources: Vec<Source>,
}

impl Tree {
    /// Lists with git, so that ignored files are no business of ours and new ones are before they are added.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let mut git = Command::new("git");
        git.args(["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
        let listing = steps::printed(git.current_dir(root))?;
        let mut sources = Vec::new();
        for path in listing.split('\0').filter(|path| !path.is_empty()) {
            // Deleted but still in git's index, or a link to nowhere: nothing to look at.
            let Ok(bytes) = std::fs::read(root.join(path)) else { continue };
            // Pictures and databases carry no words.
            let Ok(text) = String::from_utf8(bytes) else { continue };
            // What a generator writes follows its own rules.
            if !text.starts_with(GENERATED) {
                sources.push(Source::new(path, text));
            }
        }
        Ok(Self { sources })
    }

    /// The text of one file, if it is in the tree.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.sources.iter().find(|source| source.path == path).map(|source| source.text.as_str())
    }

    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let sources = files.iter().map(|(path, text)| Source::new(path, (*text).to_owned())).collect();
        Self { sources }
    }
}
