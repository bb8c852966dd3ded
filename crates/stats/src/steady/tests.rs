use proptest::prelude::*;

use super::*;

/// A deterministic sequence of pseudo-random numbers.
struct Random(u64);

impl Random {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as f64 + 0.5) / 2f64.powi(31)
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

const SECONDS: usize = 300;
const RUNS: u64 = 200;

/// Results for many series.
#[derive(Debug)]
struct SeriesResults {
    /// Share of them that were refused.
    refused: f64,
    /// Share of them that could not be decided.
    unknown: f64,
    /// Of those accepted, the mean start.
    start_s: f64,
    /// Of those accepted, the mean of the steady part.
    mean: f64,
}

/// Analyses five minutes of ln(median), a value a second, around `truth`, with noise of 5 % and this lag-1 correlation.
fn analyse(correlation: f64, truth: impl Fn(f64) -> f64) -> SeriesResults {
    let (mut refused, mut unknown, mut start, mut mean) = (0.0, 0.0, 0.0, 0.0);
    for seed in 0..RUNS {
        let mut random = Random(seed * 7_919 + 1);
        let mut noise = 0.05 * random.normal();
        let values: Vec<f64> = (0..SECONDS)
            .map(|second| {
                noise =
                    correlation * noise + (1.0 - correlation * correlation).sqrt() * 0.05 * random.normal();
                truth(second as f64) + noise
            })
            .collect();
        match steady(&values) {
            Err(NotSteady::Unknown { .. }) => unknown += 1.0,
            Err(_) => refused += 1.0,
            Ok(steady) => {
                start += steady.start_s as f64;
                mean += crate::mean(&values[steady.start_s..]).unwrap();
            }
        }
    }
    let runs = RUNS as f64;
    let accepted = (runs - refused - unknown).max(1.0);
    let (start_s, mean) = (start / accepted, mean / accepted);
    SeriesResults { refused: refused / runs, unknown: unknown / runs, start_s, mean }
}

#[test]
fn a_series_that_reaches_steady_state_is_accepted_and_its_warm_up_is_cut() {
    let flat = analyse(0.5, |_| 0.0);
    assert!(flat.refused <= 0.05 && flat.start_s < 1.0, "{flat:?}");
    let decay = analyse(0.5, |at| 0.8 * (-at / 20.0).exp());
    assert!(decay.refused <= 0.1 && decay.start_s > 30.0 && decay.mean.abs() < 0.01, "{decay:?}");
    let step = analyse(0.5, |at| if at < 40.0 { 0.5 } else { 0.0 });
    assert!(step.refused <= 0.05 && (step.start_s - 40.0).abs() < 2.0 && step.mean.abs() < 0.005, "{step:?}");
    let slower = analyse(0.5, |at| -0.3 * (-at / 30.0).exp());
    assert!(slower.refused <= 0.15 && slower.mean.abs() < 0.01, "{slower:?}");
}

#[test]
fn a_periodic_series_is_steady() {
    let collections = analyse(0.5, |at| if at % 30.0 < 4.0 { 0.4 } else { 0.0 });
    let truth = 0.4 * 4.0 / 30.0;
    assert!(collections.refused <= 0.05 && (collections.mean - truth).abs() < 0.005, "{collections:?}");
}

#[test]
fn a_series_without_steady_state_is_refused() {
    for (name, results, least) in [
        ("a slow tail", analyse(0.5, |at| 0.8 * (-at / 60.0).exp()), 0.5),
        ("a drift of 30 %", analyse(0.5, |at| 0.3 * at / 300.0), 0.95),
        ("a late step", analyse(0.5, |at| if at < 220.0 { 0.0 } else { 0.2 }), 0.95),
        (
            "a decay and a bump",
            analyse(0.5, |at| {
                0.8 * (-at / 20.0).exp() + if (200.0..240.0).contains(&at) { 0.4 } else { 0.0 }
            }),
            0.95,
        ),
    ] {
        assert!(results.refused >= least, "{name}: {results:?}");
    }
}

/// Correlated noise looks like a change of level: more series are undecided.
#[test]
fn correlated_noise_is_seldom_mistaken_for_a_change() {
    let flat = analyse(0.8, |_| 0.0);
    assert!(flat.refused <= 0.05 && flat.unknown <= 0.2, "{flat:?}");
    let slow = analyse(0.9, |_| 0.0);
    assert!(slow.refused <= 0.05, "{slow:?}");
}

/// Batches are whole periods, of which there are six.
#[test]
fn a_drift_under_a_slow_cycle_is_not_steady() {
    let cycle = |at: f64| 0.3 * (at / 50.0 * std::f64::consts::TAU).sin();
    let drift = analyse(0.5, |at| 0.3 * at / 300.0 + cycle(at));
    assert!(drift.refused + drift.unknown >= 0.99, "{drift:?}");
    let level = analyse(0.5, cycle);
    assert!(level.refused <= 0.05, "{level:?}");
}

#[test]
fn a_refusal_has_its_reason() {
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
    fn the_steady_part_begins_in_the_first_half(
        values in prop::collection::vec(prop_oneof![9 => -9.0..9.0f64, 1 => Just(f64::NAN)], 0..400)
    ) {
        if let Ok(steady) = steady(&values) {
            prop_assert!(2 * steady.start_s <= values.len() && values.len() - steady.start_s >= MIN_STEADY_S);
            prop_assert!(steady.drift.is_finite());
        }
        let _ = mser_5(&values);
    }

    #[test]
    fn another_unit_has_the_same_start(
        levels in prop::collection::vec(-1.0..1.0f64, 1..4),
        each in 40usize..120,
        noise in prop::collection::vec(-0.01..0.01f64, 360),
        by in -20.0..20.0f64
    ) {
        // Without noise several divisions into segments may be equally good, and rounding decides between them.
        let level = |at: usize| levels[at / each];
        let values: Vec<f64> = (0..levels.len() * each).map(|at| level(at) + noise[at]).collect();
        let other: Vec<f64> = values.iter().map(|value| value + by).collect();
        let start = |values: &[f64]| steady(values).map(|steady| steady.start_s).ok();
        prop_assert_eq!(start(&values), start(&other));
    }
}
