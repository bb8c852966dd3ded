//! The run file, progress display and options of one run.

use std::sync::Arc;

use engine::program::OriginRules;

use crate::arguments::RunOptionArguments;
use crate::failure::CommandResult;
use crate::run_file::Keep;
use crate::writable;

/// The run file, progress display and options of one run, whatever load it offers.
pub(crate) struct RunRequest<'a> {
    pub(crate) keep: Keep<'a>,
    pub(crate) progress: Progress,
    pub(crate) options: &'a RunOptionArguments,
    /// How many other processes offer the load; 0: this one does.
    pub(crate) workers: u16,
    /// How the command line names another address for a target, from its name; the end of "start it…".
    pub(crate) address_hint: fn(&str) -> String,
    /// What only scripts have.
    pub(crate) script_rules: Option<ScriptRules>,
}

/// What only scripts have.
pub(crate) struct ScriptRules {
    /// How origins are connected to that are no targets.
    pub(crate) origins: Arc<dyn OriginRules>,
    /// Bytes of bodies that are kept at once, since scripts keep what they receive.
    pub(crate) body_budget: usize,
}

impl RunRequest<'_> {
    /// How many loops offer the load, in all processes together.
    pub(crate) fn loops(&self) -> u16 {
        self.options.loops.saturating_mul(self.workers.max(1))
    }

    /// Before anything is sent: the run file and all reports can be written, and no run file is replaced unasked.
    pub(crate) fn require_writable(&self) -> CommandResult<()> {
        if !self.options.force {
            self.keep.refuse_existing()?;
        }
        let reports = self.options.outputs.named().into_iter().flatten();
        writable::require(self.keep.shown_path().into_iter().chain(reports))
    }
}

/// Whether progress is drawn on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    Shown,
    Quiet,
}

impl Progress {
    pub(crate) fn unless(is_quiet: bool) -> Progress {
        if is_quiet { Progress::Quiet } else { Progress::Shown }
    }
}
