//! The run file, progress display and settings of one run.

use std::path::Path;
use std::sync::Arc;

use archive::Overwrite;
use engine::program::OriginRules;
use engine::{BodyBudget, KeptExchanges};
use export::Protocol;

use crate::failure::CommandResult;
use crate::live_page::LivePage;
use crate::run_file::RunFilePolicy;
use crate::screen;
use crate::writable;

/// The run file, progress display and settings of one run, whatever load it offers.
pub struct RunRequest<'a> {
    /// Which run file is kept.
    pub keep: RunFilePolicy<'a>,
    /// Whether a run file that exists is replaced.
    pub overwrite: Overwrite,
    /// Whether progress is drawn.
    pub progress: Progress,
    /// How many loops offer the load in each process of weight 1.
    pub loops: u16,
    /// How many other processes offer the load, each as often as its weight says; 0: this one does.
    pub workers: u16,
    /// Whether each step is sent once before the load.
    pub precheck: Precheck,
    /// Whether the reference probe runs beside the load.
    pub probe: ProbeUse,
    /// The other systems that receive series of the run.
    pub outs: &'a [OutTarget],
    /// The page on which the run is followed.
    pub live_page: Option<&'a LivePage>,
    /// The files that are written after the run, besides the run file.
    pub reports: Vec<&'a Path>,
    /// How the command line names another address for a target, from its name; the end of "start it…".
    pub address_hint: fn(&str) -> String,
    pub script_rules: Option<ScriptRules>,
}

/// A place that series of a run are sent to while it goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutTarget {
    /// In which form.
    pub protocol: Protocol,
    /// Whole, with its path.
    pub url: String,
}

/// Whether each step is sent once before the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precheck {
    /// Unless the plan is against it.
    AsPlanned,
    /// No step is.
    Skipped,
}

/// Whether the reference probe runs beside the load, which takes about four per cent of a processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbeUse {
    Runs,
    None,
}

pub struct ScriptRules {
    /// How origins are connected to that are not targets.
    pub origins: Arc<dyn OriginRules>,
    /// What bodies may take at once, since scripts keep what they receive.
    pub body_budget: Arc<BodyBudget>,
    /// Which exchanges the run file keeps.
    pub kept_exchanges: KeptExchanges,
}

impl<'a> RunRequest<'a> {
    /// A run with one loop in this process, whose only output is its run file.
    pub fn new(keep: RunFilePolicy<'a>, progress: Progress) -> RunRequest<'a> {
        RunRequest {
            keep,
            overwrite: Overwrite::Refuse,
            progress,
            loops: 1,
            workers: 0,
            precheck: Precheck::AsPlanned,
            probe: ProbeUse::None,
            outs: &[],
            live_page: None,
            reports: Vec::new(),
            address_hint: |_| ", or check host and port".to_owned(),
            script_rules: None,
        }
    }

    /// How many loops offer the load, in all processes together.
    pub fn all_loops(&self) -> u16 {
        self.loops.saturating_mul(self.workers.max(1))
    }

    /// Before anything is sent: the run file and all reports can be written, and no run file is replaced unasked.
    pub fn require_writable(&self) -> CommandResult<()> {
        if self.overwrite == Overwrite::Refuse {
            self.keep.refuse_existing()?;
        }
        writable::require(self.keep.shown_path().into_iter().chain(self.reports.iter().copied()))
    }
}

/// Whether a run file that exists is replaced: if `--force` is given.
pub fn overwrite(force: bool) -> Overwrite {
    if force { Overwrite::Replace } else { Overwrite::Refuse }
}

/// Whether progress is drawn on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// It is drawn.
    Shown,
    /// The same of one of two runs at the same moment, by its letter: each of its lines begins with it.
    OneOfTwo(char),
    Quiet,
}

impl Progress {
    /// Shown, unless it is to be quiet.
    pub fn unless(is_quiet: bool) -> Progress {
        if is_quiet { Progress::Quiet } else { Progress::Shown }
    }

    /// Of two runs at the same moment: lines of both, and where something can be drawn on, only the first's.
    pub fn of_two(self, letters: [char; 2]) -> [Progress; 2] {
        match self {
            Progress::Quiet => [Progress::Quiet; 2],
            _ if screen::is_drawable() => [self, Progress::Quiet],
            _ => letters.map(Progress::OneOfTwo),
        }
    }
}
