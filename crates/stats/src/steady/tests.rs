use proptest::prelude::*;

use super::*;

/// A known sequence of numbers that look like chance.
struct Dice(u64);

impl Dice {
    fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as f64 + 0.5) / 2f64.powi(31)
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.share().ln()).sqrt() * (std::f64::consts::TAU * self.share()).cos()
    }
}

const SECONDS: usize = 300;
const RUNS: u64 = 200;

/// What became of many series.
#[derive(Debug)]
struct Fate {
    /// Share of them that were refused.
    refused: f64,
    /// Of those accepted, the mean start.
    start_s: f64,
    /// Of those accepted, the mean of what is kept.
    kept: f64,
}

/// Five minutes of ln(median), a second each, around `truth`, with noise of 5 % that remembers `memory` of itself.
fn fate(memory: f64, truth: impl Fn(f64) -> f64) -> Fate {
    let (mut refused, mut start, mut kept) = (0.0, 0.0, 0.0);
    for seed in 0..RUNS {
        let mut dice = Dice(seed * 7_919 + 1);
        let mut noise = 0.05 * dice.normal();
        let values: Vec<f64> = (0..SECONDS)
            .map(|second| {
                noise = memory * noise + (1.0 - memory * memory).sqrt() * 0.05 * dice.normal();
                truth(second as f64) + noise
            })
            .collect();
        match steady(&values) {
            Err(_) => refused += 1.0,
            Ok(steady) => {
                start += steady.start_s as f64;
                kept += crate::mean(&values[steady.start_s..]).unwrap();
            }
        }
    }
    let accepted = (RUNS as f64 - refused).max(1.0);
    Fate { refused: refused / RUNS as f64, start_s: start / accepted, kept: kept / accepted }
}

#[test]
fn what_settles_is_accepted_and_its_warm_up_cut() {
    let flat = fate(0.5, |_| 0.0);
    assert!(flat.refused <= 0.05 && flat.start_s < 1.0, "{flat:?}");
    let decay = fate(0.5, |at| 0.8 * (-at / 20.0).exp());
    assert!(decay.refused <= 0.1 && decay.start_s > 30.0 && decay.kept.abs() < 0.01, "{decay:?}");
    let step = fate(0.5, |at| if at < 40.0 { 0.5 } else { 0.0 });
    assert!(step.refused <= 0.05 && (step.start_s - 40.0).abs() < 2.0 && step.kept.abs() < 0.005, "{step:?}");
    let slower = fate(0.5, |at| -0.3 * (-at / 30.0).exp());
    assert!(slower.refused <= 0.15 && slower.kept.abs() < 0.01, "{slower:?}");
}

#[test]
fn what_recurs_is_no_change() {
    let collections = fate(0.5, |at| if at % 30.0 < 4.0 { 0.4 } else { 0.0 });
    let truth = 0.4 * 4.0 / 30.0;
    assert!(collections.refused <= 0.05 && (collections.kept - truth).abs() < 0.005, "{collections:?}");
}

#[test]
fn what_never_settles_is_refused() {
    for (name, fate, least) in [
        ("a slow tail", fate(0.5, |at| 0.8 * (-at / 60.0).exp()), 0.5),
        ("a drift of 30 %", fate(0.5, |at| 0.3 * at / 300.0), 0.95),
        ("a late step", fate(0.5, |at| if at < 220.0 { 0.0 } else { 0.2 }), 0.95),
        (
            "a decay and a bump",
            fate(0.5, |at| 0.8 * (-at / 20.0).exp() + if (200.0..240.0).contains(&at) { 0.4 } else { 0.0 }),
            0.95,
        ),
    ] {
        assert!(fate.refused >= least, "{name}: {fate:?}");
    }
}

/// Noise that lasts makes levels of its own: a few more are refused, and few.
#[test]
fn noise_that_remembers_is_seldom_taken_for_a_change() {
    let flat = fate(0.8, |_| 0.0);
    assert!(flat.refused <= 0.1, "{flat:?}");
}

#[test]
fn a_refusal_says_why() {
    let of = |truth: fn(usize) -> f64, seconds: usize| {
        steady(&(0..seconds).map(truth).collect::<Vec<f64>>()).unwrap_err()
    };
    assert_eq!(of(|_| 0.0, 59), NotSteady::TooShort { steady_s: 59 });
    assert_eq!(of(|at| if at < 30 { 1.0 } else { 0.0 }, 80), NotSteady::TooShort { steady_s: 50 });
    let late = of(|at| if at < 200 { 1.0 } else { 1.25 }, 300);
    assert_eq!(late, NotSteady::RegimeChange { at_s: 200, change: 0.25 });
    let alternating = of(|at| if at / 70 % 2 == 0 { 0.0 } else { 0.5 }, 350);
    assert_eq!(alternating, NotSteady::Oscillation { changes: 4 });
    let NotSteady::Drift { change } = of(|at| at as f64 / 1_000.0, 300) else { panic!("it rises") };
    assert!((0.2..0.31).contains(&change), "{change}");
}

proptest! {
    #[test]
    fn whatever_settles_does_so_before_its_middle(
        values in prop::collection::vec(prop_oneof![9 => -9.0..9.0f64, 1 => Just(f64::NAN)], 0..400)
    ) {
        if let Ok(steady) = steady(&values) {
            prop_assert!(2 * steady.start_s <= values.len() && values.len() - steady.start_s >= MIN_STEADY_S);
            prop_assert!(steady.drift.is_finite());
        }
        let _ = mser_5(&values);
    }

    #[test]
    fn another_unit_settles_in_the_same_place(
        levels in prop::collection::vec(-1.0..1.0f64, 1..4), each in 40usize..120, by in -20.0..20.0f64
    ) {
        let values: Vec<f64> =
            levels.iter().flat_map(|level| (0..each).map(move |at| level + (at % 3) as f64 * 0.01)).collect();
        let other: Vec<f64> = values.iter().map(|value| value + by).collect();
        let start = |values: &[f64]| steady(values).map(|steady| steady.start_s).ok();
        prop_assert_eq!(start(&values), start(&other));
    }
}
