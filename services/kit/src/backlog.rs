//! How far behind a process is, told by how long a task that is ready waits for its turn, and what follows from it.
//!
//! Under more load than a process can bear, requests queue where no counter sees them: in sockets, and among the tasks
//! that are ready to run. Then each is answered too late to be of use, and nothing is refused. So a task looks every
//! few milliseconds how late it is woken. As soon as that has been too late for a while, only so many requests are let
//! in until the next look that the wait comes back to its target; the others are refused at once, which is cheap.
//! (The delay as the sign of overload, and patience before acting on it, are those of CoDel, RFC 8289.)

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// How long the wait must be above its target before anybody is refused: a machine that was busy with something else
/// for a moment is no overload.
const PATIENCE: Duration = Duration::from_millis(250);
/// How long it must be well below before everybody is let in again.
const RELIEF: Duration = Duration::from_millis(250);
/// Let in between two looks whatever the wait.
const FEWEST: usize = 4;
const EVERYBODY: usize = usize::MAX / 2;

/// A process's backlog. Clones share it.
#[derive(Debug, Clone)]
pub struct Backlog {
    /// How many more are let in until the next look.
    left: Arc<AtomicUsize>,
}

impl Backlog {
    /// Looks after the runtime that it is called on, for as long as any clone exists. `target` is the wait that is
    /// aimed at when there is more to do than can be done; zero lets everybody in whatever the wait.
    #[must_use]
    pub fn watch(target: Duration) -> Self {
        let left = Arc::new(AtomicUsize::new(EVERYBODY));
        if target.is_zero() {
            return Self { left };
        }
        let watched = Arc::downgrade(&left);
        tokio::spawn(async move {
            let mut control = Control::new(target);
            loop {
                let begun = Instant::now();
                tokio::time::sleep(LOOK_EVERY).await;
                let Some(left) = watched.upgrade() else { return };
                let wait = begun.elapsed().saturating_sub(LOOK_EVERY);
                let unused = left.load(Ordering::Relaxed);
                left.store(control.look(wait, unused), Ordering::Relaxed);
            }
        });
        Self { left }
    }

    /// Whether one more is let in.
    #[must_use]
    pub fn admits(&self) -> bool {
        self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok()
    }
}

/// What is made of each look; without a clock, so that it can be tested.
#[derive(Debug)]
struct Control {
    target: Duration,
    /// Let in until the next look.
    quota: usize,
    /// For how long the wait has been above its target, or well below it.
    late: Duration,
    relieved: Duration,
}

impl Control {
    fn new(target: Duration) -> Self {
        Self { target, quota: EVERYBODY, late: Duration::ZERO, relieved: Duration::ZERO }
    }

    /// How many are let in until the next look, after a wait and what the last quota had left.
    fn look(&mut self, wait: Duration, unused: usize) -> usize {
        let passed = wait + LOOK_EVERY;
        let admitted = self.quota.saturating_sub(unused);
        self.late = if wait > self.target { self.late + passed } else { Duration::ZERO };
        self.relieved = if wait < self.target / 2 { self.relieved + passed } else { Duration::ZERO };
        if self.relieved >= RELIEF {
            self.quota = EVERYBODY;
        } else if wait > self.target && (self.late >= PATIENCE || self.quota < EVERYBODY) {
            let fitting = admitted as f64 * self.target.as_secs_f64() / wait.as_secs_f64();
            // A fraction of a count of requests.
            self.quota = (fitting as usize).max(FEWEST);
        } else if self.quota < EVERYBODY && unused == 0 {
            self.quota += self.quota / 8 + 1;
        }
        self.quota
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// A process in which each request takes so long, offered so many a millisecond; yields what it let in a second
    /// and its longest wait, each over the last of ten seconds.
    fn offered(per_ms: f64, work: Duration, refusal: Duration) -> (f64, Duration) {
        let (mut control, mut quota, mut turn) = (Control::new(10 * MS), EVERYBODY, LOOK_EVERY);
        let (mut elapsed, mut done, mut longest) = (Duration::ZERO, 0, Duration::ZERO);
        while elapsed < 10_000 * MS {
            let arrived = (turn.as_secs_f64() * 1000.0 * per_ms).round() as usize;
            let admitted = arrived.min(quota);
            let busy = work * admitted as u32 + refusal * (arrived - admitted) as u32;
            let wait = busy.saturating_sub(LOOK_EVERY);
            turn = busy.max(LOOK_EVERY);
            elapsed += turn;
            quota = control.look(wait, quota - admitted);
            if elapsed > 9_000 * MS {
                done += admitted;
                longest = longest.max(wait);
            }
        }
        (done as f64, longest)
    }

    #[test]
    fn what_can_be_done_is_never_refused() {
        let (done, _) = offered(9.0, MS / 10, MS / 40);
        assert!(done > 8_900.0, "{done}");
    }

    #[test]
    fn at_three_times_the_best_nearly_all_the_rest_of_the_time_is_work_that_is_done() {
        // 30 a ms of 100 µs each, of which 10 could be done; refusing costs 10 µs.
        let (done, longest) = offered(30.0, MS / 10, MS / 100);
        let left_for_work = 10_000.0 * (1.0 - 0.01 * (30.0 - done / 1000.0));
        assert!(done > 0.9 * left_for_work, "{done} of {left_for_work}");
        assert!(longest < 60 * MS, "{longest:?}");
    }

    #[test]
    fn a_pause_of_the_machine_refuses_nobody() {
        let mut control = Control::new(10 * MS);
        assert_eq!(control.look(90 * MS, EVERYBODY - 300), EVERYBODY);
        assert_eq!(control.look(2 * MS, EVERYBODY - 10), EVERYBODY);
        assert_eq!(control.look(90 * MS, EVERYBODY - 300), EVERYBODY);
    }

    #[test]
    fn once_it_is_over_everybody_is_let_in_again() {
        let mut control = Control::new(10 * MS);
        control.look(90 * MS, EVERYBODY - 900);
        control.look(90 * MS, EVERYBODY - 900);
        assert!(control.look(90 * MS, EVERYBODY - 900) < 900);
        let looks = (0..100).take_while(|_| control.look(Duration::ZERO, 0) < EVERYBODY).count();
        assert!(looks <= 50, "{looks} looks of 5 ms");
    }
}
