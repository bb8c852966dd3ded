//! The run file, progress display and settings of one run.

use std::path::Path;
use std::sync::Arc;

use archive::Overwrite;
use engine::BodyBudget;
use engine::program::OriginRules;

use crate::arguments::OutTarget;
use crate::failure::CommandResult;
use crate::run_file::Keep;
use crate::writable;

/// The run file, progress display and settings of one run, whatever load it offers.
pub(crate) struct RunRequest<'a> {
    pub(crate) keep: Keep<'a>,
    pub(crate) overwrite: Overwrite,
    pub(crate) progress: Progress,
    /// How many loops offer the load in each process of weight 1.
    pub(crate) loops: u16,
    /// How many other processes offer the load, each as often as its weight says; 0: this one does.
    pub(crate) workers: u16,
    pub(crate) precheck: Precheck,
    /// The other systems that receive series of the run.
    pub(crate) outs: &'a [OutTarget],
    /// The files that are written after the run, besides the run file.
    pub(crate) reports: Vec<&'a Path>,
    /// How the command line names another address for a target, from its name; the end of "start it…".
    pub(crate) address_hint: fn(&str) -> String,
    /// What only scripts have.
    pub(crate) script_rules: Option<ScriptRules>,
}

/// Whether each step is sent once before the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Precheck {
    /// Unless the plan is against it.
    AsPlanned,
    Skipped,
}

/// What only scripts have.
pub(crate) struct ScriptRules {
    /// How origins are connected to that are not targets.
    pub(crate) origins: Arc<dyn OriginRules>,
    /// What bodies may take at once, since scripts keep what they receive.
    pub(crate) body_budget: Arc<BodyBudget>,
}

impl<'a> RunRequest<'a> {
    /// A run with one loop in this process, whose only output is its run file.
    pub(crate) fn new(keep: Keep<'a>, progress: Progress) -> RunRequest<'a> {
        RunRequest {
            keep,
            overwrite: Overwrite::Refuse,
            progress,
            loops: 1,
            workers: 0,
            precheck: Precheck::AsPlanned,
            outs: &[],
            reports: Vec::new(),
            address_hint: |_| String::new(),
            script_rules: None,
        }
    }

    /// How many loops offer the load, in all processes together.
    pub(crate) fn all_loops(&self) -> u16 {
        self.loops.saturating_mul(self.workers.max(1))
    }

    /// Before anything is sent: the run file and all reports can be written, and no run file is replaced unasked.
    pub(crate) fn require_writable(&self) -> CommandResult<()> {
        if self.overwrite == Overwrite::Refuse {
            self.keep.refuse_existing()?;
        }
        writable::require(self.keep.shown_path().into_iter().chain(self.reports.iter().copied()))
    }
}

/// Whether a run file that exists is replaced: if `--force` is given.
pub(crate) fn overwrite(force: bool) -> Overwrite {
    if force { Overwrite::Replace } else { Overwrite::Refuse }
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
