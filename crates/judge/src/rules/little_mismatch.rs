//! L5: rate, time and concurrency that contradict each other.

use evidence::{Finding, RuleId, Scope, Severity, Source};

use crate::facts::concurrency::LEAST_RUN_S;
use crate::facts::{Concurrency, Facts};
use crate::rule::{AffectedClaims, Check, Rule, with_figures};
use figures::number::brief;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::L5,
    title: "little-mismatch",
    severity: Severity::Invalid,
    tests: "Little's law, L = λW, from the beginning to the end of a run of 20 s or longer: the observed \
            concurrent iterations compared with iterations a second × mean iteration time without start lag. A \
            difference of more than 2 % is a caution, of more than 5 % invalid. Not tested with fewer than 1 \
            concurrent iteration, or where an iteration has no recorded end. For an imported run: more \
            concurrent iterations than the virtual users or the concurrency that it states.",
    affects: "every objective on requests of that scenario",
    why: "Two of rate, time and concurrency determine the third: if they do not agree, one of them was measured \
          wrongly.",
    next: "Do not use this run until you know which of the three is wrong.",
    affected: AffectedClaims::Load,
    check: Check::Run(check),
};

/// A larger difference between observed and implied concurrency, as a share, is a caution …
pub(crate) const LITTLE_CAUTION: f64 = 0.02;
/// … and a larger one than this is invalid.
pub(crate) const LITTLE_INVALID: f64 = 0.05;

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = facts.concurrencies.iter().filter_map(mismatch).collect();
    findings.extend(facts.source.and_then(|source| imported(facts, source)));
    findings
}

fn mismatch(found: &Concurrency) -> Option<Finding> {
    let apart = (found.seen - found.implied).abs() / found.seen;
    let severity = severity(apart)?;
    let what = format!(
        "`{}` had {} concurrent iterations, and its rate and times imply {}: one of the three is wrong.",
        found.scenario,
        brief::significant(found.seen),
        brief::significant(found.implied)
    );
    let scope = Scope { scenario: Some(found.scenario.clone()), ..Scope::default() };
    Some(with_figures(RULE.finding(severity, scope, what), &figures(found.seen, found.implied)))
}

/// For another tool only the largest possible concurrency is known. A lower one is possible, a higher one is not.
fn imported(facts: &Facts<'_>, source: &Source) -> Option<Finding> {
    let LargestAndImplied { largest, implied } = virtual_users(facts).or_else(|| stated(source))?;
    let severity = severity(implied / largest - 1.0)?;
    let what = format!(
        "{} reports at most {} concurrent iterations, and its rate and times imply {}: one of the three is wrong.",
        source.tool,
        brief::significant(largest),
        brief::significant(implied)
    );
    let finding = RULE.finding(severity, Scope::default(), what);
    Some(with_figures(finding, &figures(largest, implied)))
}

/// The concurrency of an imported run.
struct LargestAndImplied {
    /// The largest that its source states.
    largest: f64,
    /// Iterations a second × their mean time.
    implied: f64,
}

/// Virtual users in the mean, and the iterations recorded.
fn virtual_users(facts: &Facts<'_>) -> Option<LargestAndImplied> {
    let users = facts.virtual_users.filter(|_| facts.seconds >= LEAST_RUN_S)?;
    let scenario_phases = facts.figures.scenario_phases.iter();
    let took_s: f64 = scenario_phases
        .flat_map(|scenario_phase| [&scenario_phase.iteration_ok, &scenario_phase.iteration_failed])
        .map(|times| times.mean_us().unwrap_or(0.0) * times.count() as f64 / 1e6)
        .sum();
    let implied = took_s / f64::from(facts.seconds);
    (users > 0.0 && took_s > 0.0).then_some(LargestAndImplied { largest: users, implied })
}

/// Figures of the source itself: the concurrency of ghz, the highest number of virtual users of k6.
fn stated(source: &Source) -> Option<LargestAndImplied> {
    let figure =
        |of: &str, name: &str| source.figures.iter().find(|f| f.of == of && f.name == name).map(|f| f.value);
    let ghz = || {
        let largest = source.facts.get("concurrency")?.parse::<f64>().ok()?;
        let implied = figure("all calls", "rate")? * figure("all calls", "avg")? / 1_000.0;
        Some(LargestAndImplied { largest, implied })
    };
    let k6 = || {
        let largest = figure("vus_max", "max").or_else(|| figure("vus_max", "value"))?;
        let implied = figure("iterations", "rate")? * figure("iteration_duration", "avg")? / 1_000.0;
        Some(LargestAndImplied { largest, implied })
    };
    ghz().or_else(k6).filter(|found| found.largest > 0.0 && found.implied.is_finite())
}

fn severity(apart: f64) -> Option<Severity> {
    match apart {
        apart if apart > LITTLE_INVALID => Some(Severity::Invalid),
        apart if apart > LITTLE_CAUTION => Some(Severity::Caution),
        _ => None,
    }
}

fn figures(seen: f64, implied: f64) -> [(&'static str, f64, &'static str); 3] {
    [("concurrent", seen, "1"), ("rate × time", implied, "1"), ("threshold", LITTLE_INVALID * 100.0, "%")]
}

#[cfg(test)]
mod tests {
    use evidence::{SeriesKey, Source, SourceFigure};

    use crate::testing::{Load, TestRun, five_minutes};

    /// 50 iterations a second, each of 101 ms: five are concurrent.
    fn with_active(active: f64) -> TestRun {
        let mut test_run = five_minutes(|_| Load { us: 100_000, ..Load::ok(50) });
        test_run.observe(&SeriesKey::new("active", SeriesKey::GENERATOR, "1").part("play"), 0..300, active);
        test_run
    }

    #[test]
    fn concurrency_is_rate_times_time() {
        let found = |active| with_active(active).findings(super::check).lines().next().unwrap().to_owned();
        assert_eq!(found(5.02), "nothing");
        insta::assert_snapshot!(found(5.2), @"caution [play] `play` had 5.2 concurrent iterations, and its rate and times imply 5.02: one of the three is wrong.");
        insta::assert_snapshot!(found(6.0), @"invalid [play] `play` had 6 concurrent iterations, and its rate and times imply 5.02: one of the three is wrong.");
    }

    #[test]
    fn low_and_unobserved_concurrency_give_no_finding() {
        let mut idle = five_minutes(|_| Load::ok(50));
        idle.observe(&SeriesKey::new("active", SeriesKey::GENERATOR, "1").part("play"), 0..300, 0.9);
        assert_eq!(idle.findings(super::check), "nothing");
        assert_eq!(
            five_minutes(|_| Load::ok(50)).findings(super::check),
            "nothing",
            "concurrency was not observed"
        );
    }

    #[test]
    fn another_tool_cannot_exceed_its_own_concurrency() {
        let ghz = |rate: f64| {
            let figure = |name: &str, value, unit: &str| SourceFigure {
                of: "all calls".to_owned(),
                name: name.to_owned(),
                value,
                unit: unit.to_owned(),
            };
            let mut test_run = TestRun::unobserved();
            test_run.import(Source {
                tool: "ghz".to_owned(),
                figures: vec![figure("rate", rate, "1/s"), figure("avg", 20.0, "ms")],
                facts: [("concurrency".to_owned(), "50".to_owned())].into(),
                ..Source::default()
            });
            test_run.findings(super::check)
        };
        assert_eq!(ghz(2_400.0), "nothing", "some were idle");
        insta::assert_snapshot!(ghz(4_000.0), @r"
        invalid [] ghz reports at most 50 concurrent iterations, and its rate and times imply 80: one of the three is wrong.
          concurrent Some(50.0) 1, rate × time Some(80.0) 1, threshold Some(5.0) %
        ");
    }

    #[test]
    fn virtual_users_bound_the_concurrency() {
        let mut test_run = five_minutes(|_| Load { us: 100_000, ..Load::ok(50) });
        test_run.import(Source { tool: "k6".to_owned(), ..Source::default() });
        test_run.observe(&SeriesKey::new("virtual_users", SeriesKey::GENERATOR, "1"), 0..300, 3.0);
        insta::assert_snapshot!(test_run.findings(super::check), @r"
        invalid [] k6 reports at most 3 concurrent iterations, and its rate and times imply 5.02: one of the three is wrong.
          concurrent Some(3.0) 1, rate × time Some(5.024934999999999) 1, threshold Some(5.0) %
        ");
    }
}
