use evidence::{Instant, Sample, SeriesKey};
use std::time::Duration;

use super::*;

const MIB: f64 = 1_048_576.0;

/// A sample each two seconds, with noise that depends on the number alone and forgets quickly.
fn series(minutes: u32, value: impl Fn(f64) -> f64) -> Vec<Sample> {
    let noise = |n: u32| f64::from(n.wrapping_mul(2_654_435_761) >> 16) / 65_536.0 - 0.5;
    (0..minutes * 30)
        .map(|n| {
            let at = f64::from(n) * 2.0;
            Sample { at: Instant::at(Duration::from_secs_f64(at)), value: value(at / 60.0) + noise(n) * MIB }
        })
        .collect()
}

fn judged(samples: &[Sample], idle: &[(f64, f64)]) -> (Leak, String) {
    answer(&SeriesKey::new("rss", "web", "bytes"), samples, idle)
}

#[test]
fn steady_growth_is_growing_and_no_more() {
    let (leak, because) = judged(&series(40, |minute| 100.0 * MIB + minute * MIB), &[]);
    assert_eq!(leak, Leak::Growing, "{because}");
    assert!(
        because.contains("60 MiB an hour") || because.contains("59.") || because.contains("60."),
        "{because}"
    );
}

#[test]
fn growth_that_saturates_is_never_a_leak() {
    let saturating = |minute: f64| (100.0 + 60.0 * (1.0 - (-minute / 8.0).exp())) * MIB;
    let (leak, because) = judged(&series(40, saturating), &[]);
    assert_ne!(leak, Leak::Leak, "{because}");
    assert_ne!(leak, Leak::NoLeak, "{because}");
    let cycles: Vec<(f64, f64)> =
        (1..=5).map(|n| (f64::from(n) * 720.0 - 120.0, f64::from(n) * 720.0)).collect();
    let (leak, because) = judged(&series(60, saturating), &cycles);
    assert_ne!(leak, Leak::Leak, "{because}");
}

#[test]
fn a_saw_is_no_leak_and_says_what_it_excludes() {
    // A collection every 20 s takes back everything.
    let saw = |minute: f64| (100.0 + 50.0 * (minute * 3.0).fract()) * MIB;
    let (leak, because) = judged(&series(60, saw), &[]);
    assert_eq!(leak, Leak::NoLeak, "{because}");
    assert!(because.contains("is excluded at 95 %"), "{because}");
}

#[test]
fn too_short_a_look_is_refused() {
    let (leak, because) = judged(&series(10, |_| 100.0 * MIB), &[]);
    assert_eq!((leak, because.contains("30 min are needed")), (Leak::Undetermined, true), "{because}");
    let (leak, because) = judged(&series(10, |_| 100.0 * MIB)[..5], &[]);
    assert_eq!((leak, because.contains("12 are needed")), (Leak::Undetermined, true), "{because}");
    let (leak, because) = judged(&series(10, |_| 100.0 * MIB)[..1], &[]);
    assert_eq!((leak, because.contains("single look")), (Leak::Undetermined, true), "{because}");
}

#[test]
fn slow_swings_leave_few_values() {
    let swing = |minute: f64| (100.0 + 20.0 * (minute / 10.0 * std::f64::consts::TAU).sin()) * MIB;
    let (leak, because) = judged(&series(40, swing), &[]);
    assert_eq!(leak, Leak::Undetermined, "{because}");
}

/// Load for ten minutes, then two idle ones, five times.
fn cycles() -> Vec<(f64, f64)> {
    (1..=5).map(|n| (f64::from(n) * 720.0 - 120.0, f64::from(n) * 720.0)).collect()
}

#[test]
fn idle_floors_that_rise_after_every_cycle_are_a_leak() {
    let held = |each: f64| {
        move |minute: f64| {
            let cycle = (minute / 12.0).floor();
            let under_load = if minute - cycle * 12.0 < 10.0 { 80.0 } else { 0.0 };
            (100.0 + each * cycle + under_load) * MIB
        }
    };
    let (leak, because) = judged(&series(60, held(5.0)), &cycles());
    assert_eq!(leak, Leak::Leak, "{because}");
    assert!(because.contains("last 3 load cycles"), "{because}");
    let (leak, because) = judged(&series(60, held(0.0)), &cycles());
    assert_ne!(leak, Leak::Leak, "{because}");
    let (leak, _) = judged(&series(36, held(5.0)), &cycles()[..3]);
    assert_ne!(leak, Leak::Leak, "three cycles are too few");
}

#[test]
fn a_handful_of_threads_is_not_worth_a_word() {
    let samples = series(40, |_| 0.0);
    let few: Vec<Sample> =
        samples.iter().map(|s| Sample { value: 20.0 + s.at.offset().as_secs_f64() / 800.0, ..*s }).collect();
    let (leak, because) = answer(&SeriesKey::new("threads", "web", "1"), &few, &[]);
    assert_eq!(leak, Leak::NoLeak, "{because}");
}
