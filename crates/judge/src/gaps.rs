//! The parts of a run that observers covered, and the gaps between them.

use std::ops::Range;

/// An interval between two observations that is longer than usual by more than this factor is a gap.
const GAP: f64 = 1.5;

/// What several observers covered of a run together: the seconds of the run in which at least one of them was observed.
#[derive(Debug, Default)]
pub(crate) struct Covered {
    ranges: Vec<Range<f64>>,
}

impl Covered {
    /// Adds what the observations of one observer cover in a run of `run_s`. `times` are ascending, in seconds of the run:
    /// the instants themselves, since a second that has no observation is none that was not observed. An observation
    /// covers the time since the one before it, after a gap the usual interval. So does the run's end, if it was too
    /// early for another one.
    pub(crate) fn add(&mut self, times: &[f64], run_s: f64) {
        let Some(last) = times.last() else { return };
        let mut between: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        between.sort_by(f64::total_cmp);
        let usual = between.get(between.len() / 2).copied().unwrap_or(1.0).max(1.0);
        let is_gap = |from: f64, to: f64| to - from > GAP * usual;
        let mut before = 0.0;
        for at in times {
            let begin = if is_gap(before, *at) { at - usual } else { before };
            self.ranges.push(begin..*at);
            before = *at;
        }
        if !is_gap(*last, run_s) {
            self.ranges.push(*last..run_s);
        }
    }

    /// Seconds of `window` that no observation covers.
    pub(crate) fn missing_s(&self, window: &Range<f64>) -> f64 {
        let mut ranges: Vec<&Range<f64>> = self.ranges.iter().collect();
        ranges.sort_by(|a, b| a.start.total_cmp(&b.start));
        let (mut missing, mut until) = (0.0, window.start);
        for range in ranges {
            missing += (range.start.min(window.end) - until).max(0.0);
            until = until.max(range.end);
        }
        missing + (window.end - until).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn missing(times: &[f64], window: Range<f64>) -> f64 {
        let mut covered = Covered::default();
        covered.add(times, 60.0);
        covered.missing_s(&window)
    }

    fn at(seconds: impl Iterator<Item = u32>) -> Vec<f64> {
        seconds.map(f64::from).collect()
    }

    #[test]
    fn time_without_an_observation_is_missing() {
        let whole = || 0.0..60.0;
        assert_eq!(missing(&at(1..=60), whole()), 0.0);
        assert_eq!(missing(&at((1..=20).chain(31..=60)), whole()), 10.0);
        assert_eq!(missing(&at((5..=60).step_by(5)), whole()), 0.0, "a longer usual interval is not a gap");
        assert_eq!(missing(&at(11..=50), whole()), 20.0);
        assert_eq!(missing(&at((5..=30).step_by(5)), whole()), 30.0);
        assert_eq!(missing(&[], whole()), 60.0);
    }

    #[test]
    fn only_gaps_in_the_window_count() {
        assert_eq!(missing(&at((1..=20).chain(31..=60)), 25.0..60.0), 5.0);
        assert_eq!(missing(&at(1..=20), 0.0..15.0), 0.0);
    }

    #[test]
    fn time_that_one_of_several_covers_is_not_missing() {
        let mut covered = Covered::default();
        covered.add(&at((5..=30).step_by(5)), 60.0);
        covered.add(&at((5..=30).step_by(5)), 60.0);
        covered.add(&at((45..=60).step_by(5)), 60.0);
        assert_eq!(covered.missing_s(&(0.0..60.0)), 10.0);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Each at its second, early or late by less than a quarter.
        #[test]
        fn observations_that_are_early_or_late_leave_no_gap(
            lateness in prop::collection::vec(-0.24..0.24f64, 2..120),
            end in 0.0..1.0f64,
        ) {
            let times: Vec<f64> = lateness.iter().zip(1u32..).map(|(late, s)| f64::from(s) + late).collect();
            let run_s = lateness.len() as f64 + end;
            let mut covered = Covered::default();
            covered.add(&times, run_s);
            prop_assert_eq!(covered.missing_s(&(0.0..run_s)), 0.0);
        }

        #[test]
        fn an_outage_is_missing_but_for_what_the_first_observation_after_it_covers(
            lateness in prop::collection::vec(0.0..0.2f64, 60),
            from in 1usize..50,
            length in 2usize..9,
        ) {
            let mut times: Vec<f64> = lateness.iter().zip(1u32..).map(|(late, s)| f64::from(s) + late).collect();
            times.drain(from..from + length);
            prop_assert!((missing(&times, 0.0..60.0) - length as f64).abs() < 0.5);
        }
    }
}
