//! What happened in the window of each phase, whenever it was due.
//!
//! Times of requests belong to the phase in which they were due; requests a second belong to the one in which they ended. A
//! run file counts those again that moved from one to another ([`Metric::MovedResponseTime`]). One of a version that does not is read second by second: a second in which
//! one phase ends and another begins counts for each in proportion.

use std::time::Duration;

use crate::key::{Key, Metric, Name};
use crate::run::Run;

const SECOND_S: f64 = 1.0;

/// The window of one phase, as far as its load was offered.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseSpan {
    /// The phase's name.
    pub name: Name,
    /// Where it begins.
    pub begin: Duration,
    /// Where it ends, or its load did.
    pub end: Duration,
    /// Whether its load ended before the phase was over.
    pub is_cut: bool,
}

impl PhaseSpan {
    /// Its length, in seconds.
    pub fn length_s(&self) -> f64 {
        self.end.saturating_sub(self.begin).as_secs_f64()
    }

    /// The seconds of the run that are wholly in it.
    pub fn whole_seconds(&self) -> std::ops::Range<u32> {
        let second = |seconds: u64| u32::try_from(seconds).unwrap_or(u32::MAX);
        let begin = self.begin.as_secs() + u64::from(self.begin.subsec_nanos() > 0);
        second(begin)..second(self.end.as_secs().max(begin))
    }

    /// Whether what happened in the window can have been counted in this second: a loop that is late may be one behind.
    fn is_in(&self, second: u32) -> bool {
        let second = f64::from(second);
        second + SECOND_S >= self.begin.as_secs_f64().floor()
            && (!self.is_cut || second < self.end.as_secs_f64())
    }
}

/// The windows of a run's phases.
#[derive(Debug, Clone)]
pub struct Windows {
    spans: Vec<PhaseSpan>,
    is_counted: bool,
    recorded_s: f64,
}

impl Windows {
    /// Those of `run`, whose phases are `spans`.
    pub fn read(run: &dyn Run, spans: Vec<PhaseSpan>) -> Windows {
        let is_counted = run.manifest().counts_windows();
        Windows { spans, is_counted, recorded_s: run.recorded().as_secs_f64() }
    }

    /// The windows, in the order of the phases.
    pub fn spans(&self) -> &[PhaseSpan] {
        &self.spans
    }

    /// Whether seconds in which a phase begins or ends count in proportion, because the run file does not say more.
    pub fn are_proportional(&self) -> bool {
        let is_fraction = |at: Duration| at.subsec_nanos() > 0;
        !self.is_counted && self.spans.iter().any(|span| is_fraction(span.begin) || is_fraction(span.end))
    }

    /// By how much what `key` counts in `second` changes the count of each window: its index, and a factor of the count. What
    /// moved is taken from the window in which it was due; a second that windows share counts for each in proportion.
    pub fn shares<'w>(&'w self, key: &'w Key, second: u32) -> impl Iterator<Item = (usize, f64)> + 'w {
        let factor = move |span: &PhaseSpan| match self.is_counted {
            true if span.is_in(second) => f64::from(moved(key, &span.name)),
            true => 0.0,
            false if self.is_load(key) => self.overlap(span, second),
            false => 0.0,
        };
        self.spans.iter().map(factor).enumerate().filter(|(_, factor)| *factor != 0.0)
    }

    /// The same of what `key` counts in the whole run, of one that counts windows: 1 for the window to which it adds, −1 for
    /// the one from which it takes.
    pub fn signs<'w>(&'w self, key: &'w Key) -> impl Iterator<Item = (usize, i8)> + 'w {
        let signs = self.spans.iter().map(|span| if self.is_counted { moved(key, &span.name) } else { 0 });
        signs.enumerate().filter(|(_, sign)| *sign != 0)
    }

    fn is_load(&self, key: &Key) -> bool {
        self.spans.iter().any(|span| span.name == key.phase)
    }

    /// The share of a second that is in a window; of the run's last second, of what was recorded of it.
    fn overlap(&self, span: &PhaseSpan, second: u32) -> f64 {
        let begin = f64::from(second);
        let end = (begin + SECOND_S).min(self.recorded_s);
        let covered = span.end.as_secs_f64().min(end) - span.begin.as_secs_f64().max(begin);
        if end > begin { (covered / (end - begin)).clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// Whether what `key` counts adds to the window of `phase` (1) or moved from there (−1).
fn moved(key: &Key, phase: &Name) -> i8 {
    let is_moved =
        matches!(key.metric, Metric::MovedRequests | Metric::MovedResponseTime | Metric::MovedIterationsDone);
    let is_due = key.phase == *phase;
    match is_moved {
        false => i8::from(is_due),
        true => i8::from(key.tags.get(Key::WINDOW) == Some(phase)) - i8::from(is_due),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryRun;

    fn windows(version: u32) -> Windows {
        let manifest = crate::Manifest { schema_version: version, ..crate::Manifest::named("") };
        let mut run = MemoryRun::new(manifest);
        run.record(&Key::of(Metric::ResponseTime), 7, 1_000, 1);
        let span = |name: &str, begin: u64, end: u64| PhaseSpan {
            name: name.into(),
            begin: Duration::from_millis(begin),
            end: Duration::from_millis(end),
            is_cut: false,
        };
        Windows::read(&run, vec![span("warm-up", 0, 2_250), span("steady", 2_250, 6_000)])
    }

    fn shares(windows: &Windows, key: &Key, second: u32) -> Vec<(usize, f64)> {
        windows.shares(key, second).collect()
    }

    #[test]
    fn what_ended_elsewhere_than_it_was_due_counts_where_it_ended() {
        let windows = windows(6);
        let due = Key::of(Metric::ResponseTime).phase("warm-up");
        assert_eq!(shares(&windows, &due, 2), [(0, 1.0)]);
        let moved = Key::of(Metric::MovedResponseTime).phase("warm-up");
        assert_eq!(shares(&windows, &moved.clone().tag(Key::WINDOW, "steady"), 2), [(0, -1.0), (1, 1.0)]);
        assert_eq!(shares(&windows, &moved.tag(Key::WINDOW, ""), 7), [(0, -1.0)], "after the load");
        assert_eq!(shares(&windows, &Key::of(Metric::ResponseTime).phase("setup"), 0), []);
        assert!(!windows.are_proportional());
    }

    #[test]
    fn an_older_file_shares_the_second_of_a_boundary() {
        let windows = windows(5);
        let due = Key::of(Metric::ResponseTime).phase("warm-up");
        assert_eq!(shares(&windows, &due, 1), [(0, 1.0)]);
        assert_eq!(shares(&windows, &due, 2), [(0, 0.25), (1, 0.75)]);
        assert_eq!(shares(&windows, &due, 6), [], "after the load");
        assert_eq!(shares(&windows, &Key::of(Metric::ResponseTime).phase("setup"), 0), []);
        assert!(windows.are_proportional());
    }

    #[test]
    fn whole_seconds_leave_out_those_of_a_boundary() {
        let windows = windows(6);
        let whole: Vec<_> = windows.spans().iter().map(PhaseSpan::whole_seconds).collect();
        assert_eq!(whole, [0..2, 3..6]);
    }
}
