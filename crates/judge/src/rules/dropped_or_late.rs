//! L2: arrivals that the generator dropped or started late, and VU limits that are too low to show the longest waits.

use evidence::{Finding, Histogram, Instance, RuleId, Severity};
use workload::{Measure, Scenario, Statistic};

use crate::facts::{Facts, MeasuredObjective};
use crate::measure::Value;
use crate::numbers;
use crate::rule::{AffectedClaims, Check, Rule, with_figures};
use crate::tables::{EndpointStats, ScenarioPhaseStats, StatsKey};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::L2,
    title: "dropped-or-late",
    severity: Severity::Invalid,
    tests: "For each scenario and phase: arrivals dropped because the generator was late are invalid above 1 \
            %, a caution above 0.1 %; a 99th percentile of start lag above 5 % of the objective's limit, and at \
            least 1 ms, is invalid for that quantile (with a closed model a caution). For each open scenario: \
            a VU limit below peak rate × longest time limit is a caution.",
    affects: "dropped arrivals: every objective on requests of that scenario and phase; start lag: the \
              objective it is compared with; a low VU limit: objectives on times of that scenario",
    why: "Delay in the generator is part of every response time, and arrivals that never started have none.",
    next: "Give the generator more loops, cores or machines; raise `max_vus` where the VU limit is the cause.",
    affected: AffectedClaims::Load,
    check: Check::Run(check),
};

/// A larger share of arrivals dropped because the generator was late is invalid.
pub(crate) const LATE_INVALID: f64 = 0.01;
/// A larger share of arrivals dropped because the generator was late is a caution.
pub(crate) const LATE_CAUTION: f64 = 0.001;
/// The largest 99th percentile of start lag, as a share of an objective's limit …
pub(crate) const LAG_SHARE: f64 = 0.05;
/// … but never less than this, in milliseconds.
pub(crate) const LAG_FLOOR_MS: f64 = 1.0;

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let dropped = facts.tables.scenario_phases.iter().filter_map(dropped);
    let lag = facts.objectives.iter().flat_map(|measured| start_lag(facts, measured));
    let vu_limit = facts.workload.scenarios.iter().filter_map(low_vu_limit);
    dropped.chain(lag).chain(vu_limit).collect()
}

fn dropped(scenario_phase: &ScenarioPhaseStats) -> Option<Finding> {
    let share = scenario_phase.dropped_generator_late as f64 / scenario_phase.scheduled.max(1) as f64;
    let (severity, threshold) = match share {
        s if s > LATE_INVALID => (Severity::Invalid, LATE_INVALID),
        s if s > LATE_CAUTION => (Severity::Caution, LATE_CAUTION),
        _ => return None,
    };
    let what = format!(
        "{} of {} `{}` arrivals in `{}` ({}) never started: the generator was late.",
        numbers::count(scenario_phase.dropped_generator_late),
        numbers::count(scenario_phase.scheduled),
        scenario_phase.key.scenario,
        scenario_phase.key.phase,
        numbers::percent(share)
    );
    let figures = [
        ("dropped: generator late", scenario_phase.dropped_generator_late as f64, "1"),
        ("dropped share", share * 100.0, "%"),
        ("threshold", threshold * 100.0, "%"),
    ];
    Some(with_figures(RULE.finding(severity, scenario_phase.key.scope(), what), &figures))
}

/// The start lag of every scenario and phase that an objective's quantile counts, compared with the objective's limit.
///
/// Not with what was observed: failures count as infinitely slow and would permit more lag.
fn start_lag(facts: &Facts<'_>, measured: &MeasuredObjective<'_>) -> Vec<Finding> {
    let (
        Measure::ResponseTime(Statistic::Quantile(_)) | Measure::IterationTime(Statistic::Quantile(_)),
        Value::Finite(_),
    ) = (&measured.objective.measure, &measured.observed.value)
    else {
        return Vec::new();
    };
    let threshold = (measured.objective.bound * LAG_SHARE).max(LAG_FLOOR_MS);
    let scenario_phases = facts.tables.scenario_phases.iter().filter(|scenario_phase| {
        let counts = |endpoint: &EndpointStats| {
            endpoint.key.phase == scenario_phase.key.phase
                && endpoint.key.scenario == scenario_phase.key.scenario
        };
        measured.endpoints(&facts.tables).any(counts)
            || scenario_phase.key.matches(&measured.objective.filter)
    });
    let too_late = |scenario_phase: &ScenarioPhaseStats| {
        let (instance, p99_ms) = worst_lag_ms(scenario_phase)?;
        let lag = StartLag { instance, p99_ms, threshold_ms: threshold };
        (p99_ms > threshold).then(|| lag_finding(facts, measured, &scenario_phase.key, &lag))
    };
    scenario_phases.filter_map(too_late).collect()
}

/// The largest 99th percentile of start lag of any part of the generator, and which has it, where there are several.
fn worst_lag_ms(scenario_phase: &ScenarioPhaseStats) -> Option<(Option<Instance>, f64)> {
    let lags = &scenario_phase.start_lag;
    let p99_ms = |lag: &Histogram| lag.quantile(0.99).finite_us().map(|us| us / 1_000.0);
    let known = lags.iter().filter_map(|(instance, lag)| Some((*instance, p99_ms(lag)?)));
    let (worst, p99_ms) = known.max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some((worst.filter(|_| lags.len() > 1), p99_ms))
}

/// The start lag of a scenario in a phase, and what is allowed.
struct StartLag {
    instance: Option<Instance>,
    p99_ms: f64,
    threshold_ms: f64,
}

fn lag_finding(
    facts: &Facts<'_>,
    measured: &MeasuredObjective<'_>,
    key: &StatsKey,
    lag: &StartLag,
) -> Finding {
    let is_open = facts.is_open(&key.scenario);
    let severity = if is_open { Severity::Invalid } else { Severity::Caution };
    let mut scope = key.scope();
    scope.objective = Some(measured.name().to_owned());
    let what = format!(
        "1 % of `{}` arrivals in `{}`{} started {} late or more; {} is allowed ({} of the limit of {}, at least {}).",
        key.scenario,
        key.phase,
        lag.instance.map_or_else(String::new, |instance| format!(" on {instance}")),
        numbers::ms(lag.p99_ms),
        numbers::ms(lag.threshold_ms),
        numbers::percent(LAG_SHARE),
        numbers::ms(measured.objective.bound),
        numbers::ms(LAG_FLOOR_MS)
    );
    let figures = [
        ("start lag p99", lag.p99_ms, "ms"),
        ("limit", measured.objective.bound, "ms"),
        ("threshold", lag.threshold_ms, "ms"),
    ];
    with_figures(RULE.finding(severity, scope, what), &figures)
}

fn low_vu_limit(scenario: &Scenario) -> Option<Finding> {
    let longest = scenario.steps().map(|step| step.timeout).max().filter(|_| scenario.executor.is_open())?;
    let needed = scenario.executor.peak_rate() * longest.as_secs_f64();
    if f64::from(scenario.max_vus) >= needed {
        return None;
    }
    let what = format!(
        "`{}` may have {} virtual users; {} with a time limit of {} can need {}: the VU limit hides the longest waits.",
        scenario.name,
        numbers::count(u64::from(scenario.max_vus)),
        numbers::rate(scenario.executor.peak_rate()),
        numbers::ms(longest.as_secs_f64() * 1e3),
        numbers::significant(needed.ceil())
    );
    let figures = [("max_vus", f64::from(scenario.max_vus), "1"), ("threshold", needed, "1")];
    let scope = evidence::Scope { scenario: Some(scenario.name.clone()), ..Default::default() };
    Some(with_figures(RULE.finding(Severity::Caution, scope, what), &figures))
}

#[cfg(test)]
mod tests {
    use evidence::{Instance, Key, Metric};

    use crate::testing::{Load, TestRun};

    #[test]
    fn dropped_arrivals_and_start_lag_fire_for_their_own_phase() {
        let load = Load { dropped_generator_late: 3, lag_us: 2_600, ..Load::of(97) };
        let test_run = TestRun::new()
            .offer("warm-up", "list", Load { lag_us: 900, ..Load::of(100) })
            .offer("steady", "list", load)
            .with_objective("fast", "p95(list, phase = steady) < 50ms");
        insta::assert_snapshot!(test_run.findings(super::check), @r#"
        invalid [steady/play] 180 of 6,000 `play` arrivals in `steady` (3 %) never started: the generator was late.
          dropped: generator late Some(180.0) 1, dropped share Some(3.0) %, threshold Some(1.0) %
        invalid [steady/play/fast] 1 % of `play` arrivals in `steady` started 2.6 ms late or more; 2.5 ms is allowed (5 % of the limit of 50 ms, at least 1 ms).
          start lag p99 Some(2.60099) ms, limit Some(50.0) ms, threshold Some(2.5) ms
        "#);
    }

    #[test]
    fn a_low_vu_limit_hides_the_longest_waits() {
        let mut test_run = TestRun::new().offer("steady", "list", Load::of(100));
        test_run.workload.scenarios[0].max_vus = 600;
        insta::assert_snapshot!(test_run.findings(super::check), @r#"
        caution [play] `play` may have 600 virtual users; 85.7/s with a time limit of 10 s can need 858: the VU limit hides the longest waits.
          max_vus Some(600.0) 1, threshold Some(857.1428571428571) 1
        "#);
    }

    /// Of two loops that start as many arrivals, 1 % of one's are 40 ms late: together that is 1 in 200.
    #[test]
    fn the_start_lag_of_one_loop_is_not_hidden_by_another() {
        let mut test_run = TestRun::new()
            .offer("steady", "list", Load { lag_us: 100, ..Load::of(100) })
            .with_objective("fast", "p95(list, phase = steady) < 50ms");
        let lag = |loop_index| {
            let key = Key::of(Metric::StartLag).scenario("play").phase("steady");
            key.instance(Instance::of_loop(loop_index))
        };
        for (loop_index, micros, times) in [(0, 100, 1_000), (1, 100, 985), (1, 40_000, 15)] {
            test_run.run.record(&lag(loop_index), 30, micros, times);
        }
        insta::assert_snapshot!(test_run.findings(super::check), @r#"
        invalid [steady/play/fast] 1 % of `play` arrivals in `steady` on loop 1 started 40 ms late or more; 2.5 ms is allowed (5 % of the limit of 50 ms, at least 1 ms).
          start lag p99 Some(40.010333333333335) ms, limit Some(50.0) ms, threshold Some(2.5) ms
        "#);
    }

    #[test]
    fn start_lag_of_a_closed_model_is_a_caution() {
        let test_run = TestRun::new()
            .offer("steady", "list", Load { lag_us: 2_600, ..Load::of(100) })
            .closed(10)
            .with_objective("fast", "p95(list) < 50ms");
        insta::assert_snapshot!(test_run.findings(super::check), @r#"
        caution [steady/play/fast] 1 % of `play` arrivals in `steady` started 2.6 ms late or more; 2.5 ms is allowed (5 % of the limit of 50 ms, at least 1 ms).
          start lag p99 Some(2.60099) ms, limit Some(50.0) ms, threshold Some(2.5) ms
        "#);
    }

    /// With the failures, the observed quantile is higher.
    #[test]
    fn failures_do_not_permit_more_lag() {
        for failed in [0, 20] {
            let load =
                Load { failed, failed_us: 60_000, lag_us: 1_618, us: 32_336, ..Load::of(100 - failed) };
            let test_run =
                TestRun::new().offer("steady", "list", load).with_objective("fast", "p70(list) < 30ms");
            let findings = test_run.findings(super::check);
            assert!(findings.starts_with("invalid") && findings.contains("1.5 ms is allowed"), "{findings}");
        }
    }

    #[test]
    fn a_millisecond_of_lag_is_always_allowed() {
        let test_run = TestRun::new()
            .offer("steady", "list", Load { lag_us: 1_000, us: 3_000, ..Load::of(100) })
            .with_objective("fast", "p95(list) < 5ms");
        insta::assert_snapshot!(test_run.findings(super::check), @"nothing");
    }
}
