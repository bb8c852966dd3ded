//! Metrics of which a run has no value, because more of its requests failed than a quantile leaves out, or because it was not
//! measured. Such pairs have no mean, and without them an arm that collapses would not be seen: signs are counted, of all pairs.

/// The signs of pairs, more is worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Signs {
    pairs: u32,
    /// In which B is worse by more than the margin.
    worse: u32,
    /// In which it is better by more than that.
    better: u32,
    /// In which B alone has no finite value.
    collapsed: u32,
    /// In which A alone has none.
    recovered: u32,
}

impl Signs {
    /// Counts `differences`, more is worse: infinite where one run alone collapsed, not a number where nothing is known.
    pub(super) fn count(differences: impl Iterator<Item = f64>, margin: f64) -> Signs {
        let mut signs = Signs::default();
        for difference in differences {
            signs.pairs += 1;
            signs.worse += u32::from(difference > margin);
            signs.better += u32::from(difference < -margin);
            signs.collapsed += u32::from(difference == f64::INFINITY);
            signs.recovered += u32::from(difference == f64::NEG_INFINITY);
        }
        signs
    }

    /// The two-sided probability of signs as far from even, if no arm is worse than the other by more than the margin: of two
    /// sign tests the smaller one, twice (Bonferroni). One is of all pairs, of which one without a sign counts for neither arm; the
    /// other of those in which one run alone collapsed.
    pub(super) fn p(&self) -> f64 {
        (2.0 * self.of_all().min(self.of_collapses())).min(1.0)
    }

    fn of_all(&self) -> f64 {
        stats::sign_test(self.worse.max(self.better), self.pairs)
    }

    fn of_collapses(&self) -> f64 {
        stats::sign_test(self.collapsed.max(self.recovered), self.collapsed + self.recovered)
    }

    /// Whether what they show, if anything, is that B is worse.
    pub(super) fn are_worse(&self) -> bool {
        match self.of_collapses() < self.of_all() {
            true => self.collapsed > self.recovered,
            false => self.worse > self.better,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signs(differences: &[f64]) -> Signs {
        Signs::count(differences.iter().copied(), 0.05)
    }

    #[test]
    fn a_run_that_collapses_counts_and_one_that_was_not_measured_counts_for_neither_arm() {
        let collapses = signs(&[[f64::INFINITY; 8], [0.0; 8]].concat());
        assert!((collapses.p() - 2.0 * 2.0 / 256.0).abs() < 1e-12, "8 of 8, in 16 pairs: {}", collapses.p());
        assert!(collapses.are_worse());
        let worse = signs(&[[0.1; 15].as_slice(), &[f64::NAN]].concat());
        assert!((worse.p() - 2.0 * 2.0 * 17.0 / 65_536.0).abs() < 1e-12, "15 of 16: {}", worse.p());
        let within = signs(&[[0.04; 15].as_slice(), &[f64::INFINITY]].concat());
        assert_eq!(within.p(), 1.0, "what is within the margin has no sign");
        let better = signs(&[f64::NEG_INFINITY; 16]);
        assert!(better.p() < 1e-4 && !better.are_worse());
    }
}
