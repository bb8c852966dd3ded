//! Medians of few rounds, with their confidence intervals.

/// The median, the minimum and the maximum of some figures.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::bench) struct Spread {
    sorted: Vec<f64>,
    pub(in crate::bench) median: f64,
    pub(in crate::bench) least: f64,
    pub(in crate::bench) most: f64,
}

/// An interval is given when it covers the true median at least so often.
const CONFIDENCE: f64 = 0.95;

impl Spread {
    pub(in crate::bench) fn of(mut figures: Vec<f64>) -> Self {
        figures.sort_by(f64::total_cmp);
        let (least, most) = match figures[..] {
            [least, .., most] => (least, most),
            [only] => (only, only),
            [] => (f64::NAN, f64::NAN),
        };
        Self { median: median(figures.clone()), least, most, sorted: figures }
    }

    /// The interval between two of the figures that covers the true median with 95 % confidence, whatever their
    /// distribution: the ranks of the sign test (W. J. Conover, Practical Nonparametric Statistics, section 3.2).
    /// None for fewer than six figures.
    fn interval(&self) -> Option<(f64, f64)> {
        let count = self.sorted.len();
        let halves = 0.5_f64.powi(i32::try_from(count).ok()?);
        // The chance that at most `cut` of the figures lie below the median.
        let (mut chance, mut term, mut cut) = (0.0, halves, None);
        for below in 0..count / 2 {
            chance += term;
            if 2.0 * chance > 1.0 - CONFIDENCE {
                break;
            }
            cut = Some(below);
            term *= (count - below) as f64 / (below + 1) as f64;
        }
        let cut = cut?;
        Some((self.sorted[cut], self.sorted[count - 1 - cut]))
    }

    /// The median with its interval, as text.
    pub(in crate::bench) fn with_interval(&self) -> String {
        match self.interval() {
            Some((low, high)) => format!("{:.2} [{low:.2}–{high:.2}]", self.median),
            None => format!("{:.2}", self.median),
        }
    }
}

/// The median; NaN of nothing.
pub(in crate::bench) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    match figures.len() {
        0 => f64::NAN,
        count if count % 2 == 1 => figures[count / 2],
        count => f64::midpoint(figures[count / 2 - 1], figures[count / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn up_to(count: u32) -> Spread {
        Spread::of((1..=count).rev().map(f64::from).collect())
    }

    #[test]
    fn ten_figures_give_the_second_and_the_ninth() {
        // P(at most 1 of 10 below) = 11/1024, twice that is 2.1 %; with 2 it would be 10.9 %.
        assert_eq!(up_to(10).interval(), Some((2.0, 9.0)));
        assert_eq!(up_to(6).interval(), Some((1.0, 6.0)));
        assert_eq!(up_to(20).interval(), Some((6.0, 15.0)));
    }

    #[test]
    fn five_figures_give_none() {
        assert_eq!(up_to(5).interval(), None);
        assert_eq!(up_to(5).with_interval(), "3.00");
        assert_eq!((up_to(5).least, up_to(5).most), (1.0, 5.0));
    }

    #[test]
    fn the_median_of_an_even_number_lies_between_the_middle_ones() {
        assert_eq!(up_to(10).with_interval(), "5.50 [2.00–9.00]");
        assert!(median(Vec::new()).is_nan());
    }
}
