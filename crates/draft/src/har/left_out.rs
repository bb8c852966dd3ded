//! What of a recording becomes no step.

use std::collections::BTreeSet;

use crate::MAX_STEPS;

#[derive(Debug, Default)]
pub(super) struct LeftOut {
    pub(super) static_files: usize,
    /// The hosts of other sites.
    pub(super) foreign: BTreeSet<String>,
    /// Requests that no HTTP client sends, or that were never answered.
    pub(super) not_sent: usize,
    /// Requests that the browser's cache answered.
    pub(super) cached: usize,
    /// What the browser reports on its own.
    pub(super) reports: usize,
    pub(super) surplus: usize,
}

impl LeftOut {
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.static_files > 0 {
            notes.push(format!("{} static files are left out; `--all` includes them", self.static_files));
        }
        if !self.foreign.is_empty() {
            let hosts: Vec<&str> = self.foreign.iter().take(5).map(String::as_str).collect();
            let more = if self.foreign.len() > 5 { " …" } else { "" };
            notes.push(format!(
                "requests to other sites are left out ({}{more}); `--all` includes them: load only what is yours",
                hosts.join(", ")
            ));
        }
        if self.not_sent > 0 {
            notes.push(format!("{} entries are not requests over HTTP with a response", self.not_sent));
        }
        if self.cached > 0 {
            notes.push(format!(
                "{} requests were answered by the browser's cache, and are left out",
                self.cached
            ));
        }
        if self.reports > 0 {
            notes.push(format!(
                "{} reports that the browser sent on its own (Content-Security-Policy and the like) are left out",
                self.reports
            ));
        }
        if self.surplus > 0 {
            notes.push(format!(
                "only the first {MAX_STEPS} requests are in the plan; {} are not",
                self.surplus
            ));
        }
        notes
    }
}
