//! Ends a run as soon as every objective passes at two looks in turn, or one is violated: at the times that were planned before it began, what its file has by
//! then is judged, on a thread of its own that neither offers load nor records.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use archive::Stored;
use engine::{Command, Control};
use evidence::delivered::DeliveredSeconds;
use evidence::sink::{Sink, SinkError};
use evidence::{Observed, RunEnd, Tick};
use judge::Look;
use workload::Workload;

use crate::failure::{CommandResult, Failure};
use crate::screen::note;
use crate::stop_watch::{EarlyEnd, EndedBy};

/// How much less the judging thread gets of a processor than the loops.
const NICENESS: i32 = 10;

/// Judges a run while it is under way.
pub(crate) struct Decider {
    orders: Sender<Order>,
    thread: JoinHandle<()>,
}

enum Order {
    /// Judge what there is after this time.
    Look(Duration),
    End,
}

/// What passed at a look.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Passed {
    /// Every objective.
    All,
    NotAll,
}

/// What a look needs.
struct Looking {
    path: PathBuf,
    workload: Workload,
    control: Control,
    ended_by: EndedBy,
}

impl Decider {
    /// Judge the run of `workload` whose file is at `path`, when asked.
    pub(crate) fn start(
        path: PathBuf,
        workload: &Workload,
        control: Control,
        ended_by: EndedBy,
    ) -> CommandResult<Decider> {
        let (orders, received) = channel();
        let looking = Looking { path, workload: workload.clone(), control, ended_by };
        let thread = thread::Builder::new()
            .name("decider".to_owned())
            .spawn(move || looking.obey(&received))
            .map_err(Failure::own)?;
        Ok(Decider { orders, thread })
    }

    /// Asks for looks at these times, once everything until then is in the file.
    pub(crate) fn timer(&self, looks: &[Duration], loops: u16) -> LookTimer {
        LookTimer {
            ahead: looks.iter().rev().copied().collect(),
            delivered: DeliveredSeconds::new(loops),
            orders: self.orders.clone(),
        }
    }

    /// Waits for a look that is under way: the file cannot be sealed before.
    pub(crate) fn end(self) {
        // A thread that is gone has nothing left to do; one that panicked has said so, and decides nothing.
        let _ = self.orders.send(Order::End);
        let _ = self.thread.join();
    }
}

impl Looking {
    fn obey(&self, orders: &Receiver<Order>) {
        // It judges as well, only sooner, where this is refused.
        let _ = rustix::process::nice(NICENESS);
        let mut before = Passed::NotAll;
        while let Ok(Order::Look(at)) = orders.recv() {
            if self.control.command() == Command::Run {
                before = self.look(at, before);
            }
        }
    }

    /// One look, after one at which this passed. A pass needs two in turn, because a look may be before what comes seldom.
    fn look(&self, at: Duration, before: Passed) -> Passed {
        let at_s = at.as_secs();
        let why = match self.judged() {
            Err(error) => {
                note(format_args!("cannot judge the run so far: {error:#}; it continues"));
                return Passed::NotAll;
            }
            Ok(Look { violated, .. }) if !violated.is_empty() => format!("violated: {}", violated.join(", ")),
            Ok(Look { undecided, .. }) if !undecided.is_empty() => {
                note(format_args!("at {at_s} s not decided yet: {}", undecided.join(", ")));
                return Passed::NotAll;
            }
            Ok(_) if before == Passed::NotAll => {
                note(format_args!(
                    "at {at_s} s every objective passes; the run ends if all do at the next look, too"
                ));
                return Passed::All;
            }
            Ok(_) => "every objective passed twice in turn".to_owned(),
        };
        if self.control.command() == Command::Run {
            note(format_args!(
                "stopping at {at_s} s, {why}; no new arrivals, waiting for requests in flight"
            ));
            self.ended_by.set(EarlyEnd::Decided);
            self.control.drain();
        }
        Passed::All
    }

    fn judged(&self) -> anyhow::Result<Look> {
        Ok(judge::look(&Stored::so_far(&self.path)?, &self.workload)?)
    }
}

/// Reads the ticks that are recorded, and asks for a look when its time has come.
pub(crate) struct LookTimer {
    /// The next one last.
    ahead: Vec<Duration>,
    delivered: DeliveredSeconds,
    orders: Sender<Order>,
}

impl Sink for LookTimer {
    fn tick(&mut self, tick: &Tick) -> Result<(), SinkError> {
        self.delivered.take(tick);
        Ok(())
    }

    fn observed(&mut self, _observed: &Observed) -> Result<(), SinkError> {
        Ok(())
    }

    fn flush(&mut self) -> Result<(), SinkError> {
        let passed = Duration::from_secs(u64::from(self.delivered.by_all().unwrap_or(0)));
        let is_over = |look: &Duration| *look <= passed;
        let mut latest = None;
        while self.ahead.last().is_some_and(is_over) {
            latest = self.ahead.pop();
        }
        if let Some(at) = latest {
            // Where the judging thread is gone the run lasts to its planned end.
            let _ = self.orders.send(Order::Look(at));
        }
        Ok(())
    }

    fn end(&mut self, _end: &RunEnd) -> Result<(), SinkError> {
        Ok(())
    }
}
