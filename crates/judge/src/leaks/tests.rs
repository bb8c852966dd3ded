use std::time::Duration;

use evidence::{Instant, Sample, SeriesKey};

use super::*;

const MIB: f64 = 1_048_576.0;

/// A sample every two seconds, with deterministic noise that is hardly correlated.
fn series(minutes: u32, value: impl Fn(f64) -> f64) -> Vec<Sample> {
    let noise = |n: u32| f64::from(n.wrapping_mul(2_654_435_761) >> 16) / 65_536.0 - 0.5;
    (0..minutes * 30)
        .map(|n| {
            let at = f64::from(n) * 2.0;
            Sample { at: Instant::at(Duration::from_secs_f64(at)), value: value(at / 60.0) + noise(n) * MIB }
        })
        .collect()
}

fn analyse_rss(samples: &[Sample], idle: &[IdlePhase]) -> (Leak, String) {
    analyse(&SeriesKey::new("rss", "web", "bytes"), samples, idle, &Collections::default())
}

#[test]
fn steady_growth_is_growing_and_not_a_leak() {
    let (leak, because) = analyse_rss(&series(40, |minute| 100.0 * MIB + minute * MIB), &[]);
    assert_eq!(leak, Leak::Growing, "{because}");
    assert!(
        because.contains("60 MiB an hour") || because.contains("59.") || because.contains("60."),
        "{because}"
    );
}

#[test]
fn growth_that_saturates_is_never_a_leak() {
    let saturating = |minute: f64| (100.0 + 60.0 * (1.0 - (-minute / 8.0).exp())) * MIB;
    let (leak, because) = analyse_rss(&series(40, saturating), &[]);
    assert_ne!(leak, Leak::Leak, "{because}");
    assert_ne!(leak, Leak::NoLeak, "{because}");
    let (leak, because) = analyse_rss(&series(60, saturating), &cycles());
    assert_ne!(leak, Leak::Leak, "{because}");
}

#[test]
fn a_sawtooth_excludes_growth() {
    // A collection every 20 s frees everything.
    let sawtooth = |minute: f64| (100.0 + 50.0 * (minute * 3.0).fract()) * MIB;
    let (leak, because) = analyse_rss(&series(60, sawtooth), &[]);
    assert_eq!(leak, Leak::NoLeak, "{because}");
    assert!(because.contains("is excluded at 95 %"), "{because}");
}

#[test]
fn too_short_a_series_is_undetermined() {
    let (leak, because) = analyse_rss(&series(10, |_| 100.0 * MIB), &[]);
    assert_eq!((leak, because.contains("30 min are needed")), (Leak::Undetermined, true), "{because}");
    let (leak, because) = analyse_rss(&series(10, |_| 100.0 * MIB)[..5], &[]);
    assert_eq!((leak, because.contains("12 are needed")), (Leak::Undetermined, true), "{because}");
    let (leak, because) = analyse_rss(&series(10, |_| 100.0 * MIB)[..1], &[]);
    assert_eq!((leak, because.contains("single sample")), (Leak::Undetermined, true), "{because}");
}

#[test]
fn slow_oscillation_leaves_too_few_independent_values() {
    let swing = |minute: f64| (100.0 + 20.0 * (minute / 10.0 * std::f64::consts::TAU).sin()) * MIB;
    let (leak, because) = analyse_rss(&series(40, swing), &[]);
    assert_eq!(leak, Leak::Undetermined, "{because}");
}

/// Five cycles of ten minutes of load and two idle minutes.
fn cycles() -> Vec<IdlePhase> {
    let at = |second: u32| Instant::at(Duration::from_secs(u64::from(second)));
    let idle = |n: u32| IdlePhase { window: Window { begin: at(n * 720 - 120), end: at(n * 720) } };
    (1..=5).map(idle).collect()
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
    let (leak, because) = analyse_rss(&series(60, held(5.0)), &cycles());
    assert_eq!(leak, Leak::Leak, "{because}");
    assert!(because.contains("last 3 load cycles"), "{because}");
    let (leak, because) = analyse_rss(&series(60, held(0.0)), &cycles());
    assert_ne!(leak, Leak::Leak, "{because}");
    let (leak, _) = analyse_rss(&series(36, held(5.0)), &cycles()[..3]);
    assert_ne!(leak, Leak::Leak, "three cycles are too few");
}

fn from_rates(rates: &[Sample]) -> Collections {
    Collections::from_rates(Coverage::of_samples(evidence::SampleKind::Rate, rates))
}

/// Collections at these seconds, sampled every two seconds for so many minutes.
fn collected(minutes: u32, is_collected: impl Fn(f64) -> bool) -> Collections {
    let rate = |n: u32| {
        let at = f64::from(n) * 2.0;
        Sample {
            at: Instant::at(Duration::from_secs_f64(at)),
            value: if is_collected(at) { 0.5 } else { 0.0 },
        }
    };
    from_rates(&(0..minutes * 30).map(rate).collect::<Vec<_>>())
}

fn analyse_heap(samples: &[Sample], idle: &[IdlePhase], collections: &Collections) -> (Leak, String) {
    analyse(&SeriesKey::new("go_memstats_heap_alloc_bytes", "web", "bytes"), samples, idle, collections)
}

#[test]
fn memory_with_too_few_collections_is_undetermined() {
    let flat = series(40, |_| 100.0 * MIB);
    let (leak, because) = analyse_heap(&flat, &[], &Collections::default());
    assert_eq!((leak, because.contains("go_gc_duration_seconds")), (Leak::Undetermined, true), "{because}");
    let (leak, because) = analyse_heap(&flat, &[], &collected(40, |at| at % 100.0 == 0.0));
    assert_eq!(leak, Leak::Undetermined, "{because}");
    assert!(
        because.contains("30 garbage collections are needed to exclude a leak, and there were 23"),
        "{because}"
    );
    let often = collected(40, |at| at % 20.0 == 0.0);
    assert_eq!(analyse_heap(&flat, &[], &often).0, Leak::NoLeak);
    let resident = SeriesKey::new("rss", "web", "bytes");
    let seldom = collected(40, |at| at == 600.0);
    assert_eq!(analyse(&resident, &flat, &[], &seldom).0, Leak::Undetermined, "memory of the same target");
    let threads = SeriesKey::new("threads", "web", "1");
    let constant: Vec<Sample> = flat.iter().map(|s| Sample { value: s.value / MIB, ..*s }).collect();
    assert_eq!(analyse(&threads, &constant, &[], &seldom).0, Leak::NoLeak, "threads are not collected");
}

#[test]
fn floors_are_taken_after_a_collection() {
    let held = |minute: f64| (100.0 + 5.0 * (minute / 12.0).floor()) * MIB;
    let rising = series(60, held);
    // Idle are the last two of each twelve minutes.
    let in_idle = collected(60, |at| at % 720.0 == 640.0);
    let (leak, because) = analyse_heap(&rising, &cycles(), &in_idle);
    assert_eq!(leak, Leak::Leak, "{because}");
    let under_load = collected(60, |at| at % 720.0 < 600.0 && at % 20.0 == 0.0);
    assert_ne!(analyse_heap(&rising, &cycles(), &under_load).0, Leak::Leak, "the rise may be garbage");
    assert_ne!(analyse_heap(&rising, &cycles(), &Collections::default()).0, Leak::Leak);
}

#[test]
fn no_collections_are_assumed_in_a_gap() {
    let mut rates: Vec<Sample> =
        (0..20_u64).map(|n| Sample { at: Instant::at(Duration::from_secs(n)), value: 1.0 }).collect();
    rates.push(Sample { at: Instant::at(Duration::from_secs(1_000)), value: 1.0 });
    let whole = Window::of(&(0..2_000));
    assert_eq!(from_rates(&rates).within(whole), Some(20));
    assert_eq!(from_rates(&rates[..1]).within(whole), Some(0));
    assert_eq!(Collections::default().within(whole), None);
}

#[test]
fn collections_of_another_target_are_not_used() {
    let mut test_run = crate::testing::TestRun::unobserved();
    let run = &mut test_run.run;
    for second in 0..2_400 {
        run.observe(&SeriesKey::new("go_gc_duration_seconds_count", "web", "1/s"), second, 0.1);
        for target in ["web", "other"] {
            let noise = f64::from(second.wrapping_mul(2_654_435_761) >> 16) / 65_536.0;
            run.observe(
                &SeriesKey::new("go_memstats_heap_alloc_bytes", target, "bytes"),
                second,
                (50.0 + noise) * MIB,
            );
        }
    }
    let answers = of(&test_run.run, &test_run.workload).unwrap();
    let shown: Vec<(&str, Leak)> = answers.iter().map(|a| (&*a.series.target, a.answer)).collect();
    assert_eq!(shown, [("other", Leak::Undetermined), ("web", Leak::NoLeak)], "{answers:#?}");
}

#[test]
fn a_rise_of_a_few_threads_is_not_growth() {
    let samples = series(40, |_| 0.0);
    let few: Vec<Sample> =
        samples.iter().map(|s| Sample { value: 20.0 + s.at.offset().as_secs_f64() / 800.0, ..*s }).collect();
    let (leak, because) = analyse(&SeriesKey::new("threads", "web", "1"), &few, &[], &Collections::default());
    assert_eq!(leak, Leak::NoLeak, "{because}");
}

/// The samples of idle phases are dated a little after the second that they are of.
#[test]
fn a_floor_is_taken_from_the_seconds_of_the_idle_phase() {
    // Memory falls in the last second of each idle phase only, and its sample is dated in the next load.
    let value = |second: u64| match second % 720 {
        719 => 100.0 + 5.0 * (second / 720) as f64,
        _ => 300.0,
    };
    let sample = |second: u64| Sample {
        at: Instant::from_nanos((second + 1) * 1_000_000_000 + 142_000),
        value: value(second) * MIB,
    };
    let samples: Vec<Sample> = (0..3_600).map(sample).collect();
    let (leak, because) = analyse_rss(&samples, &cycles());
    assert_eq!(leak, Leak::Leak, "{because}");
}
