//! What a release consists of, before it is packed: the program, what it generates of itself, and the texts of the tree.

use super::platform::Platform;
use super::tree::FileTree;

/// One version of the tool for one platform.
pub(super) struct Release {
    pub(super) version: String,
    pub(super) platform: Platform,
    /// The program without symbols.
    pub(super) program: Vec<u8>,
    /// Name of each manual page, such as `plimsoll-run.1`, and its text.
    pub(super) pages: Vec<(String, String)>,
    pub(super) completions: Completions,
    /// File name and text.
    pub(super) licences: Vec<(&'static str, String)>,
    pub(super) changelog: String,
    /// CycloneDX.
    pub(super) bill: String,
}

/// What each shell reads.
pub(super) struct Completions {
    pub(super) bash: String,
    pub(super) zsh: String,
    pub(super) fish: String,
}

/// What the command is, in one line and in more.
pub(super) const SUMMARY: &str = "Open-model load tester for HTTP and gRPC that judges its own evidence";
pub(super) const DESCRIPTION: &str = "\
Plimsoll offers a known load to a service, from a plan file or a k6 script, records the run in one SQLite file, and \
returns PASS, FAIL, INCONCLUSIVE or INVALID with its reasons.";
pub(super) const LICENCE: &str = "MIT OR Apache-2.0";

impl Release {
    /// Manual pages and completions, where they belong below a prefix such as `/usr` or a virtual environment.
    pub(super) fn shared_files(&self) -> FileTree {
        let pages = self.pages.iter().fold(FileTree::default(), |tree, (name, text)| {
            tree.file(format!("share/man/man1/{name}"), text.as_str())
        });
        pages
            .file("share/bash-completion/completions/plimsoll", self.completions.bash.as_str())
            .file("share/zsh/site-functions/_plimsoll", self.completions.zsh.as_str())
            .file("share/fish/vendor_completions.d/plimsoll.fish", self.completions.fish.as_str())
    }

    /// For unpacking below a prefix: `plimsoll-0.1.0-x86_64-linux/{bin,share,LICENSE-…}`.
    pub(super) fn unpacked(&self) -> FileTree {
        let tree = self.shared_files().program("bin/plimsoll", self.program.as_slice());
        let tree = self.licences.iter().fold(tree, |tree, (name, text)| tree.file(*name, text.as_str()));
        tree.file("CHANGELOG.md", self.changelog.as_str())
            .file("plimsoll.cdx.json", self.bill.as_str())
            .below(&format!("plimsoll-{}-{}-linux", self.version, self.platform.architecture))
    }

    #[cfg(test)]
    pub(super) fn sample() -> Self {
        Self {
            version: "1.2.3".to_owned(),
            platform: Platform::of("x86_64-unknown-linux-gnu").expect("a platform"),
            program: b"\x7fELF program".to_vec(),
            pages: vec![("plimsoll.1".to_owned(), ".TH plimsoll 1".to_owned())],
            completions: Completions {
                bash: "complete".to_owned(),
                zsh: "#compdef".to_owned(),
                fish: "complete -c".to_owned(),
            },
            licences: vec![("LICENSE-MIT", "MIT License".to_owned())],
            changelog: "# Changelog".to_owned(),
            bill: "{}".to_owned(),
        }
    }
}
