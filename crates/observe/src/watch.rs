//! Samples every observer once a second, on a thread of its own, and once more when it is stopped.

use std::io;
use std::panic;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, SendError, Sender, TryRecvError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use evidence::{Instant, Notice, NoticeKind, Observed, Sample, SeriesKey};

use crate::base::SHORTEST_INTERVAL;
use crate::notice::Notices;
use crate::observer::{Clock, Observer, own_thread_cpu};

/// How long [`Watch::stop`] waits for observers that query over a network, all of them together.
const CLOSING_PATIENCE: Duration = Duration::from_secs(2);

/// A running watch. Its thread's work is part of the process's own CPU time.
#[derive(Debug)]
pub struct Watch {
    /// None once it has been stopped.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Starts to watch: samples every observer now, before it returns, so that rates begin before the load does; then at
    /// each whole second of the run. It ends by itself when the receiver is gone.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(
        observers: Vec<Box<dyn Observer>>,
        clock: Clock,
        observed: Sender<Observed>,
    ) -> io::Result<Watch> {
        let (stop, stopped) = mpsc::channel();
        let mut round = Round { observers, clock, observed, stopped };
        let at = (round.clock)();
        let first = round.look(at, None);
        // A receiver that is gone ends the watch with its next samples.
        let _ = round.send(first);
        let thread = thread::Builder::new().name("observe".to_owned()).spawn(move || round.run(at))?;
        Ok(Watch { stop: Some(stop), thread: Some(thread) })
    }

    /// Samples every observer a last time, at once, so that rates cover the time until now, and stops. Of observers that
    /// query over a network it waits for the results: 2 s at most, for all of them together.
    ///
    /// # Panics
    /// When an observer panicked: its samples cannot be trusted.
    pub fn stop(mut self) {
        if let Some(stop) = &self.stop {
            // The thread may have ended by itself.
            let _ = stop.send(());
        }
        self.join().unwrap_or_else(|payload| panic::resume_unwind(payload));
    }

    fn join(&mut self) -> thread::Result<()> {
        drop(self.stop.take());
        self.thread.take().map_or(Ok(()), JoinHandle::join)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Dropped without `stop` only where another failure is being reported: no closing samples are taken.
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
    /// Looks at each whole second after `last`, the instant of the first look.
    fn run(mut self, mut last: Instant) {
        let mut own = Notices::new("watch");
        loop {
            let due = next_second(last);
            // A stop may have come during a look: the closing samples take the place of those that are due.
            let waited = wait_until(due, &self.clock, &self.stopped).and_then(|()| is_stopped(&self.stopped));
            let at = (self.clock)();
            if let Some(missed) = missed(due, at) {
                own.add(at, NoticeKind::Late, missed);
            }
            match waited {
                Ok(()) => {}
                Err(Stopped::Ordered) => return self.close(at, at.since(last), own.take()),
                Err(Stopped::Abandoned) => return,
            }
            let mut seen = self.look(at, Some(at.since(last)));
            seen.notices.extend(own.take());
            if self.send(seen).is_err() {
                return;
            }
            last = at;
        }
    }

    /// A sample of every observer, after `interval` if there was a look before.
    fn look(&mut self, at: Instant, interval: Option<Duration>) -> Observed {
        let interval = interval.filter(|interval| !interval.is_zero());
        let mut seen = Observed::default();
        for observer in &mut self.observers {
            seen.samples.extend(with_cost(observer.as_mut(), at, interval, |it| it.sample(at)));
            seen.notices.extend(observer.take_notices());
        }
        seen
    }

    fn send(&self, seen: Observed) -> Result<(), SendError<Observed>> {
        if seen.is_empty() { Ok(()) } else { self.observed.send(seen) }
    }

    /// Takes and sends the closing samples. All queries over a network are begun before any is waited for.
    fn close(mut self, at: Instant, since_last: Duration, notices: Vec<Notice>) {
        let interval = Some(since_last).filter(|interval| *interval >= SHORTEST_INTERVAL);
        let mut seen = Observed { notices, ..Observed::default() };
        for observer in &mut self.observers {
            seen.samples.extend(with_cost(observer.as_mut(), at, interval, |it| it.sample_closing(at)));
        }
        let deadline = at + CLOSING_PATIENCE;
        for observer in &mut self.observers {
            seen.samples.extend(observer.await_closing(deadline.since((self.clock)())));
            seen.notices.extend(observer.take_notices());
        }
        // A receiver that is gone needs them no more.
        let _ = self.send(seen);
    }
}

/// Why a wait was stopped.
pub(crate) enum Stopped {
    /// Something was sent.
    Ordered,
    /// The sender is gone.
    Abandoned,
}

fn is_stopped(stopped: &Receiver<()>) -> Result<(), Stopped> {
    match stopped.try_recv() {
        Err(TryRecvError::Empty) => Ok(()),
        Ok(()) => Err(Stopped::Ordered),
        Err(TryRecvError::Disconnected) => Err(Stopped::Abandoned),
    }
}

/// Waits until `due` has come by `clock`, or something is sent to `stopped`, or its sender is gone.
pub(crate) fn wait_until(due: Instant, clock: &Clock, stopped: &Receiver<()>) -> Result<(), Stopped> {
    loop {
        let left = due.since(clock());
        if left.is_zero() {
            return Ok(());
        }
        match stopped.recv_timeout(left) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) => return Err(Stopped::Ordered),
            Err(RecvTimeoutError::Disconnected) => return Err(Stopped::Abandoned),
        }
    }
}

/// The samples that `sample` takes of `observer`, and what they cost in `interval`, if that is known.
fn with_cost(
    observer: &mut dyn Observer,
    at: Instant,
    interval: Option<Duration>,
    sample: impl FnOnce(&mut dyn Observer) -> Vec<(SeriesKey, Sample)>,
) -> Vec<(SeriesKey, Sample)> {
    let before = own_thread_cpu();
    let mut samples = sample(observer);
    let cost = own_thread_cpu().saturating_sub(before) + observer.take_cost();
    if let Some(interval) = interval {
        let key = SeriesKey::new("observer_cpu", SeriesKey::GENERATOR, "cores").part(observer.name());
        samples.push((key, Sample { at, value: cost.div_duration_f64(interval) }));
    }
    samples
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
