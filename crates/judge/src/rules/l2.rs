//! L2: arrivals that were dropped late or begun late, and caps that are too low to see the worst waits.

use evidence::{Finding, Severity};
use workload::{Measure, Scenario, Statistic};

use crate::facts::{Asked, Facts, Stretch, matches};
use crate::measure::Value;
use crate::rule::{named, with_figures};
use crate::thresholds::{LAG_FLOOR_MS, LAG_SHARE, LATE_CAUTION, LATE_INVALID};
use crate::words;

pub(crate) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    let dropped = facts.tables.stretches.iter().filter_map(dropped_late);
    let lag = facts.asked.iter().flat_map(|asked| start_lag(facts, asked));
    let cap = facts.workload.scenarios.iter().filter_map(low_cap);
    dropped.chain(lag).chain(cap).collect()
}

fn dropped_late(stretch: &Stretch) -> Option<Finding> {
    let late = stretch.dropped_late as f64 / stretch.scheduled.max(1) as f64;
    let (severity, threshold) = match late {
        l if l > LATE_INVALID => (Severity::Invalid, LATE_INVALID),
        l if l > LATE_CAUTION => (Severity::Caution, LATE_CAUTION),
        _ => return None,
    };
    let what = format!(
        "{} of {} `{}` arrivals in `{}` ({}) never started: the generator was too late.",
        words::whole(stretch.dropped_late),
        words::whole(stretch.scheduled),
        stretch.place.scenario,
        stretch.place.phase,
        words::percent(late)
    );
    let figures = [
        ("dropped late", stretch.dropped_late as f64, "1"),
        ("dropped late share", late * 100.0, "%"),
        ("threshold", threshold * 100.0, "%"),
    ];
    Some(with_figures(named("L2").finding(severity, stretch.place.scope(), what), &figures))
}

/// The start lag of everything an objective's quantile counts, held against that quantile.
fn start_lag(facts: &Facts<'_>, asked: &Asked<'_>) -> Vec<Finding> {
    let (
        Measure::ResponseTime(Statistic::Quantile(q)) | Measure::IterationTime(Statistic::Quantile(q)),
        Value::Finite(gated),
    ) = (&asked.objective.measure, &asked.observed.value)
    else {
        return Vec::new();
    };
    let threshold = (gated * LAG_SHARE).max(LAG_FLOOR_MS);
    let stretches = facts.tables.stretches.iter().filter(|stretch| {
        let counts = |cell: &crate::facts::Cell| {
            cell.place.phase == stretch.place.phase && cell.place.scenario == stretch.place.scenario
        };
        asked.cells(&facts.tables).any(counts) || matches(&asked.objective.filter, &stretch.place)
    });
    let late = |stretch: &Stretch| {
        let lag = stretch.start_lag.quantile(0.99).finite_us()? / 1_000.0;
        (lag > threshold).then(|| lag_finding(facts, (asked, stretch), (*q, *gated, lag)))
    };
    stretches.filter_map(late).collect()
}

fn lag_finding(
    facts: &Facts<'_>,
    (asked, stretch): (&Asked<'_>, &Stretch),
    (q, gated, lag): (f64, f64, f64),
) -> Finding {
    let is_open = facts.is_open(&stretch.place.scenario);
    let severity = if is_open { Severity::Invalid } else { Severity::Caution };
    let threshold = (gated * LAG_SHARE).max(LAG_FLOOR_MS);
    let mut scope = stretch.place.scope();
    scope.objective = Some(asked.name().to_owned());
    let what = format!(
        "1 % of `{}` arrivals in `{}` began {} late or more; {} is allowed ({} of {} {}, at least {}).",
        stretch.place.scenario,
        stretch.place.phase,
        words::ms(lag),
        words::ms(threshold),
        words::percent(LAG_SHARE),
        words::quantile(q),
        words::ms(gated),
        words::ms(LAG_FLOOR_MS)
    );
    let figures =
        [("start lag p99", lag, "ms"), ("gated quantile", gated, "ms"), ("threshold", threshold, "ms")];
    with_figures(named("L2").finding(severity, scope, what), &figures)
}

fn low_cap(scenario: &Scenario) -> Option<Finding> {
    let longest = scenario.steps().map(|step| step.timeout).max().filter(|_| scenario.executor.is_open())?;
    let needed = scenario.executor.peak_rate() * longest.as_secs_f64();
    if f64::from(scenario.max_vus) >= needed {
        return None;
    }
    let what = format!(
        "`{}` may have {} virtual users; {} with a time limit of {} can need {}: the cap hides the worst waits.",
        scenario.name,
        words::whole(u64::from(scenario.max_vus)),
        words::rate(scenario.executor.peak_rate()),
        words::ms(longest.as_secs_f64() * 1e3),
        words::number(needed.ceil())
    );
    let figures = [("max_vus", f64::from(scenario.max_vus), "1"), ("threshold", needed, "1")];
    let scope = evidence::Scope { scenario: Some(scenario.name.clone()), ..Default::default() };
    Some(with_figures(named("L2").finding(Severity::Caution, scope, what), &figures))
}

#[cfg(test)]
mod tests {
    use crate::testing::{Bench, Load};

    #[test]
    fn late_drops_and_start_lag_fire_for_their_own_phase() {
        let load = Load { late: 3, lag_us: 2_600, ..Load::of(97) };
        let bench = Bench::new()
            .offer("warm-up", "list", Load { lag_us: 900, ..Load::of(100) })
            .offer("steady", "list", load)
            .asks("fast", "p95(list, phase = steady) < 50ms");
        insta::assert_snapshot!(bench.findings(super::rule), @r#"
        invalid [steady/play] 180 of 6,000 `play` arrivals in `steady` (3 %) never started: the generator was too late.
          dropped late Some(180.0) 1, dropped late share Some(3.0) %, threshold Some(1.0) %
        invalid [steady/play/fast] 1 % of `play` arrivals in `steady` began 2.6 ms late or more; 1 ms is allowed (5 % of p95 10.5 ms, at least 1 ms).
          start lag p99 Some(2.60099) ms, gated quantile Some(10.501444444444445) ms, threshold Some(1.0) ms
        "#);
    }

    #[test]
    fn a_low_cap_hides_the_worst_waits() {
        let mut bench = Bench::new().offer("steady", "list", Load::of(100));
        bench.workload.scenarios[0].max_vus = 600;
        insta::assert_snapshot!(bench.findings(super::rule), @r#"
        caution [play] `play` may have 600 virtual users; 85.7/s with a time limit of 10 s can need 858: the cap hides the worst waits.
          max_vus Some(600.0) 1, threshold Some(857.1428571428571) 1
        "#);
    }

    #[test]
    fn a_busy_generator_of_a_closed_model_is_a_caution() {
        let bench = Bench::new()
            .offer("steady", "list", Load { lag_us: 2_600, ..Load::of(100) })
            .closed(10)
            .asks("fast", "p95(list) < 50ms");
        insta::assert_snapshot!(bench.findings(super::rule), @r#"
        caution [steady/play/fast] 1 % of `play` arrivals in `steady` began 2.6 ms late or more; 1 ms is allowed (5 % of p95 10.5 ms, at least 1 ms).
          start lag p99 Some(2.60099) ms, gated quantile Some(10.4995) ms, threshold Some(1.0) ms
        "#);
    }

    #[test]
    fn a_millisecond_of_lag_is_always_allowed() {
        let bench = Bench::new()
            .offer("steady", "list", Load { lag_us: 1_000, us: 3_000, ..Load::of(100) })
            .asks("fast", "p95(list) < 50ms");
        insta::assert_snapshot!(bench.findings(super::rule), @"nothing");
    }
}
