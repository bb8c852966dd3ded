//! Asks every observer once a second, on a thread of its own.

use std::io;
use std::panic;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use evidence::{Instant, Notice, NoticeKind, Observed, Sample, SeriesKey};

use crate::notice::Notices;
use crate::own::own_thread_cpu;

/// The run's clock: monotonic time since the run's epoch, which this room does not know.
pub type Clock = Arc<dyn Fn() -> Instant + Send + Sync>;

/// Watches something from outside.
pub trait Observer: Send {
    /// What it watches, for notices and for the series of what watching costs.
    fn name(&self) -> &str;

    /// Looks at the present instant `at`, and returns soon: whoever asks over a network does it on a thread of its own
    /// (see the module `remote`). The first look may be the base of rates that later looks yield; what cannot be seen has no
    /// sample.
    fn sample(&mut self, at: Instant) -> Vec<(SeriesKey, Sample)>;

    /// What there is to say since this was last called.
    fn take_notices(&mut self) -> Vec<Notice>;

    /// The processor time that watching took since this was last called, besides that of the calls to
    /// [`Observer::sample`].
    fn take_cost(&mut self) -> Duration {
        Duration::ZERO
    }
}

/// A running watch. Its thread's work is part of the process's own CPU time.
#[derive(Debug)]
pub struct Watch {
    stop: Sender<()>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Starts to watch: asks every observer at once, and again at each whole second of the run, and sends
    /// what they yield. It ends of itself when nobody receives any more.
    ///
    /// # Errors
    /// When no thread can be had.
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
    /// When an observer did: its samples are not to be trusted.
    pub fn stop(mut self) {
        self.join().unwrap_or_else(|payload| panic::resume_unwind(payload));
    }

    fn join(&mut self) -> thread::Result<()> {
        // The thread may have ended of itself.
        let _ = self.stop.send(());
        self.thread.take().map_or(Ok(()), JoinHandle::join)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Whoever drops a watch without stopping it has a failure of its own to tell.
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
                seen.extend(look(observer.as_mut(), (last, at)));
            }
            let received = seen.is_empty() || self.observed.send(seen).is_ok();
            let due = next_second(at);
            if !received || wait_until(due, &self.clock, &self.stopped).is_err() {
                return;
            }
            (last, at) = (Some(at), (self.clock)());
            if let Some(missed) = missed(due, at) {
                own.say(at, NoticeKind::Late, missed);
            }
        }
    }
}

/// Whoever waited was stopped.
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

/// What `observer` sees at the second of two instants, and from the second look on what watching cost since the first.
fn look(observer: &mut dyn Observer, (last, at): (Option<Instant>, Instant)) -> Observed {
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

/// Says so when a look that was due at `due` took place at `at`, a second or more too late.
fn missed(due: Instant, at: Instant) -> Option<String> {
    let seconds = at.since(due).as_secs();
    let due_second = due.second();
    (seconds > 0)
        .then(|| format!("the look due at second {due_second} came {seconds} s late; others were left out"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_due_at_whole_seconds() {
        let next = |nanos| next_second(Instant::from_nanos(nanos)).as_nanos();
        assert_eq!(next(0), 1_000_000_000);
        assert_eq!(next(999_999_999), 1_000_000_000);
        assert_eq!(next(1_000_000_000), 2_000_000_000);
    }

    #[test]
    fn a_look_that_comes_late_is_told() {
        let at = |millis| Instant::at(Duration::from_millis(millis));
        assert_eq!(missed(at(3_000), at(3_999)), None);
        insta::assert_snapshot!(
            missed(at(3_000), at(5_100)).unwrap(),
            @"the look due at second 3 came 2 s late; others were left out"
        );
    }
}
