//! How far a probe is from the bound of an objective.
//!
//! Times, means and rates by the logarithm of their ratio to the bound; shares of requests, which may be 0, by the logarithm of
//! the ratio of odds, with half a request added to either side (Haldane 1956, Anscombe 1956). Positive is within the bound.

use workload::{Measure, Objective, Statistic};

use crate::measure::Value;

/// A margin is cut at this distance on either side of the bound: how far beyond it a target is that collapsed says nothing, nor
/// how far within it one is that is idle. Cut on one side alone, a target that falls from one to the other is never shown to break.
pub(super) const CLIP: f64 = 2.0 * std::f64::consts::LN_2;
/// Times are kept to three digits.
const TIME_ERROR: f64 = 0.000_5;
/// Numbers that never vary are not known more exactly than this.
const OTHER_ERROR: f64 = 0.000_1;
/// How many failures count as one, where no failure shows how they cluster.
const CLUSTERED: f64 = 10.0;

/// A margin with what is known of its error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Margin {
    pub(super) margin: f64,
    /// Its deviation by counting alone.
    pub(super) error: f64,
}

/// What a probe measured of an objective.
pub(super) struct Measured<'a> {
    pub(super) slo: &'a Objective,
    pub(super) value: &'a Value,
    /// How many observations there are.
    pub(super) samples: u64,
    /// Requests that it counts of those offered, a second; none where the target decides how many are.
    pub(super) offered_per_s: Option<f64>,
    /// The load of the probe as a multiple of the plan's.
    pub(super) factor: f64,
    /// How long it was measured, in seconds.
    pub(super) seconds: f64,
}

impl Measured<'_> {
    /// Its margin.
    ///
    /// # Errors
    /// Why there is none, in a sentence.
    pub(super) fn margin(&self) -> Result<Margin, String> {
        let (value, bound) = match self.value {
            Value::Missing(why) | Value::Unselected(why) => return Err(why.clone()),
            Value::Infinite => return Ok(self.cut(Margin { margin: -CLIP, error: TIME_ERROR })),
            Value::Finite(value) => (*value, self.slo.bound),
        };
        let margin = match &self.slo.measure {
            Measure::ErrorRate | Measure::CheckRate { .. } => {
                self.upper(odds(Share { value, of: self.samples as f64 }, bound))
            }
            Measure::Goodput { .. } | Measure::Throughput => match self.offered_per_s {
                Some(offered) if offered > 0.0 => {
                    let share = Share { value: value / offered, of: offered * self.seconds };
                    self.upper(odds(share, bound * self.factor / offered))
                }
                _ => self.upper(ratio(value, bound, OTHER_ERROR)),
            },
            measure => self.upper(ratio(value, bound, error_of(measure))),
        };
        Ok(self.cut(margin))
    }

    /// Margins are made for upper bounds.
    fn upper(&self, margin: Margin) -> Margin {
        match self.slo.comparison.is_upper() {
            true => margin,
            false => Margin { margin: -margin.margin, ..margin },
        }
    }

    fn cut(&self, margin: Margin) -> Margin {
        Margin { margin: margin.margin.clamp(-CLIP, CLIP), ..margin }
    }
}

fn error_of(measure: &Measure) -> f64 {
    match measure {
        Measure::ResponseTime(Statistic::Max) | Measure::ServiceTime(_) | Measure::ResponseTime(_) => {
            TIME_ERROR
        }
        Measure::IterationTime(_) => TIME_ERROR,
        _ => OTHER_ERROR,
    }
}

fn ratio(value: f64, bound: f64, error: f64) -> Margin {
    let margin = if value > 0.0 { (bound / value).ln() } else { CLIP };
    Margin { margin, error }
}

struct Share {
    value: f64,
    of: f64,
}

fn odds(share: Share, bound: f64) -> Margin {
    let Share { value, of } = share;
    let bound = bound.clamp(0.5 / (of + 1.0), 1.0 - 0.5 / (of + 1.0));
    let part = (value.clamp(0.0, 1.0) * of + 0.5) / (of + 1.0);
    let logit = |share: f64| (share / (1.0 - share)).ln();
    let clustered = if value <= 0.0 || value >= 1.0 { CLUSTERED } else { 1.0 };
    Margin {
        margin: logit(bound) - logit(part),
        error: (clustered / (of * bound * (1.0 - bound)).max(1e-9)).sqrt(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::objective::parse;

    fn margin(text: &str, value: Value, samples: u64) -> f64 {
        let slo = parse("slo", text).unwrap();
        let measured = Measured {
            slo: &slo,
            value: &value,
            samples,
            offered_per_s: Some(200.0),
            factor: 2.0,
            seconds: 50.0,
        };
        measured.margin().unwrap().margin
    }

    #[test]
    fn a_margin_is_positive_within_the_bound_whatever_its_direction() {
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 0.01, "{found} {expected}");
        near(margin("p95(list) < 50ms", Value::Finite(25.0), 1_000), 0.693);
        near(margin("p95(list) < 50ms", Value::Finite(100.0), 1_000), -0.693);
        near(margin("p95(list) < 50ms", Value::Infinite, 1_000), -CLIP);
        near(margin("p95(list) < 50ms", Value::Finite(0.1), 1_000), CLIP);
        near(margin("p95(list) < 50ms", Value::Finite(5_000.0), 1_000), -CLIP);
        near(margin("error_rate(all) < 1%", Value::Finite(0.005), 100_000), 0.698);
        near(margin("error_rate(all) < 1%", Value::Finite(0.0), 10_000), CLIP);
        near(margin("check_rate(all) > 99%", Value::Finite(0.995), 100_000), 0.698);
        // 99/s of the plan's 100/s are 198/s of 200/s at twice its load.
        near(margin("goodput(all) >= 99/s", Value::Finite(199.0), 0), 0.68);
        assert!(margin("goodput(all) >= 99/s", Value::Finite(150.0), 0) < -1.0);
    }

    #[test]
    fn what_was_not_measured_has_no_margin() {
        let slo = parse("slo", "p95(list) < 50ms").unwrap();
        let value = Value::Missing("Nothing ended.".to_owned());
        let measured =
            Measured { slo: &slo, value: &value, samples: 0, offered_per_s: None, factor: 1.0, seconds: 1.0 };
        assert_eq!(measured.margin(), Err("Nothing ended.".to_owned()));
    }
}
