//! Samples are dated a little after the second that they cover.

use evidence::{Instant, Observed, Sample, SeriesKey, Sink};

use crate::testing::{Load, TestRun};

/// How long after the second its samples are dated.
const LATE_NS: u64 = 142_000;

/// A value for each second of the run, dated as observers do.
fn observe(test_run: &mut TestRun, series: &SeriesKey, value: impl Fn(u64) -> f64) {
    let sample = |second: u64| {
        let at = Instant::from_nanos((second + 1) * 1_000_000_000 + LATE_NS);
        (series.clone(), Sample { at, value: value(second) })
    };
    let observed = Observed { samples: (0..70).map(sample).collect(), ..Observed::default() };
    test_run.run.observed(&observed).unwrap();
}

fn offered() -> TestRun {
    TestRun::new().offer("warm-up", "list", Load::ok(100)).offer("steady", "list", Load::ok(100))
}

#[test]
fn the_last_second_of_a_phase_belongs_to_it_although_its_sample_is_dated_in_the_next() {
    let mut test_run = offered()
        .with_objective("mean", "mean(cpu, target = web, phase = steady) < 0.02")
        .with_objective("max", "max(cpu, target = web, phase = steady) < 0.02")
        .with_objective("level", "max(fds, target = web, phase = steady) < 20")
        .with_objective("busy", "min(cpu, target = web, phase = warm-up) > 0.8");
    let is_warm_up = |second: u64| second < 10;
    let cpu = |second| if is_warm_up(second) { 0.9 } else { 0.012 };
    observe(&mut test_run, &SeriesKey::new("cpu", "web", "cores"), cpu);
    let fds = |second| if is_warm_up(second) { 100.0 } else { 10.0 };
    observe(&mut test_run, &SeriesKey::new("fds", "web", "1"), fds);
    insta::assert_snapshot!(test_run.verdict(), @r"
    PASS: All 4 objectives are met.
    PASS mean
      0.012 cores over 60 samples meets < 0.02 cores.
    PASS max
      0.012 cores over 60 samples meets < 0.02 cores.
    PASS level
      10 over 60 samples meets < 20.
    PASS busy
      0.9 cores over 10 samples meets > 0.8 cores.
    ");
}
