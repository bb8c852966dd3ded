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

fn analyse(
    series: &SeriesKey,
    samples: &[Sample],
    idle: &[IdlePhase],
    collections: &Collections,
) -> (Leak, String) {
    let lives = lives(samples, [].iter());
    Analysis { series, lives, idle, collections, analysed: 14, margin: LeakMargin::default() }.answer()
}

fn rss() -> SeriesKey {
    SeriesKey::new("rss", "web", "bytes")
}

fn analyse_rss(samples: &[Sample], idle: &[IdlePhase]) -> (Leak, String) {
    analyse(&rss(), samples, idle, &Collections::default())
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
    // 1 % of about 122 MiB an hour, over a third of an hour.
    assert!(because.ends_with("steps larger than 418 KiB that come less than once in 20 min."), "{because}");
}

/// 2 MiB at a time, 1 MiB an hour: six hours would have had one with a probability of 95 %.
#[test]
fn steps_that_a_run_is_too_short_for_are_asked_for_by_their_size() {
    let flat = series(60, |_| 100.0 * MIB);
    let of = |step_bytes, samples: &[Sample]| {
        let margin = LeakMargin { step_bytes, ..LeakMargin::default() };
        let lives = lives(samples, [].iter());
        let collections = Collections::default();
        Analysis { series: &rss(), lives, idle: &[], collections: &collections, analysed: 14, margin }
            .answer()
    };
    let (leak, because) = of(Some(2.0 * MIB), &flat);
    assert_eq!(leak, Leak::Undetermined);
    assert!(because.ends_with("observe it for about 301 min longer."), "{because}");
    assert_eq!(of(Some(0.3 * MIB), &flat).0, Leak::NoLeak);
    assert_eq!(of(Some(2.0 * MIB), &series(361, |_| 100.0 * MIB)).0, Leak::NoLeak);
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
    let whole = Window::new(&(0..2_000));
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
    let answers = of(&test_run.run, &test_run.workload, LeakMargin::default()).unwrap();
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

/// Standard normal numbers, seeded.
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

/// How many of `runs` series have this answer: a sample each 10 s around `truth` MiB, with noise of `deviation` MiB.
fn answers(runs: u64, noise: Noise, minutes: u32, truth: impl Fn(f64) -> f64) -> BTreeMap<Leak, u64> {
    let mut counts = BTreeMap::new();
    for seed in 0..runs {
        let mut random = Random(seed * 7_919 + 1);
        let mut around = random.normal();
        let samples: Vec<Sample> = (0..minutes * 6)
            .map(|n| {
                let r = noise.correlation;
                around = r * around + (1.0 - r * r).sqrt() * random.normal();
                let at = f64::from(n) * 10.0;
                let value = (truth(at / 60.0) + around * noise.deviation) * MIB;
                Sample { at: Instant::at(Duration::from_secs_f64(at)), value }
            })
            .collect();
        let idle: &[IdlePhase] = if minutes == 60 { &cycles() } else { &[] };
        *counts.entry(analyse_rss(&samples, idle).0).or_default() += 1;
    }
    counts
}

#[derive(Clone, Copy)]
struct Noise {
    /// Its standard deviation, in MiB.
    deviation: f64,
    /// Its lag-1 correlation.
    correlation: f64,
}

fn share(counts: &BTreeMap<Leak, u64>, answer: Leak) -> f64 {
    counts.get(&answer).copied().unwrap_or(0) as f64 / counts.values().sum::<u64>() as f64
}

#[test]
fn growth_at_the_margin_is_seldom_taken_for_no_leak() {
    for correlation in [0.0, 0.5] {
        // 1 % of its median an hour.
        let noise = Noise { deviation: 2.0, correlation };
        let at_margin = answers(400, noise, 120, |minute| 1_000.0 + minute * 10.11 / 60.0);
        assert!(share(&at_margin, Leak::NoLeak) <= 0.05, "{correlation}: {at_margin:?}");
        let flat = answers(60, noise, 120, |_| 1_000.0);
        assert!(share(&flat, Leak::NoLeak) >= 0.8, "{correlation}: {flat:?}");
    }
}

#[test]
fn much_growth_in_half_an_hour_is_not_excluded() {
    let noise = Noise { deviation: 100.0, correlation: 0.5 };
    let grown = answers(100, noise, 31, |minute| 10_240.0 + minute * 6.0);
    assert!(share(&grown, Leak::NoLeak) <= 0.05, "{grown:?}");
}

/// 14 series are analysed in a run, each with floors that scatter by 5 %, or that saturate.
#[test]
fn floors_that_scatter_or_saturate_are_no_leak() {
    let mut random = Random(1);
    let mut false_leaks = 0;
    for _ in 0..1_000 * 14 {
        let floors: Vec<f64> = (0..5).map(|_| 100.0 * (1.0 + 0.05 * random.normal())).collect();
        false_leaks += u32::from(idle_floors::sustained_rise(&floors, &cycles(), 14).is_some());
    }
    assert!(false_leaks <= 10, "{false_leaks} of 1,000 runs");
    for tau in [20.0, 35.0, 60.0, 90.0] {
        let saturating = |random: &mut Random| -> Vec<f64> {
            let floor = |cycle: u32| 100.0 + 60.0 * (1.0 - (-f64::from(cycle) * 12.0 / tau).exp());
            (1..=5).map(|cycle| floor(cycle) + 0.3 * random.normal()).collect()
        };
        let leaks = (0..500)
            .filter(|_| idle_floors::sustained_rise(&saturating(&mut random), &cycles(), 14).is_some());
        assert!(leaks.count() <= 5, "saturation after {tau} min");
    }
}

#[test]
fn a_leak_between_restarts_is_growth() {
    let noise = |n: u64| (n.wrapping_mul(2_654_435_761) >> 16) as f64 % 65_536.0 / 65_536.0;
    // 1 MiB a minute, freed by a restart every 20 min.
    let leaking = |second: u64| 100.0 + (second % 1_200) as f64 / 60.0 + noise(second);
    let mut test_run = crate::testing::TestRun::unobserved();
    for second in (0..3_600).step_by(2) {
        let key = SeriesKey::new("rss", "web", "bytes");
        test_run.run.observe(&key, second, leaking(u64::from(second)) * MIB);
    }
    let restarted = |second: u64| evidence::Notice {
        at: Instant::at(Duration::from_secs(second)),
        observer: "web".to_owned(),
        instance: None,
        kind: NoticeKind::Restarted,
        text: "another process".to_owned(),
    };
    let notices = vec![restarted(1_200), restarted(2_400)];
    evidence::Sink::observed(&mut test_run.run, &evidence::Observed { notices, ..Default::default() })
        .unwrap();
    let answers = of(&test_run.run, &test_run.workload, LeakMargin::default()).unwrap();
    assert_eq!(answers[0].answer, Leak::Growing, "{answers:?}");
    assert!(answers[0].because.contains("60") && answers[0].because.contains("restarts"), "{answers:?}");
}

#[test]
fn the_margin_of_the_plan_decides() {
    let mut workload = Workload::named("soak");
    assert_eq!(LeakMargin::for_workload(&workload), LeakMargin::default());
    workload.leak_margin = Some(0.2);
    let mut test_run = crate::testing::TestRun::unobserved();
    for second in (0..3_600).step_by(2) {
        // Noise of 200 MiB around 300 MiB: growth of no more than 1 % an hour cannot be excluded, and 20 % can.
        let noise = f64::from(u32::wrapping_mul(second, 2_654_435_761) >> 16) / 65_536.0 - 0.5;
        test_run.run.observe(&SeriesKey::new("rss", "web", "bytes"), second, (300.0 + 400.0 * noise) * MIB);
    }
    let answer = |margin| of(&test_run.run, &workload, margin).unwrap()[0].answer;
    assert_eq!(answer(LeakMargin::default()), Leak::Undetermined);
    assert_eq!(answer(LeakMargin::for_workload(&workload)), Leak::NoLeak);
}
