//! Searches with probes whose margins are known functions of their level.

mod measured;

use std::cell::RefCell;

use evidence::capacity::{CapacityJudgement, CapacityProbe, Ceiling, LevelVerdict, ProbeStage};
use evidence::diagnosis::ResourceUse;
use evidence::{ExperimentEnd, Verdict};
use workload::{Objective, objective};

use super::{
    CapacityRules, GridExtension, NextProbe, PlannedProbe, SPREAD, SearchRange, bracket, judge_capacity,
    next_probe,
};

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
        levels_for_diagnosis: false,
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
        seconds: 60.0,
        values: vec![Some(50.0 * (-margin).exp())],
        margins: vec![margin],
        errors: vec![0.0005],
        goodput: planned.level,
        offered: planned.level,
        ..CapacityProbe::unmeasured(planned.stage, planned.level)
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
    judge_capacity(rules, made(rules, target), None, ExperimentEnd::Complete)
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
        [(Bracket, 5), (Coarse, 3), (Grid, 45), (Hold, 1), (Overload, 1), (Again, 1)],
        "nine levels three times, three of them nine times"
    );
    let [holds, breaks] = bracket(&rules, &probes[..5]).unwrap();
    assert!((holds - 225.0).abs() < 0.01 && (breaks - 337.5).abs() < 0.01, "{holds} {breaks}");
    for (probe, level) in probes.iter().zip([100.0, 150.0, 225.0, 337.5, 337.5]) {
        assert!((probe.level - level).abs() < 0.01, "{} {level}", probe.level);
    }
    let judgement = judged(&rules, &knee(300.0));
    let (holds, breaks) = (judgement.holds.unwrap(), judgement.breaks.unwrap());
    assert!(holds < 300.0 && 300.0 < breaks && breaks / holds < 1.13, "{holds} {breaks}");
    let nearest: Vec<f64> =
        judgement.levels.iter().filter(|level| level.probes == 9).map(|level| level.level).collect();
    assert!(
        nearest.len() == 3 && nearest.iter().all(|level| (level / 300.0).ln().abs() < 0.07),
        "{nearest:?}"
    );
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
    let judgement = judge_capacity(&rules, probes, None, ExperimentEnd::Complete);
    assert!(judgement.levels.iter().all(|level| [3, 9].contains(&level.probes)), "{:?}", judgement.levels);
    assert_eq!(judgement.verdict, Verdict::Measured);
    assert_eq!(names(&judgement), ["probes-left-out"]);
}

/// Four levels of three probes know a deviation of 0.1 with eight degrees of freedom. The tolerance factor is then 2.83 (by
/// simulation of the pivot), and 2.23 were the deviation known: a mean margin of 0.35 is enough, and one of 0.2 is not.
#[test]
fn nine_of_ten_probes_meet_the_objective_where_the_tolerance_limit_does() {
    let slos = [slo()];
    let rules = rules(&slos);
    let probes = |means: [f64; 4]| -> Vec<CapacityProbe> {
        let of_level = |(at, mean): (usize, f64)| {
            let planned = PlannedProbe { stage: ProbeStage::Grid, level: 100.0 + at as f64, extension: None };
            let margins = [mean - 0.1, mean, mean + 0.1].into_iter();
            margins.map(move |margin| probe(planned, margin)).collect::<Vec<_>>()
        };
        means.into_iter().enumerate().flat_map(of_level).collect()
    };
    assert_eq!(rules.grid(&probes([0.5, 0.35, 0.2, -0.5])).nine_of_ten(), Some(101.0));
    assert_eq!(
        rules.grid(&probes([0.5, 0.2, 0.5, -0.5])).nine_of_ten(),
        Some(100.0),
        "as at all easier ones"
    );
    assert_eq!(rules.grid(&probes([0.2, 0.2, 0.2, -0.5])).nine_of_ten(), None);
}

#[test]
fn a_target_in_one_of_two_states_is_decided_by_counting() {
    let slos = [slo()];
    let rules = rules(&slos);
    // One in nine probes is the other way around, and from 270 to 330 every other one.
    let two_states = |planned: PlannedProbe, number: usize| {
        let one_in = if (270.0..330.0).contains(&planned.level) { 2 } else { 9 };
        let is_turned = planned.stage == ProbeStage::Grid && number.is_multiple_of(one_in);
        if (planned.level < 300.0) != is_turned { 4.0_f64.ln() } else { -4.0_f64.ln() }
    };
    let judgement = judged(&rules, &two_states);
    let (holds, breaks) = (judgement.holds.unwrap(), judgement.breaks.unwrap());
    assert!(holds < 300.0 && 300.0 < breaks && breaks / holds < 1.8, "{holds} {breaks}");
    assert_eq!(names(&judgement), ["two-states"]);
    assert!(
        judgement.findings[0].what.contains("is 12.5 ms in one probe and 200 ms in another"),
        "{}",
        judgement.findings[0].what
    );
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
    let extensions = RefCell::new(Vec::new());
    let flattering = |planned: PlannedProbe, number: usize| {
        extensions.borrow_mut().push(planned.extension);
        match planned.stage {
            ProbeStage::Bracket | ProbeStage::Coarse => knee(360.0)(planned, number),
            _ => knee(280.0)(planned, number),
        }
    };
    let judgement = judged(&rules, &flattering);
    assert!(judgement.levels.len() > 9);
    let (holds, breaks) = (judgement.holds.unwrap(), judgement.breaks.unwrap());
    assert!(holds < 280.0 && 280.0 < breaks, "{holds} {breaks}");
    // Three levels of three probes each are announced, and made.
    let first = GridExtension { number: 1, probes: 9 };
    assert_eq!(extensions.take().iter().filter(|extension| **extension == Some(first)).count(), 9);
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
    assert!(asked.because.contains("not allowed to try a higher one"), "{}", asked.because);
    let generator = CapacityRules { ceiling: Some((1_000.0, Ceiling::Generator)), ..rules(&slos) };
    assert!(judged(&generator, &knee(9_000.0)).because.contains("generator cannot sustain a higher load"));
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
    let judgement = judge_capacity(&rules, probes, None, ExperimentEnd::Complete);
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
    let judgement = judge_capacity(&rules, twice, None, ExperimentEnd::Budget);
    assert!(judgement.holds.is_some() && judgement.breaks.is_some());
    assert!(names(&judgement).contains(&"not-held"));
    let nothing = judge_capacity(&rules, all[..3].to_vec(), None, ExperimentEnd::Interrupted);
    assert_eq!(nothing.verdict, Verdict::Inconclusive);
    assert!(nothing.because.ends_with("It was interrupted, and can be resumed."), "{}", nothing.because);
}

#[test]
fn a_resource_that_is_used_up_where_objectives_break_is_named_with_its_series() {
    let slos = [slo()];
    let rules = rules(&slos);
    let with_uses = |share: &dyn Fn(f64) -> f64| {
        let mut probes = made(&rules, &knee(300.0));
        for (at, probe) in probes.iter_mut().enumerate() {
            let scatter = if at % 2 == 0 { 1.01 } else { 0.99 };
            let resource = |name: &str, used: f64| ResourceUse {
                name: name.to_owned(),
                series: name.to_owned(),
                used: used * scatter,
                limit: Some(2.0),
                wait_s: None,
            };
            probe.uses = vec![resource("pool", 0.4), resource("cpu", 2.0 * share(probe.goodput))];
        }
        judge_capacity(&rules, probes, None, ExperimentEnd::Complete).diagnosis.unwrap()
    };
    let found = with_uses(&|load| (load / 310.0).min(1.0));
    assert_eq!(found.limit.as_deref(), Some("cpu"), "{found:?}");
    let line = found.ledger.iter().find(|line| line.resource == "cpu").unwrap();
    assert_eq!(line.series, "cpu");
    assert!((line.demand_s.unwrap().mean / (2.0 / 310.0) - 1.0).abs() < 0.02, "{line:?}");
    assert_eq!(with_uses(&|load| load / 900.0).limit, None);
}

#[test]
fn a_diagnosis_is_searched_by_single_probes_and_levels_up_to_the_break() {
    let slos = [slo()];
    let rules = CapacityRules { levels_for_diagnosis: true, ..rules(&slos) };
    let mut probes = made(&rules, &knee(300.0));
    for (at, probe) in probes.iter_mut().enumerate() {
        let scatter = if at % 2 == 0 { 1.01 } else { 0.99 };
        let used = 2.0 * scatter * (probe.goodput / 310.0).min(1.0);
        let (name, series) = ("CPU of web".to_owned(), "cpu".to_owned());
        probe.uses = vec![ResourceUse { name, series, used, limit: Some(2.0), wait_s: None }];
    }
    assert!(probes.len() < 20, "{}", probes.len());
    let spread = probes.iter().filter(|probe| probe.stage == ProbeStage::Spread);
    assert_eq!(spread.count(), SPREAD.len());
    let found = judge_capacity(&rules, probes, None, ExperimentEnd::Complete).diagnosis.unwrap();
    assert_eq!(found.limit.as_deref(), Some("CPU of web"), "{found:?}");
    let nothing_breaks = made(&rules, &knee(1e9));
    let found = judge_capacity(&rules, nothing_breaks, None, ExperimentEnd::Complete).diagnosis.unwrap();
    assert!(found.because.starts_with("UNDETERMINED: no level of load breaks, up to"), "{found:?}");
}
