//! How many connections and requests a process may have; without a clock, so that it can be tested.

use std::time::Duration;

/// Between two measurements of the delay.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_millis(5);
/// The mean delay of this much time decides: longer than any single pause, short beside the time of a useful response.
const WINDOW: Duration = Duration::from_millis(50);
/// Windows in a row above the target after which they are limited: a machine that was busy with something else
/// for a moment is not an overload.
const WINDOWS_TO_LIMIT: u32 = 2;
/// Windows in a row, below the target, with no port waiting and no request refused, after which they are not limited any
/// more. A client whose attempt to connect was dropped tries again after a second.
const WINDOWS_TO_RELEASE: u32 = 24;
/// In one window their number changes by no more than to a quarter down, and by an eighth up.
const MAX_DECREASE: f64 = 0.25;
const INCREASE: f64 = 1.125;
/// While they are limited, requests may be in progress for this many targets longer than before. Tasks are not all that
/// requests wait for: the delay is small where many of them wait for the database.
const MAX_TARGETS_IN_PROGRESS: u32 = 3;

/// How late checks are, after one with this delay: half of it is the last one's. No single check exceeds the target, however
/// late it is: a machine that was busy with something else for a moment is not an overload.
pub(super) fn lateness(before: Duration, delay: Duration, target: Duration) -> Duration {
    (before + delay.min(target * 2)) / 2
}

/// What was seen in a window.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    /// Its mean delay.
    pub(super) delay: Duration,
    /// How long the requests that ended in it had been in progress, on the mean.
    pub(super) time: Duration,
    /// Whether a port waited for the limit, or a request was refused.
    pub(super) has_waited: bool,
}

#[derive(Debug)]
pub(super) struct Control {
    target: Duration,
    /// Of the window that has begun.
    elapsed: Duration,
    checks: u32,
    /// Windows in a row above the target, while not limited; or fit to release, while limited.
    in_a_row: u32,
    is_limiting: bool,
    /// How long requests were in progress in the last window in which the process was not behind.
    usual_time: Duration,
}

impl Control {
    /// `target` is how long a runnable task may wait.
    pub(super) fn new(target: Duration) -> Self {
        Self {
            target,
            elapsed: Duration::ZERO,
            checks: 0,
            in_a_row: 0,
            is_limiting: false,
            usual_time: Duration::ZERO,
        }
    }

    /// Records how long a check took; at the end of a window, returns its mean delay.
    pub(super) fn record(&mut self, took: Duration) -> Option<Duration> {
        self.elapsed += took;
        self.checks += 1;
        if self.elapsed < WINDOW {
            return None;
        }
        let mean = self.elapsed / self.checks;
        (self.elapsed, self.checks) = (Duration::ZERO, 0);
        Some(mean.saturating_sub(CHECK_INTERVAL))
    }

    /// Whether tasks wait longer than they may.
    pub(super) fn is_late(&self, delay: Duration) -> bool {
        delay > self.target
    }

    /// By how much the number of what is open may change after a window; `None` for any number.
    pub(super) fn factor(&mut self, window: Window) -> Option<f64> {
        let is_late = self.is_late(window.delay);
        let counts = if self.is_limiting { !is_late && !window.has_waited } else { is_late };
        self.in_a_row = if counts { self.in_a_row + 1 } else { 0 };
        let to_change = if self.is_limiting { WINDOWS_TO_RELEASE } else { WINDOWS_TO_LIMIT };
        if self.in_a_row >= to_change {
            (self.is_limiting, self.in_a_row) = (!self.is_limiting, 0);
        }
        if !self.is_limiting && !is_late {
            self.usual_time = window.time;
        }
        let max_time = self.usual_time + self.target * MAX_TARGETS_IN_PROGRESS;
        let excess = ratio(window.delay, self.target).max(ratio(window.time, max_time));
        let factor = if excess > 1.0 { excess.recip().max(MAX_DECREASE) } else { INCREASE };
        self.is_limiting.then_some(factor)
    }
}

fn ratio(time: Duration, most: Duration) -> f64 {
    time.as_secs_f64() / most.as_secs_f64()
}

/// How many may be open, where that many were: at least `min`.
pub(super) fn allowed(open: usize, factor: f64, min: usize) -> usize {
    ((open as f64 * factor) as usize).max(min)
}

#[cfg(test)]
mod tests {
    use super::super::MIN_OPEN;
    use super::*;

    const TARGET: Duration = Duration::from_millis(10);
    /// Each connection delays the others by as much.
    const WORK: Duration = Duration::from_micros(100);

    /// A process whose clients keep as many connections busy as they may have.
    struct Process {
        control: Control,
        open: usize,
    }

    impl Process {
        /// One window with this many clients; returns whether connections are limited after it.
        fn run(&mut self, clients: usize) -> bool {
            let delay = WORK * u32::try_from(self.open).unwrap();
            let has_waited = clients > self.open;
            let factor = self.control.factor(Window { delay, time: Duration::ZERO, has_waited });
            self.open = clients.min(factor.map_or(usize::MAX, |factor| allowed(self.open, factor, MIN_OPEN)));
            factor.is_some()
        }
    }

    #[test]
    fn connections_are_limited_to_what_keeps_the_delay_at_its_target_and_released_afterwards() {
        let mut process = Process { control: Control::new(TARGET), open: 5_000 };
        let until_limited = (1..).find(|_| process.run(5_000)).unwrap();
        assert_eq!(until_limited, WINDOWS_TO_LIMIT);
        let until_fit = (1..).find(|_| process.run(5_000) && process.open <= 100).unwrap();
        assert!(until_fit <= 6, "{until_fit}");
        for _ in 0..100 {
            assert!(process.run(5_000) && (75..=125).contains(&process.open), "{}", process.open);
        }
        let until_released = (1..).find(|_| !process.run(20)).unwrap();
        assert!((WINDOWS_TO_RELEASE..WINDOWS_TO_RELEASE + 3).contains(&until_released), "{until_released}");
    }

    /// Nearly all of the connections are idle: few of them delay others.
    #[test]
    fn clients_with_few_requests_get_more_connections() {
        let mut process = Process { control: Control::new(TARGET), open: MIN_OPEN };
        process.control.is_limiting = true;
        for _ in 0..60 {
            let delay = WORK * u32::try_from(process.open / 100).unwrap();
            let factor =
                process.control.factor(Window { delay, time: Duration::ZERO, has_waited: true }).unwrap();
            process.open = allowed(process.open, factor, MIN_OPEN);
        }
        assert!(process.open > 9_000, "{}", process.open);
    }

    #[test]
    fn a_short_pause_limits_nothing() {
        let mut control = Control::new(TARGET);
        let window = |delay| Window { delay, time: Duration::ZERO, has_waited: false };
        for _ in 0..100 {
            for delay in [TARGET * 50, TARGET] {
                assert_eq!(control.factor(window(delay)), None);
            }
        }
    }

    #[test]
    fn checks_are_late_that_are_so_in_turn_with_others_but_not_a_single_one() {
        let after = |delays: &[u32]| {
            let delays = delays.iter().map(|ms| Duration::from_millis((*ms).into()));
            delays.fold(Duration::ZERO, |before, delay| lateness(before, delay, TARGET))
        };
        assert!(after(&[0, 0, 5_000]) <= TARGET);
        assert!(after(&[15, 16]) > TARGET && after(&[20, 0, 20]) > TARGET);
        assert!(after(&[20, 20, 0]) <= TARGET && after(&[9; 100]) <= TARGET);
    }

    #[test]
    fn a_window_ends_after_its_time_with_its_mean_delay() {
        let mut control = Control::new(TARGET);
        let checks = [5, 25, 5, 65].map(Duration::from_millis);
        let means: Vec<_> = checks.into_iter().map(|took| control.record(took)).collect();
        assert_eq!(means, [None, None, None, Some(Duration::from_millis(20))]);
        assert_eq!(control.record(WINDOW), Some(WINDOW - CHECK_INTERVAL));
    }
}
