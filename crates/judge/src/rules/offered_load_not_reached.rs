//! L1: the generator offered less load than planned.

use evidence::{Finding, RuleId, Severity};
use figures::{ArrivalCounts, ScenarioPhase};

use crate::facts::Facts;
use crate::facts::WINDOW_S;
use crate::rule::{AffectedClaims, Check, Rule, with_figures};
use crate::rules::worker_vanished;
use figures::number::brief;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::L1,
    title: "offered-load-not-reached",
    severity: Severity::Invalid,
    tests: "The share of scheduled arrivals that the generator did not drop for being late, for each \
            scenario and phase: below 99 % is invalid; below 95 % in any 10 s is a caution. Arrivals dropped at \
            the VU limit do not count against the generator: they count as failed in error rates, and as infinitely slow in \
            objectives on times where a target that meets the bound would leave virtual users free; elsewhere they are unknown.",
    affects: "every objective on requests of the scenario and phase it fires in; a violated one stays violated",
    why: "A target that gets less load than planned looks faster than it is.",
    next: "Find what slowed the generator down (S9 and L3 show whether it was a neighbour or its own CPU), or plan a \
           lower rate.",
    affected: AffectedClaims::LoadUnlessViolated,
    check: Check::Run(check),
};

/// A smaller share of delivered arrivals is invalid.
pub(crate) const DELIVERED_INVALID: f64 = 0.99;
/// A smaller share of delivered arrivals in any window of [`WINDOW_S`] is a caution.
pub(crate) const DELIVERED_IN_WINDOW: f64 = 0.95;

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    facts
        .figures
        .scenario_phases
        .iter()
        .filter_map(|scenario_phase| {
            whole_phase(facts, scenario_phase).or_else(|| worst_window(scenario_phase))
        })
        .map(|finding| match facts.workers.unsent_of_vanished() {
            // A generator that was lost was not slow.
            Some(_) => Finding { next: worker_vanished::RULE.next.to_owned(), ..finding },
            None => finding,
        })
        .collect()
}

/// Over the whole phase.
fn whole_phase(facts: &Facts<'_>, scenario_phase: &ScenarioPhase) -> Option<Finding> {
    let share = delivered_share(ArrivalCounts {
        scheduled: scenario_phase.scheduled,
        dropped_generator_late: scenario_phase.dropped_generator_late,
    });
    if share >= DELIVERED_INVALID {
        return None;
    }
    let length_s =
        facts.phase(&scenario_phase.key.phase).map_or(0.0, |phase| phase.length_s()).max(f64::MIN_POSITIVE);
    let planned = scenario_phase.scheduled as f64 / length_s;
    let delivered = planned * share;
    let what = format!(
        "Planned {}, offered {} ({}). The response times are those at {}.",
        brief::rate(planned),
        brief::rate(delivered),
        brief::percent(share),
        brief::rate(delivered)
    );
    let figures = [
        ("arrivals scheduled", scenario_phase.scheduled as f64, "1"),
        ("dropped: generator late", scenario_phase.dropped_generator_late as f64, "1"),
        ("delivered share", share * 100.0, "%"),
        ("threshold", DELIVERED_INVALID * 100.0, "%"),
    ];
    Some(with_figures(RULE.finding(Severity::Invalid, scenario_phase.key.scope(), what), &figures))
}

/// Over the worst window.
fn worst_window(scenario_phase: &ScenarioPhase) -> Option<Finding> {
    let (first, last) =
        (*scenario_phase.by_second.first_key_value()?.0, *scenario_phase.by_second.last_key_value()?.0);
    let latest_start = last.saturating_sub(WINDOW_S - 1).max(first);
    let in_window = |start: u32| {
        let counts = scenario_phase.by_second.range(start..start.saturating_add(WINDOW_S));
        counts.fold(ArrivalCounts::default(), |sum, (_, counts)| ArrivalCounts {
            scheduled: sum.scheduled + counts.scheduled,
            dropped_generator_late: sum.dropped_generator_late + counts.dropped_generator_late,
        })
    };
    // Only windows that contain a second with dropped arrivals can be the worst.
    let starts = scenario_phase.by_second.iter().filter(|(_, counts)| counts.dropped_generator_late > 0);
    let starts = starts.flat_map(|(second, _)| {
        let from = second.saturating_sub(WINDOW_S - 1).max(first);
        from..=(*second).min(latest_start)
    });
    let (worst, start) =
        starts.map(|s| (delivered_share(in_window(s)), s)).min_by(|a, b| a.0.total_cmp(&b.0))?;
    if worst >= DELIVERED_IN_WINDOW {
        return None;
    }
    let what = format!(
        "Within {WINDOW_S} s from second {start} on, {} of the arrivals due were offered.",
        brief::percent(worst)
    );
    let figures = [("delivered share", worst * 100.0, "%"), ("threshold", DELIVERED_IN_WINDOW * 100.0, "%")];
    Some(with_figures(RULE.finding(Severity::Caution, scenario_phase.key.scope(), what), &figures))
}

fn delivered_share(counts: ArrivalCounts) -> f64 {
    1.0 - counts.dropped_generator_late as f64 / counts.scheduled.max(1) as f64
}

#[cfg(test)]
mod tests {
    use crate::testing::{Load, TestRun};

    #[test]
    fn arrivals_dropped_by_a_late_generator_are_invalid() {
        let test_run =
            TestRun::new().offer("steady", "list", Load { dropped_generator_late: 31, ..Load::ok(99) });
        insta::assert_snapshot!(test_run.findings(super::check), @r"
        invalid [steady/play] Planned 130/s, offered 99/s (76.2 %). The response times are those at 99/s.
          arrivals scheduled Some(7800.0) 1, dropped: generator late Some(1860.0) 1, delivered share Some(76.15384615384615) %, threshold Some(99.0) %
        ");
    }

    #[test]
    fn a_short_drop_in_delivered_load_is_a_caution() {
        let mut test_run = TestRun::new().offer("steady", "list", Load::ok(10));
        test_run.offer_once(30, "list", Load { dropped_generator_late: 10, ..Load::ok(0) });
        test_run.offer_once(60, "list", Load::ok(5_000));
        insta::assert_snapshot!(test_run.findings(super::check), @r"
        caution [steady/play] Within 10 s from second 21 on, 90.9 % of the arrivals due were offered.
          delivered share Some(90.9090909090909) %, threshold Some(95.0) %
        ");
    }

    #[test]
    fn arrivals_dropped_at_the_vu_limit_are_the_targets_slowness() {
        let test_run = TestRun::new().offer("steady", "list", Load { dropped_vu_limit: 50, ..Load::ok(100) });
        insta::assert_snapshot!(test_run.findings(super::check), @"nothing");
    }
}
