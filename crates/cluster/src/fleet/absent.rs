//! What is recorded of a worker that has vanished: from the second after its last one on, its arrivals are dropped by the
//! generator.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::{AbsentLoop, Command, EngineError, LoopGroup, RunOptions};
use evidence::tick_channel::{Offer, TickSender};
use evidence::{Instant, Tick};

/// The workers that are still there, by which the others know when the run is over.
#[derive(Debug)]
pub(super) struct Others {
    present: Mutex<usize>,
    changed: Condvar,
}

impl Others {
    pub(super) fn new(workers: usize) -> Others {
        Others { present: Mutex::new(workers), changed: Condvar::new() }
    }

    fn present(&self) -> MutexGuard<'_, usize> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One worker has ended or vanished.
    pub(super) fn leave(&self) {
        *self.present() -= 1;
        self.changed.notify_all();
    }

    /// Wait until all have left, at most so long; whether they have.
    fn have_left(&self, at_most: Duration) -> bool {
        let waited = self.changed.wait_timeout_while(self.present(), at_most, |present| *present > 0);
        waited.map_or(true, |(present, _)| *present == 0)
    }
}

/// A loop of a vanished worker.
pub(super) struct LostLoop {
    pub(super) outlet: TickSender,
    /// From when on it hands nothing over.
    pub(super) from: Instant,
    /// The first free number of a key.
    pub(super) first_key: u32,
}

/// Count what the lost loops do not offer, second by second, until the others are over or the run is stopped.
pub(super) fn record_absence(
    lost: Vec<LostLoop>,
    group: &LoopGroup,
    options: &RunOptions,
    others: &Others,
) -> Result<(), EngineError> {
    let make = |(index, lost): (usize, LostLoop)| {
        let index = u16::try_from(index).unwrap_or(u16::MAX);
        let absent =
            AbsentLoop::new(&options.program, group, index, lost.from).with_keys_from(lost.first_key);
        Absence { absent, outlet: lost.outlet, tick: Box::default() }
    };
    let mut absences: Vec<Absence> = lost.into_iter().enumerate().map(make).collect();
    loop {
        let second = options.clock.now().second();
        let next = Instant::at(Duration::from_secs(u64::from(second) + 1));
        let is_over = others.have_left(next.since(options.clock.now()));
        // Of a run that is over everything was due; of one that was stopped nothing more is.
        if options.control.command() != Command::Run {
            let now = options.clock.now();
            return absences.into_iter().try_for_each(|one| one.finish(now, second));
        }
        if is_over {
            return absences.into_iter().try_for_each(|one| one.finish(Instant::NEVER, second));
        }
        for one in &mut absences {
            one.offer(next, second)?;
        }
    }
}

/// Hands over what a lost loop does not offer.
struct Absence {
    absent: AbsentLoop,
    outlet: TickSender,
    /// The next tick; one that the recorder did not take is filled on.
    tick: Box<Tick>,
}

impl Absence {
    fn offer(&mut self, until: Instant, second: u32) -> Result<(), EngineError> {
        let tick = self.absent.add_dropped(std::mem::take(&mut self.tick), until, second);
        self.tick = match self.outlet.offer(tick) {
            Offer::Accepted(empty) => empty,
            Offer::Later(full) => full,
            Offer::Gone => return Err(EngineError::RecorderGone),
        };
        Ok(())
    }

    /// Hand over what was due until then, waiting for the recorder.
    fn finish(mut self, until: Instant, second: u32) -> Result<(), EngineError> {
        let last = self.absent.add_dropped(self.tick, until, second);
        if self.outlet.finish(last) { Ok(()) } else { Err(EngineError::RecorderGone) }
    }
}
