//! L4: the number of virtual users, not the plan's rate, set the load.

use evidence::{Finding, Scope, Severity};
use workload::Scenario;

use crate::facts::{Facts, Stretch};
use crate::rule::{named, with_figures};
use crate::thresholds::{AT_CAP, CAP_USE};
use crate::words;

pub(crate) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for scenario in &facts.workload.scenarios {
        match scenario.executor.peak_vus() {
            Some(vus) => findings.extend(closed(facts, scenario, vus)),
            None => findings.extend(capped(facts, scenario)),
        }
    }
    findings
}

/// A closed model: what it says holds with its number of virtual users, and is no rate that was offered.
fn closed(facts: &Facts<'_>, scenario: &Scenario, vus: u32) -> Vec<Finding> {
    let whole = Scope { scenario: Some(scenario.name.clone()), ..Scope::default() };
    let asked: Vec<_> =
        facts.asked.iter().filter(|a| a.is_about_load() && a.applies_to(&whole, &facts.tables)).collect();
    let figures = [("virtual users", f64::from(vus), "1")];
    let mut findings = Vec::new();
    for asked in asked.iter().filter(|asked| asked.is_a_rate()) {
        let what = format!(
            "`{}` is a closed model: {} virtual users and the target's own speed set the rate, which nobody offered.",
            scenario.name, vus
        );
        let scope = Scope { objective: Some(asked.name().to_owned()), ..whole.clone() };
        findings.push(with_figures(named("L4").finding(Severity::Invalid, scope, what), &figures));
    }
    if asked.iter().any(|asked| !asked.is_a_rate()) {
        let what = format!(
            "`{}` is a closed model: what it shows holds with {} virtual users, and for no rate of arrivals.",
            scenario.name, vus
        );
        findings.push(with_figures(named("L4").finding(Severity::Caution, whole, what), &figures));
    }
    findings
}

/// An open model that ran into its cap on virtual users.
fn capped(facts: &Facts<'_>, scenario: &Scenario) -> Vec<Finding> {
    let stretches = facts.tables.stretches.iter().filter(|s| *s.place.scenario == *scenario.name);
    stretches
        .filter_map(|stretch| at_cap(facts, scenario, stretch).or_else(|| near_cap(facts, scenario, stretch)))
        .collect()
}

fn at_cap(facts: &Facts<'_>, scenario: &Scenario, stretch: &Stretch) -> Option<Finding> {
    let place = &stretch.place;
    let is_here = |c: &&crate::facts::AtCap| *c.phase == *place.phase && *c.scenario == *place.scenario;
    let share =
        facts.generator.at_cap.iter().find(is_here).map(|c| c.share).filter(|share| *share >= AT_CAP)?;
    let what = format!(
        "`{}` was at its cap of {} virtual users for {} of `{}`: the cap set both the rate and the latency.",
        place.scenario,
        words::whole(u64::from(scenario.max_vus)),
        words::percent(share),
        place.phase
    );
    let figures = [("time at the cap", share * 100.0, "%"), ("threshold", AT_CAP * 100.0, "%")];
    Some(with_figures(named("L4").finding(Severity::Invalid, place.scope(), what), &figures))
}

/// Little's law: completions a second × time of an iteration = iterations under way.
fn near_cap(facts: &Facts<'_>, scenario: &Scenario, stretch: &Stretch) -> Option<Finding> {
    let mut iterations = stretch.iteration_ok.clone();
    iterations.merge(&stretch.iteration_failed);
    let mean_s = iterations.mean_us()? / 1e6;
    let length_s = facts.span(&stretch.place.phase)?.length_s();
    let (cap, under_way) =
        (f64::from(scenario.max_vus), iterations.count() as f64 * mean_s / length_s.max(1e-9));
    if under_way < CAP_USE * cap {
        return None;
    }
    let what = format!(
        "{} x {} / {} = {} in flight: the {}-VU cap set both the rate and the latency.",
        words::whole(iterations.count()),
        words::ms(mean_s * 1e3),
        words::ms(length_s * 1e3),
        words::number(under_way),
        words::whole(u64::from(scenario.max_vus))
    );
    let figures = [("in flight", under_way, "1"), ("threshold", CAP_USE * cap, "1")];
    Some(with_figures(named("L4").finding(Severity::Invalid, stretch.place.scope(), what), &figures))
}

#[cfg(test)]
mod tests {
    use crate::testing::{Bench, Load};

    #[test]
    fn a_closed_model_offers_no_rate() {
        let bench = Bench::new()
            .offer("steady", "list", Load::of(100))
            .closed(10)
            .asks("fast", "p95(list) < 50ms")
            .asks("held", "goodput(within = 50ms) >= 90/s");
        insta::assert_snapshot!(bench.findings(super::rule), @r#"
        invalid [play/held] `play` is a closed model: 10 virtual users and the target's own speed set the rate, which nobody offered.
          virtual users Some(10.0) 1
        caution [play] `play` is a closed model: what it shows holds with 10 virtual users, and for no rate of arrivals.
          virtual users Some(10.0) 1
        "#);
    }

    #[test]
    fn a_scenario_at_its_cap_fires() {
        let mut bench = Bench::new().offer("steady", "list", Load::of(100));
        bench.at_cap(30..33, 0.7);
        insta::assert_snapshot!(bench.findings(super::rule), @r#"
        invalid [steady/play] `play` was at its cap of 100,000 virtual users for 3.5 % of `steady`: the cap set both the rate and the latency.
          time at the cap Some(3.4999999999999996) %, threshold Some(1.0) %
        "#);
    }

    #[test]
    fn littles_law_finds_a_cap_that_was_never_watched() {
        let mut bench = Bench::unwatched().offer("steady", "list", Load { us: 7_380_000, ..Load::of(78) });
        bench.workload.scenarios[0].max_vus = 600;
        insta::assert_snapshot!(bench.findings(super::rule), @r#"
        invalid [steady/play] 4,680 x 7.41 s / 60 s = 578 in flight: the 600-VU cap set both the rate and the latency.
          in flight Some(578.1380730000001) 1, threshold Some(540.0) 1
        "#);
    }

    #[test]
    fn a_cap_out_of_reach_is_fine() {
        let mut bench = Bench::new().offer("steady", "list", Load::of(100)).asks("fast", "p95(list) < 50ms");
        bench.at_cap(30..31, 0.5);
        insta::assert_snapshot!(bench.findings(super::rule), @"nothing");
    }
}
