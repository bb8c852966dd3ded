//! The limits of events per second, from the scatter of seconds within a run.

use crate::batch::{correlation_factor, lag_one};
use crate::sample::{mean, standard_deviation};
use crate::student::t_quantile;

/// Batches are of so many seconds, or of a sixth of a shorter window.
const BATCH_S: usize = 10;
const LEAST_BATCHES: usize = 6;
/// With fewer whole seconds a window shows nothing of its scatter.
const LEAST_SECONDS: usize = 3;
/// A plan whose seconds differ by no more has a constant rate: whole arrivals do not divide evenly.
const ROUNDING: f64 = 1.5;

/// A window of a run, such as a phase.
#[derive(Debug, Clone, PartialEq)]
pub struct RateWindow {
    /// Its length, in seconds.
    pub length_s: f64,
    /// Events in each of its whole seconds.
    pub seconds: Vec<f64>,
    /// What was planned for each of them, in any unit; empty where nothing was.
    pub planned: Vec<f64>,
}

/// One-sided limits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateLimits {
    /// The rate is at least this.
    pub lower: f64,
    /// The rate is at most this.
    pub upper: f64,
}

/// The variance of the mean of a window's seconds.
#[derive(Debug, Clone, Copy)]
struct MeanVariance {
    variance: f64,
    degrees: f64,
}

/// The limits, each at `confidence`, one-sided, of the `rate` per second that was counted over all `windows`; none where
/// none of them has three whole seconds.
///
/// Method of batch means (A. M. Law, "Simulation Modeling and Analysis", 9.5.3): batches of 10 s, or of a sixth of a window
/// below 60 s, and their variance widened by what the lag-1 correlation of seconds leaves between batches
/// ([`crate::correlation_of_batches`]), of which a short series shows too little: by (1 + 3φ)/n (M. G. Kendall, "Note on bias
/// in the estimation of autocorrelation", Biometrika 41, 1954). What the plan changed is not scatter: where its rate varies, the residuals of the
/// regression on it are taken (a control variate, Law, 11.4). Windows are strata: the variances of their counts add up, and
/// their degrees of freedom are those of F. E. Satterthwaite, "An Approximate Distribution of Estimates of Variance
/// Components", Biometrics Bulletin 2, 1946. A window that is too short by itself is taken to vary as the most variable one.
///
/// ```
/// use stats::{RateWindow, rate_limits};
///
/// let seconds = vec![9.0, 10.0, 11.0];
/// let limits = rate_limits(10.0, &[RateWindow { length_s: 3.0, seconds, planned: Vec::new() }], 0.95).unwrap();
/// // Student's t with 2 degrees of freedom is 2.919986, and three values hide a correlation of a third: a factor of 2.
/// assert!((limits.lower - (10.0 - 2.919986 * (2.0 / 3.0f64).sqrt())).abs() < 1e-5);
/// ```
pub fn rate_limits(rate: f64, windows: &[RateWindow], confidence: f64) -> Option<RateLimits> {
    let length_s: f64 = windows.iter().map(|window| window.length_s).sum();
    let known: Vec<Option<MeanVariance>> = windows.iter().map(RateWindow::variance_of_mean).collect();
    let most = known.iter().flatten().copied().reduce(|a, b| if a.variance >= b.variance { a } else { b })?;
    let (mut variance, mut squares) = (0.0, 0.0);
    for (window, known) in windows.iter().zip(&known) {
        let MeanVariance { variance: of_mean, degrees } = known.unwrap_or(most);
        let of_count = of_mean * window.length_s.powi(2);
        variance += of_count;
        squares += of_count.powi(2) / degrees;
    }
    if variance <= 0.0 || length_s <= 0.0 {
        return Some(RateLimits { lower: rate, upper: rate });
    }
    let degrees = (variance.powi(2) / squares).floor().max(1.0) as u32;
    let half = t_quantile(confidence, degrees) * variance.sqrt() / length_s;
    Some(RateLimits { lower: rate - half, upper: rate + half })
}

impl RateWindow {
    fn variance_of_mean(&self) -> Option<MeanVariance> {
        let count = self.seconds.len();
        let rest = self.unplanned()?;
        let length = (count / LEAST_BATCHES).clamp(1, BATCH_S);
        let batches = count / length;
        let batch = |at: usize| mean(&rest.values[at * count / batches..(at + 1) * count / batches]);
        let means: Vec<f64> = (0..batches).filter_map(batch).collect();
        let degrees = batches.checked_sub(1 + rest.regressors).filter(|degrees| *degrees > 0)? as f64;
        // The residuals of a regression have fewer degrees of freedom than values around a mean.
        let own = standard_deviation(&means)?.powi(2) * (batches - 1) as f64 / degrees / batches as f64;
        let seen = lag_one(&rest.values);
        let phi = seen + (1.0 + 3.0 * seen.max(0.0)) / count as f64;
        Some(MeanVariance { variance: own * correlation_factor(phi, length), degrees })
    }

    /// What the plan does not explain of each second; none with too few seconds.
    fn unplanned(&self) -> Option<Unplanned> {
        let middle = mean(&self.seconds).filter(|_| self.seconds.len() >= LEAST_SECONDS)?;
        let own = self.seconds.iter().map(|count| count - middle);
        let planned = if self.planned.len() == self.seconds.len() { &self.planned[..] } else { &[] };
        let (least, most) = planned.iter().fold((f64::MAX, f64::MIN), |(l, m), p| (l.min(*p), m.max(*p)));
        let Some(planned_mean) = mean(planned).filter(|_| most - least > ROUNDING) else {
            return Some(Unplanned { values: own.collect(), regressors: 0 });
        };
        let off_plan = || planned.iter().map(|planned| planned - planned_mean);
        let squares: f64 = off_plan().map(|off| off * off).sum();
        let slope = own.clone().zip(off_plan()).map(|(own, off)| own * off).sum::<f64>() / squares;
        let values = own.zip(off_plan()).map(|(own, off)| own - slope * off).collect();
        Some(Unplanned { values, regressors: 1 })
    }
}

struct Unplanned {
    values: Vec<f64>,
    regressors: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(seconds: Vec<f64>) -> RateWindow {
        RateWindow { length_s: seconds.len() as f64, seconds, planned: Vec::new() }
    }

    fn width(windows: &[RateWindow]) -> f64 {
        let limits = rate_limits(0.0, windows, 0.95).unwrap();
        limits.upper - limits.lower
    }

    #[test]
    fn seconds_that_never_vary_have_limits_at_their_mean() {
        let limits = rate_limits(50.0, &[window(vec![50.0; 20])], 0.95);
        assert_eq!(limits, Some(RateLimits { lower: 50.0, upper: 50.0 }));
        assert_eq!(rate_limits(50.0, &[window(vec![50.0; 2])], 0.95), None);
        assert_eq!(rate_limits(50.0, &[], 0.95), None);
    }

    /// One request that was still in flight at the end is not proof that fewer are answered than are offered.
    #[test]
    fn one_second_that_is_short_never_shows_that_the_rate_is_lower() {
        for count in [10, 20, 60, 300] {
            let mut seconds = vec![50.0; count];
            seconds[0] = 35.0;
            let mean = mean(&seconds).unwrap();
            let limits = rate_limits(mean, &[window(seconds)], 0.95).unwrap();
            assert!(limits.upper > 50.0, "{count} {limits:?}");
        }
    }

    #[test]
    fn seconds_that_resemble_their_neighbours_say_less() {
        let alternating = window((0..120).map(|n| f64::from(n % 2)).collect());
        let slow = window((0..120).map(|n| f64::from(n / 20 % 2)).collect());
        assert!(width(&[slow]) > 10.0 * width(&[alternating]));
    }

    #[test]
    fn a_planned_ramp_is_no_scatter() {
        let seconds: Vec<f64> = (0..30).map(|n| f64::from(10 * n + n % 2)).collect();
        let planned = (0..30).map(|n| f64::from(10 * n)).collect();
        let with_plan = RateWindow { planned, ..window(seconds.clone()) };
        assert!(width(&[with_plan]) < 1.0 && width(&[window(seconds)]) > 50.0);
    }

    #[test]
    fn phases_at_different_levels_are_strata() {
        let level = |rate: f64| window((0..20).map(|n| rate + f64::from(n % 2)).collect());
        assert!(width(&[level(100.0), level(500.0)]) < 1.0);
        let short = RateWindow { length_s: 2.0, seconds: vec![100.0, 101.0], planned: Vec::new() };
        assert!(width(&[level(100.0), short]).is_finite(), "a short one is taken to vary alike");
    }

    /// Coverage by simulation: counts with a lag-1 correlation of a half, whose true mean is 0. 12 s are too few to see it.
    #[test]
    fn each_limit_is_wrong_in_about_one_of_twenty_runs() {
        let mut state = 7u64;
        let mut uniform = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        for (count, most) in [(12, 0.09), (30, 0.07), (60, 0.06), (120, 0.06)] {
            let (mut above, mut below) = (0, 0);
            for _ in 0..2_000 {
                let mut last = 0.0;
                let noise = (0..count + 20).map(|_| {
                    last = 0.5 * last + (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
                    last
                });
                let seconds: Vec<f64> = noise.skip(20).collect();
                let rate = mean(&seconds).unwrap();
                let limits = rate_limits(rate, &[window(seconds)], 0.95).unwrap();
                above += u32::from(limits.lower > 0.0);
                below += u32::from(limits.upper < 0.0);
            }
            let worst = f64::from(above.max(below)) / 2_000.0;
            assert!(worst <= most, "{count} s: {worst}");
        }
    }
}
