//! Q2: a quantile that is the time limit, and not a time.

use std::time::Duration;

use evidence::{Finding, Severity};
use workload::{Comparison, Measure, Statistic};

use crate::facts::{Asked, Cell, Facts};
use crate::rule::{named, with_figures};
use crate::thresholds::NEAR_TIMEOUT;
use crate::words;

pub(crate) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    facts.asked.iter().filter_map(|asked| censored(facts, asked)).collect()
}

fn censored(facts: &Facts<'_>, asked: &Asked<'_>) -> Option<Finding> {
    let Measure::ResponseTime(Statistic::Quantile(q)) = asked.objective.measure else { return None };
    let (mut cut_off, mut shortest) = (0, Duration::MAX);
    for cell in asked.cells(&facts.tables) {
        let Some(limit) = limit(facts, cell) else { continue };
        let from_us = u64::try_from(limit.mul_f64(NEAR_TIMEOUT).as_micros()).unwrap_or(u64::MAX);
        let here = cell.ok.count_from_us(from_us) + cell.failed.count_from_us(from_us);
        if here > 0 {
            (cut_off, shortest) = (cut_off + here, shortest.min(limit));
        }
    }
    let share = cut_off as f64 / asked.observed.samples.max(1) as f64;
    if cut_off == 0 || share < 1.0 - q - 1e-12 {
        return None;
    }
    let limit_ms = shortest.as_secs_f64() * 1e3;
    // A bound below the limit is missed whatever the true value.
    let is_missed = matches!(asked.objective.comparison, Comparison::Below | Comparison::AtMost)
        && asked.objective.bound < limit_ms * NEAR_TIMEOUT;
    let severity = if is_missed { Severity::Caution } else { Severity::Invalid };
    let what = format!(
        "{} is the time limit of {}: {} of arrivals ran into it; the true value is unknown, at least {}.",
        words::quantile(q),
        words::ms(limit_ms),
        words::percent(share),
        words::ms(limit_ms * NEAR_TIMEOUT)
    );
    let figures = [
        ("share at the time limit", share * 100.0, "%"),
        ("threshold", (1.0 - q) * 100.0, "%"),
        ("time limit", limit_ms, "ms"),
    ];
    Some(with_figures(named("Q2").finding(severity, asked.scope(), what), &figures))
}

/// The time limit of the step an endpoint is.
fn limit(facts: &Facts<'_>, cell: &Cell) -> Option<Duration> {
    let scenario = facts.scenario(&cell.place.scenario)?;
    scenario.steps().find(|step| *step.name == *cell.place.endpoint).map(|step| step.timeout)
}

#[cfg(test)]
mod tests {
    use evidence::Outcome;

    use crate::testing::{Bench, Load};

    fn timeouts(failed: u64) -> Bench {
        let load =
            Load { failed, outcome: Outcome::Timeout, failed_us: 10_000_000, ..Load::of(100 - failed) };
        Bench::new().offer("steady", "list", load)
    }

    #[test]
    fn a_quantile_at_the_time_limit_is_unknown() {
        let bench = timeouts(6).asks("slow", "p95(list) < 15s");
        insta::assert_snapshot!(bench.findings(super::rule), @r#"
        invalid [slow] p95 is the time limit of 10 s: 6 % of arrivals ran into it; the true value is unknown, at least 9.8 s.
          share at the time limit Some(6.0) %, threshold Some(5.000000000000004) %, time limit Some(10000.0) ms
        "#);
    }

    #[test]
    fn a_bound_below_the_time_limit_is_missed_all_the_same() {
        let bench = timeouts(6).asks("fast", "p95(list) < 50ms");
        insta::assert_snapshot!(bench.findings(super::rule), @r#"
        caution [fast] p95 is the time limit of 10 s: 6 % of arrivals ran into it; the true value is unknown, at least 9.8 s.
          share at the time limit Some(6.0) %, threshold Some(5.000000000000004) %, time limit Some(10000.0) ms
        "#);
    }

    #[test]
    fn fewer_timeouts_than_the_tail_leave_the_quantile_alone() {
        let bench = timeouts(4).asks("fast", "p95(list) < 50ms").asks("mean", "avg(list) < 50ms");
        insta::assert_snapshot!(bench.findings(super::rule), @"nothing");
    }
}
