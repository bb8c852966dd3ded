//! Asks every observer once a second, on a thread of its own.

use std::io;
use std::panic;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use evidence::{Instant, Sample, SeriesKey};

use crate::notice::{Notice, NoticeKind, Notices};

/// The run's clock: monotonic time since the run's epoch, which this room does not know.
pub type Clock = Arc<dyn Fn() -> Instant + Send + Sync>;

/// Samples of all observers, taken for one second of the run.
pub type Batch = Vec<(SeriesKey, Sample)>;

/// Watches something from outside.
pub trait Observer: Send {
    /// What it watches, for notices.
    fn name(&self) -> &str;

    /// Looks at the present instant `at`. The first look may be the base of rates that later looks yield;
    /// what cannot be seen has no sample.
    fn sample(&mut self, at: Instant) -> Vec<(SeriesKey, Sample)>;

    /// What there is to say since this was last called.
    fn take_notices(&mut self) -> Vec<Notice>;
}

/// A running watch. Its thread's work is part of the process's own CPU time.
#[derive(Debug)]
pub struct Watch {
    stop: Sender<()>,
    thread: Option<JoinHandle<Vec<Notice>>>,
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
        batches: Sender<Batch>,
    ) -> io::Result<Watch> {
        let (stop, stopped) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("observe".to_owned())
            .spawn(move || Round { observers, clock, batches, stopped }.run())?;
        Ok(Watch { stop, thread: Some(thread) })
    }

    /// Stops at once and hands over every notice, in order of time.
    ///
    /// # Panics
    /// When an observer did: its samples are not to be trusted.
    pub fn stop(mut self) -> Vec<Notice> {
        self.join().unwrap_or_else(|payload| panic::resume_unwind(payload))
    }

    fn join(&mut self) -> thread::Result<Vec<Notice>> {
        // The thread may have ended of itself.
        let _ = self.stop.send(());
        self.thread.take().map_or_else(|| Ok(Vec::new()), JoinHandle::join)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // Whoever drops a watch without stopping it asked for no notices.
        let _ = self.join();
    }
}

struct Round {
    observers: Vec<Box<dyn Observer>>,
    clock: Clock,
    batches: Sender<Batch>,
    stopped: Receiver<()>,
}

impl Round {
    fn run(mut self) -> Vec<Notice> {
        let mut notices = Vec::new();
        let mut own = Notices::new("watch");
        let mut at = (self.clock)();
        loop {
            let batch: Batch = self.observers.iter_mut().flat_map(|observer| observer.sample(at)).collect();
            notices.extend(self.observers.iter_mut().flat_map(|observer| observer.take_notices()));
            let received = batch.is_empty() || self.batches.send(batch).is_ok();
            let due = next_second(at);
            if !received || self.wait_until(due).is_err() {
                break;
            }
            at = (self.clock)();
            if let Some(missed) = missed(due, at) {
                own.say(at, NoticeKind::Late, missed);
            }
        }
        notices.extend(own.take());
        notices.sort_by_key(|notice| notice.at);
        notices
    }

    /// Waits until `due` has come; an error when the watch was stopped.
    fn wait_until(&self, due: Instant) -> Result<(), ()> {
        loop {
            let left = due.since((self.clock)());
            if left.is_zero() {
                return Ok(());
            }
            match self.stopped.recv_timeout(left) {
                Err(RecvTimeoutError::Timeout) => {}
                Ok(()) | Err(RecvTimeoutError::Disconnected) => return Err(()),
            }
        }
    }
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
