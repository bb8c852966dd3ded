//! Whether the demand of requests excludes that a time changes, which versions that share processors hide from each other.
//!
//! Of a queue that is never idle while there is work, the time of a request is W = S·w(λS): its demand S, and a factor that grows with the
//! use. So d ln W = e·d ln λ at the same demand, and d ln W = (1 + e)·d ln S at the same load. Windows of 90 and 110 % of the load show
//! the elasticity e; the processor time of a request shows d ln S; how the two versions differ at the same moment shows what else is in
//! their times. Each is taken at its upper limit.

use evidence::{EffectScale, MetricAnswer, MetricVerdict};
use stats::Paired;
use workload::experiment::GateMetric;
use workload::{CostKind, Quantity};

use super::carry_over::differences;
use super::decide::EQUIVALENCE_PAIRS;
use super::{JudgedPair, Rulebook};

/// How many limits share the chance of a wrong exclusion.
const LIMITS: f64 = 3.0;
/// Observations that a line takes.
const OF_LINE: usize = 2;
/// Differences are not known more exactly than this.
const LEAST: f64 = 1e-4;

/// What the windows up to the last look say of demand and load.
pub(super) struct Demand {
    /// The logarithm of each window's load.
    loads: Vec<f64>,
    /// How B's processor time of a request differs from A's, for each that decides; of logarithms.
    costs: Vec<Paired>,
    /// The level of each limit.
    level: f64,
}

impl Demand {
    /// None where the load is not varied, or no processor time of a request decides.
    pub(super) fn of(rules: &Rulebook<'_>, pairs: &[JudgedPair], metrics: &[MetricAnswer]) -> Option<Demand> {
        let windows =
            rules.looks.at().iter().rev().map(|look| *look as usize).find(|look| *look <= pairs.len())?;
        let loads: Vec<f64> =
            pairs.get(..windows)?.iter().map(|pair| Some(pair.load?.ln())).collect::<Option<_>>()?;
        let is_varied = rules.together.is_load_varied && loads.iter().any(|load| *load != loads[0]);
        let is_cost = |of: &GateMetric| matches!(of.quantity, Quantity::Cost { cost: CostKind::Cpu, .. });
        let costs: Vec<Paired> = rules
            .metrics
            .iter()
            .zip(metrics)
            .filter(|(of, _)| is_cost(of))
            .map(|(_, found)| Paired::from_differences(differences(found)?.get(..windows)?, LEAST))
            .collect::<Option<_>>()?;
        let level = rules.looks.one_sided(rules.levels.exclusion / LIMITS);
        (is_varied && !costs.is_empty()).then_some(Demand { loads, costs, level })
    }

    /// The verdict on a time, and how much it grows with the load at most, where a change is excluded.
    pub(super) fn verdict(&self, time: &MetricAnswer) -> Option<(MetricVerdict, f64)> {
        let windows = self.loads.len();
        if time.scale != EffectScale::Relative {
            return None;
        }
        let own = Paired::from_differences(differences(time)?.get(..windows)?, LEAST)?;
        let elasticity = self.upper_elasticity(time)?;
        let bound = time.margin.ln_1p();
        let is_excluded = |sign: f64| {
            let upper = |of: &Paired| sign * of.mean + of.half_width(self.level);
            let demand = self.costs.iter().map(upper).fold(0.0, f64::max);
            // The version's own part as it was seen, or as large as that of its processor time.
            upper(&own).max(demand) + elasticity * demand < bound
        };
        let verdict = match [is_excluded(1.0), is_excluded(-1.0)] {
            [true, true] if windows as u32 >= EQUIVALENCE_PAIRS => MetricVerdict::Equivalent,
            [true, _] => MetricVerdict::NoRegression,
            [false, _] => return None,
        };
        Some((verdict, elasticity))
    }

    /// The upper limit of the slope of the logarithm of a time, of both versions, over that of the load; at least 0.
    fn upper_elasticity(&self, time: &MetricAnswer) -> Option<f64> {
        let both = |[a, b]: &[Option<f64>; 2]| Some(f64::midpoint((*a)?.ln(), (*b)?.ln()));
        let times: Vec<f64> = time.values.get(..self.loads.len())?.iter().map(both).collect::<Option<_>>()?;
        let degrees = times.len().checked_sub(OF_LINE).filter(|degrees| *degrees > 0)?;
        let (mean_load, mean_time) = (stats::mean(&self.loads)?, stats::mean(&times)?);
        let squares: f64 = self.loads.iter().map(|load| (load - mean_load).powi(2)).sum();
        let points = || self.loads.iter().zip(&times).map(|(x, y)| (x - mean_load, y - mean_time));
        let slope = points().map(|(x, y)| x * y).sum::<f64>() / squares;
        let rest: f64 = points().map(|(x, y)| (y - slope * x).powi(2)).sum();
        let error = (rest / degrees as f64 / squares).sqrt();
        Some((slope + stats::t_quantile(1.0 - self.level, degrees as u32) * error).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use evidence::ExperimentEnd;
    use stats::Looks;

    use super::super::tests::{NOISE, known, metric, pairs};
    use super::super::{Levels, Together, judge_experiment};
    use super::*;

    /// Windows whose times grow with the load by `elasticity`; B needs so many times the processor time.
    fn p50(elasticity: f64, dearer: f64, is_varied: bool) -> MetricAnswer {
        let load = |i: usize| if i.is_multiple_of(2) { 0.9_f64 } else { 1.1 };
        let values = (0..10).map(|i| {
            let at = |side: f64, of: usize| {
                known(20.0 * side * load(i).powf(elasticity) * (0.002 * NOISE[of]).exp())
            };
            let cost = |side: f64, of: usize| known(3.0 * side * (0.002 * NOISE[of]).exp());
            // What queueing leaves of the difference.
            vec![[at(1.0, i), at(dearer.sqrt(), 15 - i)], [cost(1.0, 15 - i), cost(dearer, i)]]
        });
        let mut all = pairs(values.collect());
        for (i, pair) in all.iter_mut().enumerate() {
            (pair.share_of_b, pair.load) = (Some(0.5), Some(if is_varied { load(i) } else { 1.0 }));
        }
        let metrics = ["p50(list)", "cpu_per_request(target = web)"].map(metric);
        let (looks, levels) = (Looks::default(), Levels::for_alarm(0.005));
        let together = Together { is_load_varied: is_varied, ..Together::default() };
        let rules =
            Rulebook { metrics: &metrics, looks: &looks, levels, accept: &[], bad_starts: None, together };
        judge_experiment(&rules, &all, ExperimentEnd::LastLook).metrics.remove(0)
    }

    #[test]
    fn a_time_is_equivalent_where_demand_times_elasticity_is_within_the_margin() {
        let equal = p50(1.0, 1.0, true);
        assert_eq!(equal.verdict, MetricVerdict::Equivalent, "{equal:?}");
        assert!(equal.because.contains("of the load"), "{}", equal.because);
        // 1 % more processor time is 1 % · (1 + 6) alone, and less than the margin at a lower load.
        assert_eq!(p50(6.0, 1.01, true).verdict, MetricVerdict::NotShown);
        assert_eq!(p50(0.5, 1.01, true).verdict, MetricVerdict::Equivalent);
        assert_eq!(p50(1.0, 1.0, false).verdict, MetricVerdict::NotShown, "the elasticity is not known");
    }
}
