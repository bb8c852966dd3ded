//! Times of versions at the same moment, compared second by second.
//!
//! A neighbour that comes and goes gives a target two states. Where each has about half of a window's requests, its median lies
//! between them, and moves from one to the other by chance. Two versions that run at the same moment have the same seconds: the
//! median over all seconds of how the two differ does not care in which of them the neighbour was there. It shows differences only: it
//! would not see a version that is slow in few seconds, which the whole window shows.

use evidence::Seconds;
use evidence::run::ReadError;
use figures::Figures;
use workload::experiment::GateMetric;
use workload::{Measure, Objective, Quantity, Statistic};

use super::JudgedPair;
use super::slot::objective;
use super::warm_up::Cuts;
use crate::compare::Side;
use crate::measure::times::Observations;

/// How many requests of a part are at least expected on either side of the quantile.
const BESIDE: f64 = 5.0;
/// Fewer parts have no median that a few of them do not move.
const FEWEST_PARTS: u64 = 8;

/// How B's value of each metric differs from A's in the median of all seconds, or of longer parts where a second has too few requests:
/// of logarithms. None of metrics that are not quantiles of times, and where there are too few requests.
///
/// # Errors
/// [`ReadError`] when the evidence of one cannot be read.
pub(super) fn differences(
    sides: [&Side<'_>; 2],
    cuts: &Cuts,
    metrics: &[GateMetric],
) -> Result<Vec<Option<f64>>, ReadError> {
    let quantiles: Vec<Option<TimeQuantile>> = metrics.iter().map(TimeQuantile::of).collect();
    if quantiles.iter().all(Option::is_none) {
        return Ok(vec![None; metrics.len()]);
    }
    let [a, b] = sides.map(|side| seconds(side, cuts, &quantiles));
    let (a, b) = (a?, b?);
    let of = |(at, quantile): (usize, &Option<TimeQuantile>)| {
        let quantile = quantile.as_ref()?;
        let of_metric = |side: &[Vec<Observations>]| -> Vec<Observations> {
            side.iter().map(|second| second[at].clone()).collect()
        };
        quantile.median_difference([&of_metric(&a), &of_metric(&b)])
    };
    Ok(quantiles.iter().enumerate().map(of).collect())
}

/// The differences of one metric; none unless each pair has one.
pub(super) fn of_pairs(pairs: &[JudgedPair], metric: usize) -> Option<Vec<f64>> {
    let all: Option<Vec<f64>> =
        pairs.iter().map(|pair| pair.by_second.get(metric).copied().flatten()).collect();
    all.filter(|all| !all.is_empty())
}

/// A quantile of times.
struct TimeQuantile {
    objective: Objective,
    q: f64,
}

impl TimeQuantile {
    fn of(metric: &GateMetric) -> Option<TimeQuantile> {
        let Quantity::Measure { measure, filter } = &metric.quantity else { return None };
        match measure {
            Measure::ResponseTime(Statistic::Quantile(q))
            | Measure::ServiceTime(Statistic::Quantile(q))
            | Measure::IterationTime(Statistic::Quantile(q)) => {
                Some(TimeQuantile { objective: objective(measure, filter), q: *q })
            }
            _ => None,
        }
    }

    fn median_difference(&self, sides: [&[Observations]; 2]) -> Option<f64> {
        let length = sides[0].len().min(sides[1].len()) as u64;
        let requests = |side: &[Observations]| side.iter().map(Observations::count).sum::<u64>();
        let fewest = requests(sides[0]).min(requests(sides[1])) as f64;
        let parts = length.min((fewest * self.q.min(1.0 - self.q) / BESIDE) as u64);
        let of_part = |part: u64| {
            let [from, to] = [part, part + 1].map(|part| (length * part / parts) as usize);
            let value = |side: &[Observations]| {
                let mut all = Observations::default();
                side[from..to].iter().for_each(|second| all.merge(second));
                all.quantile(self.q).finite_us().filter(|us| *us > 0.0)
            };
            Some(value(sides[1])?.ln() - value(sides[0])?.ln())
        };
        let differences: Vec<f64> = (0..parts).filter_map(of_part).collect();
        let are_enough = differences.len() as u64 >= FEWEST_PARTS;
        are_enough.then(|| stats::quantile(&differences, 0.5)).flatten()
    }
}

/// What each second of the measured part of a run says of each metric; the n-th second of all its phases is one.
fn seconds(
    side: &Side<'_>,
    cuts: &Cuts,
    quantiles: &[Option<TimeQuantile>],
) -> Result<Vec<Vec<Observations>>, ReadError> {
    let phases = Figures::fold(side.run, side.workload)?.phases;
    let phases: Vec<(String, Seconds)> = phases
        .iter()
        .map(|phase| (phase.name.to_string(), cuts.of_phase(&phase.name, phase.seconds())))
        .collect();
    let length = phases.iter().map(|(_, seconds)| seconds.end - seconds.start).max().unwrap_or(0);
    let second = |n: u32| {
        let nth = |(name, all): &(String, Seconds)| {
            let start = (all.start + n).min(all.end);
            (name.clone(), start..(start + 1).min(all.end))
        };
        let cuts = Cuts::within(phases.iter().map(nth).collect());
        let (run, workload) = (cuts.applied_to_run(side.run), cuts.applied_to(side.workload));
        let figures = Figures::fold(&run, &workload)?;
        let of = |quantile: &Option<TimeQuantile>| {
            let found = quantile.as_ref().map(|quantile| Observations::of(&figures, &quantile.objective));
            found.unwrap_or_default()
        };
        Ok(quantiles.iter().map(of).collect())
    };
    (0..length).map(second).collect()
}

#[cfg(test)]
mod tests {
    use evidence::{ExperimentEnd, MetricVerdict, Provenance};
    use stats::Looks;

    use super::super::tests::{NOISE, known, metric, pairs};
    use super::super::{Futility, Levels, Rulebook, SlotValue, Together, futility, judge_experiment};
    use super::*;
    use crate::testing::{Load, TestRun};

    /// The seconds of the longest phase.
    const STEADY: std::ops::Range<u32> = 10..70;

    /// A run whose requests take so long, in milliseconds, and twice that in the seconds that a neighbour takes.
    fn run(ms: f64, is_slow: impl Fn(u32) -> bool) -> TestRun {
        let mut run = TestRun::new();
        for second in STEADY {
            let factor = if is_slow(second) { 2.0 } else { 1.0 };
            run.offer_once(second, "list", Load { us: (ms * factor * 1_000.0) as u64, ..Load::ok(50) });
        }
        run
    }

    fn median_of(runs: [&TestRun; 2], of: &str) -> Option<f64> {
        let [a, b] = runs.map(|TestRun { run, workload, .. }| Side {
            name: "run",
            run,
            workload,
            provenance: Provenance::Intact,
        });
        differences([&a, &b], &Cuts::default(), &[metric(of)]).unwrap()[0]
    }

    #[test]
    fn the_median_of_the_seconds_is_not_moved_by_a_neighbour_that_has_half_of_them() {
        let a = run(10.0, |second| second % 20 < 9);
        let b = run(10.5, |second| second % 20 < 11);
        let by_second = median_of([&a, &b], "p50(list, phase = steady)").unwrap();
        assert!((by_second - 1.05_f64.ln()).abs() < 0.002, "{by_second}");
        // Of the whole window one median is that of the quiet seconds and the other that of the rest: twice as long.
        assert_eq!(median_of([&a, &b], "p95(list, phase = steady)").map(|d| d > 0.0), Some(true));
        assert_eq!(median_of([&a, &b], "error_rate(all)"), None, "no time");
        assert_eq!(median_of([&a, &b], "max(list)"), None, "no quantile");
        assert_eq!(median_of([&a, &b], "p99.9(list)"), None, "3,000 requests have 3 beyond it");
    }

    /// Windows that vary by 50 %, whose seconds say that B is so many times slower.
    fn judged(by_second: f64) -> (Vec<JudgedPair>, evidence::ExperimentJudgement) {
        let share = || SlotValue::Known { value: 0.0, error: 0.0001, lag: 0.0 };
        let values = (0..10).map(|i| {
            let [a, b] = [20.0, 20.0 * by_second * (0.5 * NOISE[i]).exp()].map(known);
            vec![[a, b], [share(), share()]]
        });
        let mut all = pairs(values.collect());
        for (pair, noise) in all.iter_mut().zip(NOISE) {
            pair.share_of_b = Some(0.5);
            pair.by_second = vec![Some(by_second.ln() + 0.005 * noise), None];
        }
        let metrics = ["p50(list)", "error_rate(all)"].map(metric);
        let looks = Looks::new(&[6, 10, 16]).unwrap();
        let rules = rules(&metrics, &looks);
        let judgement = judge_experiment(&rules, &all, ExperimentEnd::Budget);
        (all, judgement)
    }

    fn rules<'a>(metrics: &'a [GateMetric], looks: &'a Looks) -> Rulebook<'a> {
        let (levels, together) = (Levels::for_alarm(0.005), Together::default());
        Rulebook { metrics, looks, levels, accept: &[], bad_starts: None, together }
    }

    #[test]
    fn a_difference_that_whole_windows_do_not_show_is_shown_by_their_seconds() {
        let (pairs, slower) = judged(1.06);
        let p50 = &slower.metrics[0];
        assert_eq!(p50.verdict, MetricVerdict::Regressed, "{p50:?}");
        assert!(
            p50.by_second.unwrap().decides && p50.because.contains("the median of the seconds"),
            "{p50:?}"
        );
        let (low, high) = p50.interval.unwrap();
        assert!(0.04 < low && low < 0.06 && 0.06 < high && high < 0.08, "{low} to {high}");
        let without: Vec<JudgedPair> =
            pairs.into_iter().map(|pair| JudgedPair { by_second: Vec::new(), ..pair }).collect();
        let metrics = ["p50(list)", "error_rate(all)"].map(metric);
        let looks = Looks::default();
        let of_windows = judge_experiment(&rules(&metrics, &looks), &without, ExperimentEnd::Budget);
        assert_eq!(of_windows.metrics[0].verdict, MetricVerdict::NotShown);
        assert_eq!(judged(0.94).1.metrics[0].verdict, MetricVerdict::Improved);
        let equal = judged(1.0).1;
        assert_eq!(equal.metrics[0].verdict, MetricVerdict::NotShown, "seconds do not show equality");
        assert!(!equal.metrics[0].by_second.unwrap().decides);
    }

    #[test]
    fn an_experiment_goes_on_where_seconds_may_show_what_windows_do_not() {
        let open = |by_second: f64| {
            let (mut pairs, _) = judged(by_second);
            pairs.truncate(6);
            for (pair, noise) in pairs.iter_mut().zip(NOISE) {
                pair.by_second[0] = Some(by_second.ln() + 0.025 * noise);
            }
            let metrics = ["p50(list)", "error_rate(all)"].map(metric);
            let looks = Looks::default();
            let rules = rules(&metrics, &looks);
            futility(&rules, &judge_experiment(&rules, &pairs, ExperimentEnd::Decided).metrics)
        };
        assert_eq!(open(1.06), Futility::WorthIt);
        assert_eq!(open(1.0), Futility::Futile);
    }
}
