//! L2: arrivals that the generator dropped because it was late, and VU limits that are too low to show the longest waits.

use evidence::{Finding, RuleId, Severity};
use figures::ScenarioPhase;
use workload::Scenario;

use crate::facts::{Facts, Headroom, WorkerState};
use crate::rule::{AffectedClaims, Check, Rule, with_figures};
use crate::rules::offered_load_not_reached::DELIVERED_INVALID;
use figures::number::brief;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::L2,
    title: "dropped-or-late",
    severity: Severity::Inconclusive,
    tests: "A few arrivals were dropped because the generator was late: more than 0.1 % of those of a scenario in a phase, or of \
            one worker's, and at most the 1 % of L1. This is inconclusive. It is a caution where the processors of every target, \
            and its pools, were observed below 70 % (a pool by `…_in_use` beside `…_limit`, `…_max` or `…_size`). A VU limit \
            of an open scenario that is below peak rate × longest time limit is a caution where arrivals were dropped at it. \
            Arrivals dropped in a phase in which other work took the processor are part of S9's finding.",
    affects: "dropped arrivals: every objective on requests of that scenario and phase, but a violated one stays \
              violated; a low VU limit: objectives on times of that scenario",
    why: "An arrival that never started has no time, and near its limit a target that gets 1 % less load is far more \
          than 1 % faster.",
    next: "Give the generator more loops, cores or machines; observe the target; raise `max_vus` (`-c` of a command) where \
           the VU limit is the cause.",
    affected: AffectedClaims::LoadUnlessViolated,
    check: Check::Run(check),
};

/// An imported run of which a larger share was dropped is invalid, as L1 says it of others.
pub(crate) const LATE_INVALID: f64 = 0.01;
/// The largest share of arrivals that may be dropped because the generator was late, whatever the target's use.
pub(crate) const LATE_CAUTION: f64 = 0.001;

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let dropped = facts.figures.scenario_phases.iter().filter_map(|row| dropped(facts, row));
    dropped
        .chain(facts.workload.scenarios.iter().filter_map(|scenario| low_vu_limit(facts, scenario)))
        .collect()
}

fn dropped(facts: &Facts<'_>, row: &ScenarioPhase) -> Option<Finding> {
    let share = row.dropped_generator_late as f64 / row.scheduled.max(1) as f64;
    let worst = worst_worker(facts, row).filter(|(_, of_worker)| *of_worker > share);
    let worst_share = worst.map_or(share, |(_, of_worker)| of_worker);
    if worst_share <= LATE_CAUTION || 1.0 - share < DELIVERED_INVALID {
        return None;
    }
    let by_worker = worst.filter(|_| share <= LATE_CAUTION).map(|(worker, of_worker)| {
        format!(" They are {} of those of {}.", brief::percent(of_worker), worker.name())
    });
    let (severity, target) = match facts.headroom {
        Headroom::Ample => (Severity::Caution, "The target was at less than 70 % of its limits."),
        Headroom::Small => (Severity::Inconclusive, "The target was at 70 % of a limit or more."),
        Headroom::Unknown => {
            (Severity::Inconclusive, "How near the target was to its limits was not observed.")
        }
    };
    let what = format!(
        "{} of {} `{}` arrivals in `{}` ({}) never started: the generator was late.{} {target}",
        brief::count(row.dropped_generator_late),
        brief::count(row.scheduled),
        row.key.scenario,
        row.key.phase,
        brief::percent(share),
        by_worker.unwrap_or_default()
    );
    let figures = [
        ("dropped: generator late", row.dropped_generator_late as f64, "1"),
        ("dropped share", worst_share * 100.0, "%"),
        ("threshold", LATE_CAUTION * 100.0, "%"),
    ];
    Some(with_figures(RULE.finding(severity, row.key.scope(), what), &figures))
}

/// The worker that dropped the largest share of its arrivals, which are an equal part of all, and that share.
fn worst_worker<'f>(facts: &'f Facts<'_>, row: &ScenarioPhase) -> Option<(&'f WorkerState, f64)> {
    let own = row.scheduled as f64 / facts.workers.all.len().max(1) as f64;
    let share = |worker: &'f WorkerState| {
        let late = row.late_by_instance.iter().filter(|(of, _)| of.is_in_process_of(worker.worker.place));
        (worker, late.map(|(_, late)| *late).sum::<u64>() as f64 / own.max(1.0))
    };
    facts.workers.all.iter().map(share).max_by(|one, other| one.1.total_cmp(&other.1))
}

fn low_vu_limit(facts: &Facts<'_>, scenario: &Scenario) -> Option<Finding> {
    let longest = scenario.steps().map(|step| step.timeout).max().filter(|_| scenario.executor.is_open())?;
    let needed = scenario.executor.peak_rate() * longest.as_secs_f64();
    if f64::from(scenario.max_vus) >= needed {
        return None;
    }
    let rows = facts.figures.scenario_phases.iter().filter(|row| *row.key.scenario == *scenario.name);
    let is_reached = rows.map(|row| row.dropped_vu_limit + row.dropped_unknown).sum::<u64>() > 0;
    let (severity, consequence) = match is_reached {
        true => (Severity::Caution, "the VU limit hides the longest waits"),
        false => (Severity::Info, "a target that hangs would reach the VU limit, which this one did not"),
    };
    let what = format!(
        "`{}` may have {}; {} with a time limit of {} can need {}: {consequence}.",
        scenario.name,
        brief::counted(u64::from(scenario.max_vus), "virtual user"),
        brief::rate(scenario.executor.peak_rate()),
        brief::ms(longest.as_secs_f64() * 1e3),
        brief::significant(needed.ceil())
    );
    let figures = [("max_vus", f64::from(scenario.max_vus), "1"), ("threshold", needed, "1")];
    let scope = evidence::Scope { scenario: Some(scenario.name.clone()), ..Default::default() };
    Some(with_figures(RULE.finding(severity, scope, what), &figures))
}

#[cfg(test)]
mod tests {
    use evidence::{Instance, Key, Metric};

    use crate::testing::{Load, TestRun, worker};

    #[test]
    fn late_drops_need_a_target_with_headroom_up_to_the_limit_of_l1() {
        let of = |dropped: u64| {
            let load = Load { dropped_generator_late: dropped, ..Load::ok(1_000) };
            TestRun::new().offer("steady", "list", load).findings(super::check)
        };
        insta::assert_snapshot!(of(5), @r"
        inconclusive [steady/play] 300 of 60,300 `play` arrivals in `steady` (0.498 %) never started: the generator was late. How near the target was to its limits was not observed.
          dropped: generator late Some(300.0) 1, dropped share Some(0.4975124378109453) %, threshold Some(0.1) %
        ");
        assert_eq!(of(1), "nothing");
        assert_eq!(of(11), "nothing", "L1 says it");
    }

    #[test]
    fn a_worker_that_was_late_is_not_hidden_by_the_others() {
        let late_at = |process: u16| {
            let mut test_run = TestRun::new().offer("steady", "list", Load::ok(1_000));
            test_run.edit(|manifest| manifest.workers = (1..=40).map(worker).collect());
            let place = Instance { machine: 0, process, loop_index: 0 };
            let key = Key::of(Metric::DroppedLate).scenario("play").phase("steady").endpoint("list");
            test_run.run.add(&key.instance(place), 30, 15);
            test_run.findings(super::check)
        };
        assert_eq!(late_at(0), "nothing");
        let found = late_at(3);
        assert!(found.contains("They are 1 % of those of worker 3 (127.0.0.1:7403)"), "{found}");
    }

    #[test]
    fn a_low_vu_limit_hides_the_longest_waits() {
        let mut test_run = TestRun::new().offer("steady", "list", Load::ok(100));
        test_run.workload.scenarios[0].max_vus = 600;
        insta::assert_snapshot!(test_run.findings(super::check), @r"
    info [play] `play` may have 600 virtual users; 85.71/s with a time limit of 10 s can need 858: a target that hangs would reach the VU limit, which this one did not.
      max_vus Some(600.0) 1, threshold Some(857.1428571428571) 1
    ");
        let key = Key::of(Metric::DroppedCap).scenario("play").phase("steady").endpoint("list");
        test_run.run.add(&key, 30, 1);
        insta::assert_snapshot!(test_run.findings(super::check), @r#"
        caution [play] `play` may have 600 virtual users; 85.71/s with a time limit of 10 s can need 858: the VU limit hides the longest waits.
          max_vus Some(600.0) 1, threshold Some(857.1428571428571) 1
        "#);
    }
}
