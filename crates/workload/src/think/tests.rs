//! Drawn think times have the distribution that the plan names, and are functions of seed, scenario and arrival.

use proptest::prelude::*;

use super::*;

const N: u64 = 20_000;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// The drawn times of the first arrivals, in seconds, ascending.
fn drawn(distribution: ThinkDistribution) -> Vec<f64> {
    let think = Think::Drawn(distribution);
    let mut all: Vec<f64> = (0..N).map(|n| think.time(&Draw::new(7, 0, n), 3).as_secs_f64()).collect();
    all.sort_by(f64::total_cmp);
    all
}

#[track_caller]
fn near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 0.04, "{found} instead of {expected}");
}

fn mean_of(all: &[f64]) -> f64 {
    all.iter().sum::<f64>() / all.len() as f64
}

fn quantile(all: &[f64], share: f64) -> f64 {
    all[(share * all.len() as f64) as usize]
}

#[test]
fn uniform_times_are_spread_evenly_between_both_ends() {
    let all = drawn(ThinkDistribution::Uniform { min: ms(1_000), max: ms(3_000) });
    assert!(all[0] >= 1.0 && all[all.len() - 1] <= 3.0);
    near(mean_of(&all), 2.0);
    near(quantile(&all, 0.25), 1.5);
    near(quantile(&all, 0.9), 2.8);
}

#[test]
fn exponential_times_have_their_mean_and_tail() {
    let all = drawn(ThinkDistribution::Exponential { mean: ms(2_000) });
    near(mean_of(&all), 2.0);
    near(quantile(&all, 0.5), 2.0 * 2_f64.ln());
    near(quantile(&all, 0.95), 2.0 * 20_f64.ln());
}

#[test]
fn normal_times_have_their_mean_and_deviation() {
    let all = drawn(ThinkDistribution::Normal { mean: ms(3_000), sd: ms(1_000) });
    near(mean_of(&all), 3.0);
    near(quantile(&all, 0.841_34), 4.0);
    near(quantile(&all, 0.158_66), 2.0);
}

#[test]
fn log_normal_times_have_their_median_and_95th_percentile() {
    let distribution = ThinkDistribution::LogNormal { median: ms(2_000), p95: ms(8_000) };
    let all = drawn(distribution);
    near(quantile(&all, 0.5), 2.0);
    near(quantile(&all, 0.95), 8.0);
    near(mean_of(&all), Think::Drawn(distribution).mean().as_secs_f64());
}

#[test]
fn a_constant_time_is_stored_as_it_always_was() {
    let stored = serde_json::json!({"secs": 1, "nanos": 500_000_000});
    assert_eq!(serde_json::to_value(Think::from(ms(1_500))).unwrap(), stored);
    assert_eq!(serde_json::from_value::<Think>(stored).unwrap(), Think::Constant(ms(1_500)));
    let drawn = Think::Drawn(ThinkDistribution::LogNormal { median: ms(2_000), p95: ms(8_000) });
    let stored = serde_json::to_value(drawn).unwrap();
    assert!(stored["log-normal"]["median"].is_object(), "{stored}");
    assert_eq!(serde_json::from_value::<Think>(stored).unwrap(), drawn);
}

fn any_distribution() -> impl Strategy<Value = ThinkDistribution> {
    let time = || (0_u64..=MAX_STAGE.as_millis() as u64).prop_map(ms);
    let pair = || (time(), time());
    prop_oneof![
        pair().prop_map(|(min, max)| ThinkDistribution::Uniform { min, max }),
        time().prop_map(|mean| ThinkDistribution::Exponential { mean }),
        pair().prop_map(|(mean, sd)| ThinkDistribution::Normal { mean, sd }),
        pair().prop_map(|(median, p95)| ThinkDistribution::LogNormal { median, p95 }),
    ]
}

proptest! {
    #[test]
    fn a_time_is_a_function_of_the_draw_and_within_bounds(distribution in any_distribution(), seed: u64, n: u64) {
        prop_assume!(distribution.check().is_ok());
        let think = Think::Drawn(distribution);
        let time = think.time(&Draw::new(seed, 2, n), 5);
        prop_assert_eq!(time, think.time(&Draw::new(seed, 2, n), 5));
        prop_assert!(time <= MAX_STAGE);
        if let ThinkDistribution::Uniform { min, max } = distribution {
            // Seconds as a floating-point number have fewer digits than nanoseconds of a month.
            let rounding = Duration::from_micros(1);
            prop_assert!(time + rounding >= min && time <= max + rounding);
        }
    }

    #[test]
    fn any_bits_give_a_time(distribution in any_distribution(), bits: u64) {
        prop_assume!(distribution.check().is_ok());
        for bits in [bits, 0, u64::MAX, u64::MAX >> 32, u64::MAX << 32] {
            prop_assert!(distribution.time(bits) <= MAX_STAGE);
        }
    }
}
