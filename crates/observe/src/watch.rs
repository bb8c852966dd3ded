//! Samples every observer once a second, on a thread of its own.

use std::io;
use std::panic;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use evidence::{Instant, NoticeKind, Observed, Sample, SeriesKey};

use crate::notice::Notices;
use crate::observer::{Clock, Observer, own_thread_cpu};

/// A running watch. Its thread's work is part of the process's own CPU time.
#[derive(Debug)]
pub struct Watch {
    stop: Sender<()>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Starts to watch: samples every observer now and at each whole second of the run, and sends the samples. It ends by
    /// itself when the receiver is gone.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(
        observers: Vec<Box<dyn Observer>>,
        clock: Clock,
        observed: Sender<Observed>,
    ) -> io::Result<Watch> {
        let (stop, stopped) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("observe".to_owned())
            .spawn(move || Round { observers, clock, observed, stopped }.run())?;
        Ok(Watch { stop, thread: Some(thread) })
    }

    /// Stops at once.
    ///
    /// # Panics
    /// When an observer panicked: its samples cannot be trusted.
    pub fn stop(mut self) {
        self.join().unwrap_or_else(|payload| panic::resume_unwind(payload));
    }

    fn join(&mut self) -> thread::Result<()> {
        // The thread may have ended by itself.
        let _ = self.stop.send(());
        self.thread.take().map_or(Ok(()), JoinHandle::join)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Dropped without `stop` only where another failure is being reported.
        let _ = self.join();
    }
}

struct Round {
    observers: Vec<Box<dyn Observer>>,
    clock: Clock,
    observed: Sender<Observed>,
    stopped: Receiver<()>,
}

impl Round {
    fn run(mut self) {
        let mut own = Notices::new("watch");
        let (mut at, mut last) = ((self.clock)(), None);
        loop {
            let mut seen = Observed { notices: own.take(), ..Observed::default() };
            for observer in &mut self.observers {
                seen.extend(observe(observer.as_mut(), last, at));
            }
            let received = seen.is_empty() || self.observed.send(seen).is_ok();
            let due = next_second(at);
            if !received || wait_until(due, &self.clock, &self.stopped).is_err() {
                return;
            }
            (last, at) = (Some(at), (self.clock)());
            if let Some(missed) = missed(due, at) {
                own.add(at, NoticeKind::Late, missed);
            }
        }
    }
}

/// The wait was stopped.
pub(crate) struct Stopped;

/// Waits until `due` has come by `clock`, or something is sent to `stopped`, or its sender is gone.
pub(crate) fn wait_until(due: Instant, clock: &Clock, stopped: &Receiver<()>) -> Result<(), Stopped> {
    loop {
        let left = due.since(clock());
        if left.is_zero() {
            return Ok(());
        }
        match stopped.recv_timeout(left) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return Err(Stopped),
        }
    }
}

/// The samples of `observer` at `at`, and its cost since the call at `last`.
fn observe(observer: &mut dyn Observer, last: Option<Instant>, at: Instant) -> Observed {
    let before = own_thread_cpu();
    let mut samples = observer.sample(at);
    let notices = observer.take_notices();
    let cost = own_thread_cpu().saturating_sub(before) + observer.take_cost();
    if let Some(interval) = last.map(|last| at.since(last)).filter(|interval| !interval.is_zero()) {
        let key = SeriesKey::new("observer_cpu", SeriesKey::GENERATOR, "cores").part(observer.name());
        samples.push((key, Sample { at, value: cost.div_duration_f64(interval) }));
    }
    Observed { samples, notices, profiles: Vec::new() }
}

/// The first whole second of the run after `at`.
fn next_second(at: Instant) -> Instant {
    Instant::EPOCH + Duration::from_secs(u64::from(at.second()) + 1)
}

/// The notice for samples that were due at `due` and taken at `at`, a second or more too late.
fn missed(due: Instant, at: Instant) -> Option<String> {
    let seconds = at.since(due).as_secs();
    let due_second = due.second();
    (seconds > 0).then(|| {
        format!("the samples due at second {due_second} were taken {seconds} s late; others were left out")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_due_at_whole_seconds() {
        let next = |nanos| next_second(Instant::from_nanos(nanos)).as_nanos();
        assert_eq!(next(0), 1_000_000_000);
        assert_eq!(next(999_999_999), 1_000_000_000);
        assert_eq!(next(1_000_000_000), 2_000_000_000);
    }

    #[test]
    fn samples_that_are_taken_late_are_reported() {
        let at = |millis| Instant::at(Duration::from_millis(millis));
        assert_eq!(missed(at(3_000), at(3_999)), None);
        insta::assert_snapshot!(
            missed(at(3_000), at(5_100)).unwrap(),
            @"the samples due at second 3 were taken 2 s late; others were left out"
        );
    }
}
