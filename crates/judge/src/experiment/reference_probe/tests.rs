use evidence::{ExperimentEnd, ExperimentJudgement};
use proptest::prelude::*;
use stats::Looks;

use super::*;
use crate::experiment::tests::{NOISE, known, metric, pairs};
use crate::experiment::{Levels, Rulebook, Together, judge_experiment};

/// How much slower the machine is in B's run, by pair: as far apart as on a shared machine.
const MACHINE: [f64; 10] = [0.11, -0.07, 0.02, -0.14, 0.09, 0.05, -0.1, -0.03, 0.13, -0.06];

/// Ten pairs in which the machine adds what it does to the costs, and B costs `effect` more; the probe says `probe` of the machine.
fn judged(effect: f64, slope: Option<f64>, probe: impl Fn(f64) -> Option<f64>) -> ExperimentJudgement {
    let cost = |i: usize| known(10.0 * (effect.ln_1p() + MACHINE[i] + 0.01 * NOISE[i]).exp());
    let mut made = pairs((0..MACHINE.len()).map(|i| vec![[known(10.0), cost(i)]]).collect());
    made.iter_mut().zip(MACHINE).for_each(|(pair, machine)| pair.probe = vec![probe(machine)]);
    let metrics =
        [GateMetric { probe_slope: slope, ..metric("cpu_per_request(target = web, phase = steady)") }];
    let looks = Looks::new(&[10]).unwrap();
    let rules = Rulebook {
        metrics: &metrics,
        looks: &looks,
        levels: Levels::for_alarm(0.005),
        accept: &[],
        bad_starts: None,
        together: Together::default(),
    };
    judge_experiment(&rules, &made, ExperimentEnd::Decided)
}

fn names(judgement: &ExperimentJudgement) -> Vec<&str> {
    judgement.findings.iter().map(|finding| &*finding.name).collect()
}

#[test]
fn five_per_cent_are_found_beside_a_machine_that_varies_by_ten() {
    assert_eq!(judged(0.05, None, Some).metrics[0].verdict, MetricVerdict::Inconclusive);
    let found = judged(0.05, Some(1.0), Some);
    let cpu = &found.metrics[0];
    assert_eq!(cpu.verdict, MetricVerdict::Regressed, "{cpu:?}");
    assert!((cpu.effect.unwrap() - 0.05).abs() < 0.01 && cpu.deviation.unwrap() < 0.012, "{cpu:?}");
    let correction = cpu.probe.as_ref().unwrap();
    assert!(correction.uncorrected_deviation.unwrap() > 0.08, "{correction:?}");
    assert!(cpu.because.contains("Corrected by 1.00 of the change of the reference probe"), "{cpu:?}");
    assert_eq!(judged(0.0, Some(1.0), Some).metrics[0].verdict, MetricVerdict::Equivalent);
}

#[test]
fn a_version_that_slows_the_machine_is_not_excused_by_the_probe() {
    let slower = |machine: f64| Some(machine + 1.2_f64.ln());
    let same = judged(0.2, Some(1.0), slower);
    assert_eq!(same.metrics[0].verdict, MetricVerdict::Inconclusive, "its 20 % went into the probe");
    assert_eq!(names(&same), ["probe-differs"]);
    assert_eq!(judged(0.35, Some(1.0), slower).metrics[0].verdict, MetricVerdict::Regressed);
    assert_eq!(judged(0.0, Some(1.0), slower).metrics[0].verdict, MetricVerdict::Inconclusive);
}

#[test]
fn a_metric_without_a_probe_in_each_run_is_not_corrected() {
    let found = judged(0.0, Some(1.0), |machine| (machine < 0.13).then_some(machine));
    assert_eq!((found.metrics[0].probe.as_ref(), names(&found)), (None, vec!["probe-missing"]));
}

/// On paper: of differences that are twice the probe's the slope is 2 and nothing is left.
#[test]
fn a_probe_that_explains_all_earns_its_place_and_another_does_not() {
    let all = probe_gain(&MACHINE.map(|p| 2.0 * p), &MACHINE).unwrap();
    assert!((all.slope - 2.0).abs() < 1e-12 && all.deviation < 1e-12 && all.is_enough, "{all:?}");
    let other: Vec<f64> = NOISE[..10].iter().map(|noise| 0.01 * noise).collect();
    assert!(!probe_gain(&MACHINE, &other).unwrap().is_enough);
    let contrary = probe_gain(&MACHINE.map(|p| -p), &MACHINE).unwrap();
    assert!(contrary.deviation < 1e-12 && !contrary.is_enough, "a slower machine makes nothing cheaper");
    assert_eq!(probe_gain(&MACHINE[..7], &MACHINE[..7]), None, "too few");
    assert_eq!(probe_gain(&[f64::INFINITY; 8], &MACHINE[..8]), None);
}

proptest! {
    /// The unit of neither matters, nor which of the runs is called A.
    #[test]
    fn the_gain_has_no_unit_and_no_side(
        both in prop::collection::vec((-0.3..0.3_f64, -0.3..0.3_f64), 8..20),
        scale in 0.1..10.0_f64,
        flipped in any::<u32>(),
    ) {
        let (d, p): (Vec<f64>, Vec<f64>) = both.into_iter().unzip();
        let sign = |i: usize| if flipped >> i & 1 == 1 { -1.0 } else { 1.0 };
        let flip = |all: &[f64], by: f64| -> Vec<f64> {
            all.iter().enumerate().map(|(i, value)| sign(i) * value * by).collect()
        };
        let (Some(one), Some(other)) = (probe_gain(&d, &p), probe_gain(&flip(&d, 1.0), &flip(&p, scale)))
        else { return Ok(()) };
        prop_assert!((one.slope - other.slope * scale).abs() <= 1e-9 * one.slope.abs().max(1.0));
        let scaled = probe_gain(&flip(&d, 1.0).iter().map(|d| d * scale).collect::<Vec<_>>(), &flip(&p, scale)).unwrap();
        prop_assert!((other.deviation * scale - scaled.deviation).abs() < 1e-9);
        prop_assert!((other.ratio_limit - scaled.ratio_limit).abs() < 1e-6);
    }
}
