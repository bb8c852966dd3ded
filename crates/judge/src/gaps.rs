//! Parts of a run in which an observer took no sample.

use std::ops::Range;

/// An interval between two observations that is longer than usual by more than this factor is a gap.
const GAP: f64 = 1.5;

/// Seconds of `window` in gaps: between two observations, before the first and after the last of a run of `run_s`.
/// `times` are ascending, in seconds of the run.
pub(crate) fn uncovered_s(times: &[f64], window: &Range<f64>, run_s: f64) -> f64 {
    let (Some(first), Some(last)) = (times.first(), times.last()) else { return window.end - window.start };
    let mut between: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    between.sort_by(f64::total_cmp);
    let usual = between.get(between.len() / 2).copied().unwrap_or(1.0).max(1.0);
    let inner = times.windows(2).map(|pair| pair[0]..pair[1]);
    let gaps = inner.chain([0.0..*first, *last..run_s]).filter(|gap| gap.end - gap.start > GAP * usual);
    // An observation represents the interval before it.
    let clipped = |gap: Range<f64>| (gap.end - usual).min(window.end) - gap.start.max(window.start);
    gaps.fold(0.0, |sum, gap| sum + clipped(gap).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uncovered(seconds: impl Iterator<Item = u32>, window: Range<f64>) -> f64 {
        uncovered_s(&seconds.map(f64::from).collect::<Vec<_>>(), &window, 60.0)
    }

    #[test]
    fn seconds_without_an_observation_are_missing() {
        let whole = || 0.0..60.0;
        assert_eq!(uncovered(0..60, whole()), 0.0);
        assert_eq!(uncovered((0..20).chain(30..60), whole()), 10.0);
        assert_eq!(uncovered((0..60).step_by(5), whole()), 0.0, "a longer usual interval is no gap");
        assert_eq!(uncovered(10..50, whole()), 19.0);
        assert_eq!(uncovered((0..30).step_by(5), whole()), 30.0);
        assert_eq!(uncovered(0..0, whole()), 60.0);
    }

    #[test]
    fn only_gaps_in_the_window_count() {
        assert_eq!(uncovered((0..20).chain(30..60), 25.0..60.0), 4.0);
        assert_eq!(uncovered(0..20, 0.0..15.0), 0.0);
    }
}
