//! Which part of a run each sample covers. Nothing else assigns samples to windows.
//!
//! Observers date a sample a little after the second that it is of: the sample of second 5 at 6.000142 s. By its instant
//! alone it would count in the window that follows. So:
//!
//! - A rate covers the interval since the sample before it. After a gap, and without a sample before it, it covers one
//!   usual interval, because what was before is not known.
//! - A level holds at its instant, and represents the second that ended there, or for what of it no earlier sample has.
//! - A statistic of a window takes whole samples: those whose interval has its middle in the window, which is the window
//!   that the sample mostly covers. A sliver of the window beside it would otherwise decide that window's highest value.
//! - An integral over a window takes of each sample what overlaps the window.
//!
//! No instant is covered twice by a series.

use crate::run::{ReadError, Run, Seconds};
use crate::series::{Sample, SampleKind, SeriesKey};
use crate::time::Instant;

const SECOND_NS: u64 = 1_000_000_000;
/// A rate whose interval is longer, in usual intervals, follows a gap. One sample that was not taken is none: the next one
/// covers its interval.
const LONGEST_INTERVALS: f64 = 2.5;
/// A rate over a shorter interval, in usual ones, is joined with the one before: CPU time is counted in steps of 10 ms,
/// which a few milliseconds would turn into whole cores.
const SHORTEST_INTERVALS: f64 = 0.5;
/// A second is covered when samples cover at least this share of it.
const COVERED_SHARE: f64 = 0.9;

/// A value and the part of the run that it is of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CoveredSample {
    /// Where its interval begins.
    pub begin: Instant,
    /// Where its interval ends: the sample's own instant.
    pub end: Instant,
    /// In the series' unit; finite.
    pub value: f64,
}

impl CoveredSample {
    /// The length of its interval, in seconds.
    pub fn length_s(&self) -> f64 {
        self.end.since(self.begin).as_secs_f64()
    }

    /// The second of the run that it is of: that of its interval's middle.
    pub fn second(&self) -> u32 {
        self.middle().second()
    }

    fn middle(&self) -> Instant {
        let (begin, end) = (self.begin.as_nanos(), self.end.as_nanos());
        Instant::from_nanos(begin + end.saturating_sub(begin) / 2)
    }
}

/// A half-open part of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Its first instant.
    pub begin: Instant,
    /// The first instant after it.
    pub end: Instant,
}

impl Window {
    /// The window of whole seconds.
    pub fn new(seconds: &Seconds) -> Window {
        let at = |second: u32| Instant::from_nanos(u64::from(second) * SECOND_NS);
        Window { begin: at(seconds.start), end: at(seconds.end) }
    }

    /// The time that a sample and the window have in common, in seconds.
    fn overlap_s(self, sample: &CoveredSample) -> f64 {
        sample.end.min(self.end).since(sample.begin.max(self.begin)).as_secs_f64()
    }
}

/// The integral of a series over a window.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Integral {
    /// Sum of value × time, in the series' unit times seconds.
    pub sum: f64,
    /// The time of the window that samples cover, in seconds.
    pub covered_s: f64,
}

/// The samples of one series with what each covers, ascending. Values that are not finite are left out.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Coverage {
    samples: Vec<CoveredSample>,
    /// The second in which the watch ended, if it ended with a sample: observers are due at whole seconds, so that a second
    /// with two samples has the due one and the one at the end of the watch. No rate is due in the first second.
    closed_in: Option<u32>,
}

impl Coverage {
    /// Every sample of `series`. All are read, because the intervals of a window need its neighbours.
    ///
    /// # Errors
    /// [`ReadError`] when the evidence cannot be read.
    pub fn read(run: &dyn Run, series: &SeriesKey) -> Result<Coverage, ReadError> {
        Ok(Coverage::of_samples(series.kind(), &run.samples(series, 0..u32::MAX)?))
    }

    /// What each of `samples`, which are ascending, covers.
    pub fn of_samples(kind: SampleKind, samples: &[Sample]) -> Coverage {
        let closed_in = match (kind, samples) {
            (_, [.., due, last]) if due.at.second() == last.at.second() => Some(last.at.second()),
            (SampleKind::Rate, [only]) if only.at.second() == 0 => Some(0),
            _ => None,
        };
        let mut coverage = Coverage { samples: Vec::with_capacity(samples.len()), closed_in };
        let usual_ns = usual_interval_ns(samples);
        let mut before = None;
        for sample in samples {
            let begin = match kind {
                SampleKind::Rate => beginning_of_rate(before, sample.at, usual_ns),
                SampleKind::Level => earlier(sample.at, SECOND_NS).max(before.unwrap_or_default()),
            };
            before = Some(sample.at);
            let covered = CoveredSample { begin: begin.min(sample.at), end: sample.at, value: sample.value };
            match kind {
                _ if !sample.value.is_finite() => {}
                SampleKind::Rate => coverage.add_rate(covered, usual_ns),
                SampleKind::Level => coverage.samples.push(covered),
            }
        }
        coverage
    }

    fn add_rate(&mut self, rate: CoveredSample, usual_ns: u64) {
        let intervals = |from: Instant| rate.end.since(from).as_nanos() as f64 / usual_ns as f64;
        let last = self.samples.last_mut().filter(|last| {
            last.end == rate.begin
                && intervals(rate.begin) < SHORTEST_INTERVALS
                && intervals(last.begin) <= LONGEST_INTERVALS
        });
        match last {
            Some(last) => {
                let sum = last.value * last.length_s() + rate.value * rate.length_s();
                last.end = rate.end;
                last.value = if last.begin < last.end { sum / last.length_s() } else { rate.value };
            }
            None if rate.begin < rate.end => self.samples.push(rate),
            None => {}
        }
    }

    /// All samples.
    pub fn all(&self) -> &[CoveredSample] {
        &self.samples
    }

    /// The samples that mostly cover `window` and no other: those whose intervals have their middle in it.
    pub fn within(&self, window: Window) -> &[CoveredSample] {
        let from = self.samples.partition_point(|sample| sample.middle() < window.begin);
        let to = self.samples.partition_point(|sample| sample.middle() < window.end);
        self.samples.get(from..to).unwrap_or_default()
    }

    /// The integral over `window` of what samples cover of it.
    pub fn integral(&self, window: Window) -> Integral {
        let from = self.samples.partition_point(|sample| sample.end <= window.begin);
        let overlapping = self.samples[from..].iter().take_while(|sample| sample.begin < window.end);
        overlapping.fold(Integral::default(), |integral, sample| {
            let overlap_s = window.overlap_s(sample);
            Integral {
                sum: integral.sum + sample.value * overlap_s,
                covered_s: integral.covered_s + overlap_s,
            }
        })
    }

    /// Whether the samples cover enough of a second.
    fn covers(&self, second: u32) -> bool {
        self.integral(Window::new(&(second..second + 1))).covered_s >= COVERED_SHARE
    }

    /// Whether a second is between the first and the last instant that samples cover.
    fn reaches(&self, second: u32) -> bool {
        let Window { begin, end } = Window::new(&(second..second + 1));
        self.samples.first().is_some_and(|first| first.begin < end)
            && self.samples.last().is_some_and(|last| begin < last.end)
    }
}

/// The mean of `samples`, weighted by the time that each covers; none without any.
pub fn mean<'a>(samples: impl Iterator<Item = &'a CoveredSample> + Clone) -> Option<f64> {
    // Relative to the first value, so that the mean of equal values is that value and not a rounding error beside it.
    let first = samples.clone().next()?.value;
    let count = samples.clone().count();
    let length_s: f64 = samples.clone().map(CoveredSample::length_s).sum();
    // A level at the first instant of the run represents no time.
    Some(if length_s > 0.0 {
        first + samples.map(|sample| (sample.value - first) * sample.length_s()).sum::<f64>() / length_s
    } else {
        samples.map(|sample| sample.value).sum::<f64>() / count as f64
    })
}

/// The seconds of `window`, in a run of `run_s` seconds, that are covered by every one of `parts` which has samples before
/// and after them, and by at least one; as ranges, ascending. The run may be over early in its last second: that is also
/// covered when the watch ended in it with a sample.
pub fn covered_seconds(parts: &[Coverage], window: &Seconds, run_s: u32) -> Vec<Seconds> {
    let mut ranges: Vec<Seconds> = Vec::new();
    for second in window.start..window.end.min(run_s) {
        let is_last = second + 1 == run_s;
        let covers = |part: &Coverage| part.covers(second) || is_last && part.closed_in == Some(second);
        let mut reaching = parts.iter().filter(|part| part.reaches(second)).peekable();
        if reaching.peek().is_none() || !reaching.all(covers) {
            continue;
        }
        match ranges.last_mut() {
            Some(last) if last.end == second => last.end = second + 1,
            _ => ranges.push(second..second + 1),
        }
    }
    ranges
}

fn earlier(at: Instant, nanos: u64) -> Instant {
    Instant::from_nanos(at.as_nanos().saturating_sub(nanos))
}

fn beginning_of_rate(before: Option<Instant>, at: Instant, usual_ns: u64) -> Instant {
    let longest_ns = (LONGEST_INTERVALS * usual_ns as f64) as u64;
    match before {
        Some(before) if at.as_nanos().saturating_sub(before.as_nanos()) <= longest_ns => before,
        _ => earlier(at, usual_ns),
    }
}

/// The median distance of two samples in whole seconds, in nanoseconds, and one second at least: observers sample at whole
/// seconds, a little late. A shorter distance is that of a sample at the end of the watch.
fn usual_interval_ns(samples: &[Sample]) -> u64 {
    let distance = |pair: &[Sample]| pair[1].at.as_nanos().saturating_sub(pair[0].at.as_nanos());
    let mut distances: Vec<u64> = samples.windows(2).map(distance).collect();
    distances.sort_unstable();
    let median = distances.get(distances.len() / 2).copied().unwrap_or(SECOND_NS);
    median.saturating_add(SECOND_NS / 2).max(SECOND_NS) / SECOND_NS * SECOND_NS
}

#[cfg(test)]
mod tests;
