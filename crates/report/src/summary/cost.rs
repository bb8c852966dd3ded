//! Costs per request: the integral of a rate over the seconds that samples cover, divided by the answers of exactly these
//! seconds.

use std::fmt;

use evidence::coverage::covered_seconds;
use evidence::{Coverage, Seconds, Window};
use figures::SecondCounts;
use serde::{Serialize, Serializer};

/// Below this covered share of the seconds asked about, there is no cost per request: part of the work was not measured.
const ENOUGH_COVERAGE: f64 = 0.9;
/// The most ranges that are written out.
const MAX_RANGES: usize = 3;

/// Ranges of whole seconds of the run, ascending; in JSON pairs of first second and end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SecondRanges(pub Vec<Seconds>);

impl SecondRanges {
    /// How many seconds there are.
    pub fn count(&self) -> u32 {
        self.0.iter().map(|range| range.end - range.start).sum()
    }
}

impl fmt::Display for SecondRanges {
    /// As in `seconds 0 to 17`, without any as `no second`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown: Vec<String> =
            self.0.iter().take(MAX_RANGES).map(|range| format!("{} to {}", range.start, range.end)).collect();
        match self.0.len().saturating_sub(MAX_RANGES) {
            _ if shown.is_empty() => f.write_str("no second"),
            0 => write!(f, "seconds {}", shown.join(", ")),
            more => write!(f, "seconds {} and {more} more ranges", shown.join(", ")),
        }
    }
}

impl Serialize for SecondRanges {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|range| [range.start, range.end]))
    }
}

/// The answers of each second of a run.
#[derive(Debug, Clone, Default)]
pub(super) struct AnswersBySecond(Vec<u64>);

impl AnswersBySecond {
    pub(super) fn of(seconds: &[SecondCounts]) -> AnswersBySecond {
        AnswersBySecond(seconds.iter().map(SecondCounts::completed).collect())
    }

    fn run_s(&self) -> u32 {
        u32::try_from(self.0.len()).unwrap_or(u32::MAX)
    }

    fn within(&self, seconds: &Seconds) -> u64 {
        self.0.get(seconds.start as usize..seconds.end as usize).unwrap_or_default().iter().sum()
    }
}

/// What a rate amounts to over the seconds that its samples cover, and the answers of these seconds.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Cost {
    /// The integral of the rate, in its unit times seconds.
    pub(super) sum: f64,
    /// Requests that ended in these seconds, in success or failure.
    pub(super) requests: u64,
    pub(super) seconds: SecondRanges,
    /// Whether these are enough of the seconds asked about.
    pub(super) is_covered: bool,
}

impl Cost {
    /// The cost of a rate that has these parts, over `window`.
    pub(super) fn of(parts: &[Coverage], window: &Seconds, answers: &AnswersBySecond) -> Cost {
        let run_s = answers.run_s();
        let seconds = SecondRanges(covered_seconds(parts, window, run_s));
        let sum_over = |seconds: &Seconds| -> f64 {
            parts.iter().map(|part| part.integral(Window::new(seconds)).sum).sum()
        };
        let asked_s = window.end.min(run_s).saturating_sub(window.start);
        Cost {
            sum: seconds.0.iter().map(sum_over).sum(),
            requests: seconds.0.iter().map(|range| answers.within(range)).sum(),
            is_covered: f64::from(seconds.count()) >= ENOUGH_COVERAGE * f64::from(asked_s),
            seconds,
        }
    }

    /// The cost of a request; none where too little is covered, and where no request ended.
    pub(super) fn per_request(&self) -> Option<f64> {
        (self.is_covered && self.requests > 0).then(|| self.sum / self.requests as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_seconds_are_named() {
        let ranges = |pairs: &[(u32, u32)]| {
            SecondRanges(pairs.iter().map(|(from, to)| *from..*to).collect()).to_string()
        };
        assert_eq!(ranges(&[]), "no second");
        assert_eq!(ranges(&[(0, 17)]), "seconds 0 to 17");
        assert_eq!(
            ranges(&[(0, 4), (7, 9), (11, 12), (13, 14), (20, 30)]),
            "seconds 0 to 4, 7 to 9, 11 to 12 and 2 more ranges"
        );
    }
}
