//! Searches with probes whose margins are known functions of their level.

use std::time::Duration;

use evidence::capacity::{
    CapacityJudgement, CapacityProbe, Ceiling, LevelVerdict, ProbeStage, Recovery, ResourceUse, SearchEnd,
};
use evidence::{Key, Metric, Outcome, Provenance, SeriesKey, Verdict};
use workload::capacity::OverloadShape;
use workload::{Objective, Workload, objective};

use super::{
    CapacityRules, NextProbe, OverloadRun, PlannedProbe, ProbePlace, SearchRange, judge_capacity,
    measure_probe, next_probe,
};
use crate::Side;
use crate::testing::{Load, TestRun};

/// What a target does at a level: the margin, and whether the probe counts.
type Target<'t> = &'t dyn Fn(PlannedProbe, usize) -> f64;

fn slo() -> Objective {
    objective::parse("fast", "p95(list) < 50ms").unwrap()
}

fn rules(slos: &[Objective]) -> CapacityRules<'_> {
    CapacityRules {
        slos,
        range: SearchRange {
            easiest: 10.0,
            hardest: 1_000.0,
            start: 100.0,
            is_whole: false,
            is_more_better: false,
        },
        spacing: 0.04,
        levels: 9,
        repeats: 3,
        seed: 1,
        is_held: true,
        is_overloaded: true,
        plan_level: Some(100.0),
        warm_up_s: 0,
        step_s: 60.0,
        per_s: &[100.0],
        proven_per_s: Some(2_000.0),
        at_least: None,
        ceiling: Some((1_000.0, Ceiling::Asked)),
        unit: "arrivals/s",
    }
}

fn probe(planned: PlannedProbe, margin: f64) -> CapacityProbe {
    CapacityProbe {
        number: 0,
        stage: planned.stage,
        level: planned.level,
        seconds: 60.0,
        values: vec![Some(50.0 * (-margin).exp())],
        margins: vec![margin],
        errors: vec![0.0005],
        has_collapsed: false,
        is_doubtful: false,
        unusable: None,
        goodput: planned.level,
        offered: planned.level,
        failed: 0.0,
        p50_ms: None,
        p99_ms: None,
        uses: Vec::new(),
    }
}

/// A little noise that repeats.
fn noise(number: usize) -> f64 {
    [0.03, -0.02, 0.01, -0.03, 0.02, -0.01, 0.0][number % 7]
}

/// A target whose times are a steep power of its load.
fn knee(capacity: f64) -> impl Fn(PlannedProbe, usize) -> f64 {
    move |planned, number| ((capacity / planned.level).ln() * 8.0 + noise(number)).max(-1.386)
}

fn made(rules: &CapacityRules<'_>, target: Target<'_>) -> Vec<CapacityProbe> {
    let mut probes = Vec::new();
    while let NextProbe::Make(planned) = next_probe(rules, &probes) {
        probes.push(probe(planned, target(planned, probes.len())));
        assert!(probes.len() < 200, "a search ends");
    }
    assert_eq!(next_probe(rules, &probes), NextProbe::Complete);
    probes
}

fn judged(rules: &CapacityRules<'_>, target: Target<'_>) -> CapacityJudgement {
    judge_capacity(rules, made(rules, target), None, SearchEnd::Complete)
}

fn stages(probes: &[CapacityProbe]) -> Vec<(ProbeStage, usize)> {
    let of = |stage| (stage, probes.iter().filter(|probe| probe.stage == stage).count());
    use ProbeStage::{Again, Bracket, Coarse, Grid, Hold, Overload};
    [Bracket, Coarse, Grid, Hold, Overload, Again].map(of).into()
}

fn names(judgement: &CapacityJudgement) -> Vec<&str> {
    judgement.findings.iter().map(|finding| finding.name.as_str()).collect()
}

#[test]
fn a_capacity_is_bracketed_bisected_and_shown_on_a_grid() {
    let slos = [slo()];
    let rules = rules(&slos);
    let probes = made(&rules, &knee(300.0));
    use ProbeStage::{Again, Bracket, Coarse, Grid, Hold, Overload};
    assert_eq!(
        stages(&probes),
        [(Bracket, 5), (Coarse, 3), (Grid, 27), (Hold, 1), (Overload, 1), (Again, 1)]
    );
    for (probe, level) in probes.iter().zip([100.0, 150.0, 225.0, 337.5, 337.5]) {
        assert!((probe.level - level).abs() < 0.01, "{} {level}", probe.level);
    }
    let judgement = judged(&rules, &knee(300.0));
    let (holds, breaks) = (judgement.holds.unwrap(), judgement.breaks.unwrap());
    assert!(holds < 300.0 && 300.0 < breaks && breaks / holds < 1.13, "{holds} {breaks}");
    assert_eq!(judgement.verdict, Verdict::Measured);
    assert!(judgement.slos[0].breaks_first);
    assert_eq!(names(&judgement), Vec::<&str>::new());
    // Neighbouring levels are not probed one after the other in order.
    let grid: Vec<f64> = probes.iter().filter(|probe| probe.stage == Grid).map(|probe| probe.level).collect();
    assert!(grid.windows(2).any(|two| two[0] > two[1]) && grid[..9] != grid[9..18]);
}

#[test]
fn a_search_goes_on_from_any_of_its_probes() {
    let slos = [slo()];
    let rules = rules(&slos);
    let probes = made(&rules, &knee(300.0));
    for done in 0..probes.len() {
        let NextProbe::Make(planned) = next_probe(&rules, &probes[..done]) else { panic!("{done}") };
        assert_eq!((planned.stage, planned.level), (probes[done].stage, probes[done].level));
    }
    let other = CapacityRules { seed: 2, ..rules.clone() };
    assert_eq!(next_probe(&other, &probes), NextProbe::Unknown);
}

#[test]
fn one_unlucky_probe_does_not_misplace_the_grid() {
    let slos = [slo()];
    let rules = rules(&slos);
    for unlucky in 0..6 {
        let stalled = |planned: PlannedProbe, number: usize| match number == unlucky {
            true => -1.386,
            false => knee(300.0)(planned, number),
        };
        let judgement = judged(&rules, &stalled);
        let (holds, breaks) = (judgement.holds.unwrap(), judgement.breaks.unwrap());
        assert!(holds < 300.0 && 300.0 < breaks, "probe {unlucky}: {holds} {breaks}");
        assert_eq!(judgement.levels.len(), 9, "probe {unlucky}: the grid lies around the answer at once");
    }
}

#[test]
fn a_probe_that_the_generator_spoils_is_made_again_once() {
    let slos = [slo()];
    let rules = rules(&slos);
    let mut probes = Vec::new();
    while let NextProbe::Make(planned) = next_probe(&rules, &probes) {
        let mut probe = probe(planned, knee(300.0)(planned, probes.len()));
        probe.unusable = (probes.len() % 5 == 4).then(|| "the generator was late".to_owned());
        probes.push(probe);
    }
    let judgement = judge_capacity(&rules, probes, None, SearchEnd::Complete);
    assert!(judgement.levels.iter().all(|level| level.probes == 3), "{:?}", judgement.levels);
    assert_eq!(judgement.verdict, Verdict::Measured);
    assert_eq!(names(&judgement), ["probes-left-out"]);
}

#[test]
fn what_a_high_load_leaves_is_seen_at_the_end() {
    let slos = [slo()];
    let rules = rules(&slos);
    let findings = |left: f64| {
        let leaving = |planned: PlannedProbe, number: usize| {
            let left = if planned.stage == ProbeStage::Again { left } else { 0.0 };
            knee(300.0)(planned, number) - left
        };
        judged(&rules, &leaving).findings
    };
    assert_eq!(findings(0.0), []);
    let found = findings(0.3);
    assert_eq!(found[0].name, "T5 hysteresis");
    assert!(found[0].what.starts_with("`fast` at "), "{}", found[0].what);
}

#[test]
fn a_grid_is_extended_until_the_answer_is_inside() {
    let slos = [slo()];
    let rules = rules(&slos);
    // Single probes flatter: the bracket finds 20 % more than is held.
    let flattering = |planned: PlannedProbe, number: usize| match planned.stage {
        ProbeStage::Bracket | ProbeStage::Coarse => knee(360.0)(planned, number),
        _ => knee(280.0)(planned, number),
    };
    let judgement = judged(&rules, &flattering);
    assert!(judgement.levels.len() > 9);
    let (holds, breaks) = (judgement.holds.unwrap(), judgement.breaks.unwrap());
    assert!(holds < 280.0 && 280.0 < breaks, "{holds} {breaks}");
}

#[test]
fn a_level_that_must_hold_passes_fails_or_is_left_open() {
    let slos = [slo()];
    let verdict =
        |at_least| judged(&CapacityRules { at_least: Some(at_least), ..rules(&slos) }, &knee(300.0)).verdict;
    assert_eq!([200.0, 299.0, 400.0].map(verdict), [Verdict::Pass, Verdict::Inconclusive, Verdict::Fail]);
}

#[test]
fn a_target_beyond_its_objective_at_the_easiest_level_fails() {
    let slos = [slo()];
    let judgement = judged(&rules(&slos), &knee(5.0));
    assert_eq!((judgement.holds, judgement.breaks), (None, Some(10.0)));
    assert_eq!(judgement.verdict, Verdict::Fail);
    assert!(judgement.because.contains("10 arrivals/s, the easiest level"), "{}", judgement.because);
    assert!(judgement.levels.iter().all(|level| level.verdict == LevelVerdict::Breaks));
}

#[test]
fn a_target_that_never_breaks_is_not_bracketed() {
    let slos = [slo()];
    let asked = judged(&rules(&slos), &knee(9_000.0));
    assert_eq!((asked.holds, asked.breaks, asked.verdict), (Some(1_000.0), None, Verdict::Inconclusive));
    assert!(asked.because.contains("no higher level was to be tried"), "{}", asked.because);
    let generator = CapacityRules { ceiling: Some((1_000.0, Ceiling::Generator)), ..rules(&slos) };
    assert!(judged(&generator, &knee(9_000.0)).because.contains("generator is proven for no higher load"));
    let enough = CapacityRules { at_least: Some(900.0), ..rules(&slos) };
    assert_eq!(judged(&enough, &knee(9_000.0)).verdict, Verdict::Pass);
}

#[test]
fn a_grid_that_is_not_monotone_is_inconclusive() {
    let slos = [slo()];
    // From 300 on a cache is warm.
    let warmed = |planned: PlannedProbe, number: usize| {
        let margin = if planned.level > 290.0 && planned.level < 330.0 {
            0.5
        } else {
            (320.0 / planned.level).ln() * 4.0 - 0.4
        };
        margin + noise(number)
    };
    let judgement = judged(&rules(&slos), &warmed);
    assert_eq!(judgement.verdict, Verdict::Inconclusive);
    assert_eq!(names(&judgement)[0], "not-monotone");
    use ProbeStage::{Again, Hold, Overload};
    assert_eq!(stages(&judgement.probes)[3..], [(Hold, 0), (Overload, 0), (Again, 0)]);
}

#[test]
fn of_threads_the_lowest_number_that_holds_is_found() {
    let slos = [slo()];
    let range = SearchRange { easiest: 64.0, hardest: 1.0, start: 8.0, is_whole: true, is_more_better: true };
    let threads = CapacityRules {
        range,
        plan_level: None,
        is_overloaded: false,
        at_least: None,
        unit: "",
        ..rules(&slos)
    };
    let target = |planned: PlannedProbe, number: usize| {
        ((planned.level / 12.5).ln() * 8.0 + noise(number)).max(-1.386)
    };
    let judgement = judged(&threads, &target);
    assert_eq!((judgement.holds, judgement.breaks), (Some(13.0), Some(12.0)));
    assert!(judgement.probes.iter().all(|probe| probe.level.fract() == 0.0));
}

#[test]
fn what_does_not_hold_for_long_is_lowered_and_said() {
    let slos = [slo()];
    let rules = rules(&slos);
    let tiring = |planned: PlannedProbe, number: usize| match planned.stage {
        ProbeStage::Hold if planned.level > 270.0 => -0.2,
        _ => knee(300.0)(planned, number),
    };
    let judgement = judged(&rules, &tiring);
    assert!(judgement.holds.unwrap() < 270.0);
    assert_eq!(judgement.hold.as_ref().unwrap().verdict, Verdict::Pass);
    assert_eq!(names(&judgement), ["hold-violated"]);
    let never = |planned: PlannedProbe, number: usize| match planned.stage {
        ProbeStage::Hold => -0.2,
        _ => knee(300.0)(planned, number),
    };
    let judgement = judged(&rules, &never);
    assert_eq!((judgement.holds, judgement.verdict), (None, Verdict::Inconclusive));
}

#[test]
fn probes_that_the_generator_spoils_are_left_out_and_raise_nothing() {
    let slos = [slo()];
    let rules = rules(&slos);
    let mut probes = Vec::new();
    while let NextProbe::Make(planned) = next_probe(&rules, &probes) {
        let mut probe = probe(planned, knee(1_000.0)(planned, probes.len()));
        probe.unusable = (planned.level > 400.0).then(|| "the generator was late".to_owned());
        probes.push(probe);
    }
    let judgement = judge_capacity(&rules, probes, None, SearchEnd::Complete);
    assert!(judgement.holds.is_some_and(|holds| holds < 400.0 && holds > 300.0), "{:?}", judgement.holds);
    assert_eq!((judgement.breaks, judgement.verdict), (None, Verdict::Inconclusive));
    assert!(names(&judgement).contains(&"probes-left-out"));
}

#[test]
fn a_search_that_was_cut_short_is_judged_by_what_there_is() {
    let slos = [slo()];
    let rules = rules(&slos);
    let all = made(&rules, &knee(300.0));
    let twice = all[..5 + 3 + 18].to_vec();
    let judgement = judge_capacity(&rules, twice, None, SearchEnd::Budget);
    assert!(judgement.holds.is_some() && judgement.breaks.is_some());
    assert!(names(&judgement).contains(&"not-held"));
    let nothing = judge_capacity(&rules, all[..3].to_vec(), None, SearchEnd::Interrupted);
    assert_eq!(nothing.verdict, Verdict::Inconclusive);
    assert!(nothing.because.ends_with("It was interrupted, and can be resumed."), "{}", nothing.because);
}

#[test]
fn the_resource_at_its_limit_is_named_with_its_series() {
    let slos = [slo()];
    let rules = rules(&slos);
    let with_uses = |share: &dyn Fn(f64) -> f64| {
        let mut probes = made(&rules, &knee(300.0));
        for probe in &mut probes {
            let resource = |name: &str, used: f64| ResourceUse {
                name: name.to_owned(),
                series: name.to_owned(),
                used,
                limit: 2.0,
            };
            probe.uses = vec![resource("pool", 0.4), resource("cpu", 2.0 * share(probe.level))];
        }
        judge_capacity(&rules, probes, None, SearchEnd::Complete).limit
    };
    let found = with_uses(&|level| (level / 310.0).min(1.0)).unwrap();
    assert_eq!(found.at_break.series, "cpu");
    assert!(found.at_break.share() > 0.9 && found.share_below < 0.9);
    assert_eq!(with_uses(&|level| level / 900.0), None);
}

#[test]
fn a_probe_has_the_margin_of_its_run() {
    let slos = [objective::parse("fast", "p95(list, phase = steady) < 50ms").unwrap()];
    let rules = rules(&slos);
    let place = ProbePlace { number: 7, stage: ProbeStage::Grid, level: 100.0 };
    let measured = |test_run: TestRun| {
        let TestRun { run, workload, .. } = test_run;
        let side = Side { name: "run", run: &run, workload: &workload, provenance: Provenance::Intact };
        measure_probe(&rules, place, &side).unwrap()
    };
    let run = || TestRun::new().offer("steady", "list", Load { us: 25_000, ..Load::of(50) });
    let fast = measured(run());
    assert!((fast.margins[0] - 2.0_f64.ln()).abs() < 0.06, "{fast:?}");
    assert_eq!((fast.unusable.as_deref(), fast.has_collapsed), (None, false));
    assert!((fast.goodput - 50.0).abs() < 0.5 && fast.failed == 0.0);
    let late = measured(run().offer("steady", "list", Load { dropped_generator_late: 5, ..Load::of(0) }));
    assert!(late.unusable.unwrap().starts_with("the generator was late"));
    let ended = measured(run().stopped_by("fast collapses", 40_000));
    assert!(ended.has_collapsed && ended.margins[0] <= 0.0);
    let failing = measured(TestRun::new().offer("steady", "list", Load { failed: 10, ..Load::of(40) }));
    assert_eq!(failing.values, [None]);
    assert!(failing.margins[0] < -1.38);
}

/// A run at 70 a second, at 120, 150 and 200, and at 70 again, of a target that answers `served` of them a second; the rest
/// is refused, or waits.
fn overloaded(after_us: u64, refusal: Option<Outcome>) -> (TestRun, Workload) {
    let mut test_run = TestRun::new().offer("steady", "list", Load::of(1));
    let shape = OverloadShape::around(0.7, &[1.2, 1.5, 2.0], Duration::from_secs(10));
    test_run.plan_rate(100.0);
    let measured = test_run.workload.phases[1].clone();
    let workload = shape.of(&test_run.workload, &measured);
    for (at, (name, factor, length)) in shape.parts.iter().enumerate() {
        let offered = (factor * 100.0) as u64;
        let key = |metric| Key::of(metric).scenario("play").phase(name).endpoint("list");
        let begin = workload.phases[at].start.as_secs() as u32;
        for second in begin..begin + length.as_secs() as u32 {
            let served = offered.min(100);
            let us = if name == "after" { after_us } else { 10_000 };
            test_run.run.add(&key(Metric::Scheduled), second, offered);
            test_run.run.record(&key(Metric::ResponseTime).outcome(Outcome::Ok), second, us, served);
            if let Some(refusal) = refusal.filter(|_| offered > served) {
                let refused = key(Metric::ResponseTime).outcome(refusal);
                test_run.run.record(&refused, second, 2_000, offered - served);
            }
        }
    }
    let in_flight = SeriesKey::new("in_flight", SeriesKey::GENERATOR, "1");
    test_run.observe(&in_flight, 0..70, 3.0);
    (test_run, workload)
}

#[test]
fn an_overload_shows_what_is_kept_how_it_is_refused_and_whether_it_comes_back() {
    let slos = [slo()];
    let answer = |(test_run, workload): &(TestRun, Workload)| {
        let factors = [0.7, 1.2, 1.5, 2.0, 0.7];
        OverloadRun { run: &test_run.run, workload, slos: &slos, factors: &factors, goodput: 100.0 }
            .answer()
            .unwrap()
    };
    let good = answer(&overloaded(10_000, Some(Outcome::Http503)));
    assert_eq!(good.parts.len(), 5);
    let double = &good.parts[3];
    assert!((double.kept - 1.0).abs() < 0.05 && (double.offered - 200.0).abs() < 5.0, "{double:?}");
    assert_eq!((double.refused_quickly, double.in_time), (Some(1.0), Some(1.0)));
    assert_eq!((good.recovery, good.recovered_after_s), (Recovery::Recovered, Some(0.0)));
    let stuck = answer(&overloaded(400_000, None));
    assert_eq!((stuck.recovery, stuck.recovered_after_s), (Recovery::NotRecovered, None));
}
