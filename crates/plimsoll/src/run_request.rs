//! The run file, progress display and options of one run.

use std::sync::Arc;
use std::time::Duration;

use engine::program::OriginRules;

use crate::arguments::RunOptionArguments;
use crate::run_file::Keep;

/// The run file, progress display and options of one run, whatever load it offers.
pub(crate) struct RunRequest<'a> {
    pub(crate) keep: Keep<'a>,
    pub(crate) progress: Progress,
    pub(crate) options: &'a RunOptionArguments,
    /// How the command line names another address for a target, from its name; the end of "start it…".
    pub(crate) address_hint: fn(&str) -> String,
    /// How long it takes to make the virtual users that are made before the load.
    pub(crate) lead: Duration,
    /// How origins are connected to that are no targets; none: as by default.
    pub(crate) origin_rules: Option<Arc<dyn OriginRules>>,
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
