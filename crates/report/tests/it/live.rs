//! The live display, from ticks of several loops.

use evidence::{Key, KeyId, Metric, Outcome, Tick};
use report::{LiveView, Style};

use crate::sample_run;

const SCHEDULED: KeyId = KeyId(0);
const OK: KeyId = KeyId(1);
const FAILED: KeyId = KeyId(2);
const DROPPED: KeyId = KeyId(3);

fn tick(loop_index: u16, second: u32, failures: u64) -> Tick {
    let mut tick = Tick::default();
    tick.instance = evidence::Instance::of_loop(loop_index);
    tick.second = second;
    if second == 0 {
        let key = |metric| Key::of(metric).scenario("play").endpoint("list").phase("ramp");
        tick.new_keys = vec![
            (SCHEDULED, key(Metric::Scheduled)),
            (OK, key(Metric::ResponseTime).outcome(Outcome::Ok)),
            (FAILED, key(Metric::ResponseTime).outcome(Outcome::Timeout)),
            (DROPPED, key(Metric::DroppedCap)),
        ];
    }
    tick.add(SCHEDULED, second, 150);
    for _ in 0..150 - failures {
        tick.record_ns(OK, 4_000_000);
    }
    for _ in 0..failures {
        tick.record_ns(FAILED, 10_000_000_000);
    }
    tick.state.in_flight = 4;
    tick
}

#[test]
fn the_line_adds_up_loops_and_always_shows_failures() {
    let mut view = LiveView::new(&sample_run::workload(), 1);
    insta::assert_snapshot!(view.line(Style::Plain, 160), @"0:00 / 1:45 · ramp · offered 0/s, throughput 0/s · 0 failed · p95 – · 0 in flight · 1 min 45 s left");
    for second in 0..36 {
        view.take(&tick(0, second, 0));
        view.take(&tick(1, second, u64::from(second == 20)));
    }
    insta::assert_snapshot!(view.line(Style::Plain, 160), @"0:36 / 1:45 · gameplay · offered 300.0/s, throughput 300.0/s · 1 failed (0.00926 %) · p95 4.00 ms · 8 in flight · 1 min 9 s left");
    insta::assert_snapshot!(view.line(Style::Plain, 80), @"0:36 / 1:45 · gameplay · 300.0 req/s · 1 failed · p95 4.00 ms · 8 in flight");
    view.stop();
    let stopping = view.line(Style::Plain, 160);
    assert!(
        stopping.trim_end().ends_with("stopping: no new arrivals") && !stopping.contains("left"),
        "{stopping}"
    );
}

#[test]
fn a_rate_of_iterations_with_several_requests_is_named_as_one() {
    let mut workload = sample_run::workload();
    for scenario in &mut workload.scenarios {
        scenario.flow = workload::Flow::Sequence(scenario.steps().cloned().collect());
    }
    let mut view = LiveView::new(&workload, 1);
    for second in 0..4 {
        let mut tick = tick(0, second, 0);
        (0..150).for_each(|_| tick.record_ns(OK, 4_000_000));
        view.take(&tick);
    }
    insta::assert_snapshot!(view.line(Style::Plain, 160), @"0:04 / 1:45 · ramp · throughput 300.0 requests/s · iterations due 150.0/s · 0 failed · p95 4.00 ms · 4 in flight · 1 min 41 s left");
    insta::assert_snapshot!(view.line(Style::Plain, 80), @"0:04 / 1:45 · ramp · 300.0 req/s · 0 failed · p95 4.00 ms · 4 in flight");
}

#[test]
fn a_run_that_ends_by_iterations_shows_their_number() {
    let mut workload = sample_run::workload();
    for scenario in &mut workload.scenarios {
        let max_duration = std::time::Duration::from_secs(600);
        scenario.executor = workload::Executor::SharedIterations { vus: 1, iterations: 1_000, max_duration };
    }
    let mut view = LiveView::new(&workload, 1);
    let mut tick = tick(0, 0, 0);
    let done = KeyId(4);
    tick.new_keys.push((done, Key::of(Metric::IterationsDone).scenario("play")));
    tick.add(done, 0, 150);
    view.take(&tick);
    assert!(view.line(Style::Plain, 200).starts_with("0:01 · "), "{}", view.line(Style::Plain, 200));
    assert!(
        view.line(Style::Plain, 200).ends_with("150 of 2,000 done\n"),
        "{}",
        view.line(Style::Plain, 200)
    );
}

#[test]
fn a_loop_that_lags_does_not_lower_the_rate() {
    let mut view = LiveView::new(&sample_run::workload(), 1);
    for second in 0..20 {
        view.take(&tick(0, second, 0));
    }
    for second in 0..18 {
        view.take(&tick(1, second, 0));
    }
    let now = view.now();
    assert_eq!(
        (now.elapsed_s, now.offered_per_s, now.throughput_per_s, now.in_flight),
        (20, 300.0, 300.0, 8)
    );
}

#[test]
fn late_counts_and_dropped_arrivals_are_added() {
    let mut view = LiveView::new(&sample_run::workload(), 1);
    for second in 0..60 {
        view.take(&tick(0, second, 0));
    }
    let mut late = tick(0, 60, 0);
    late.add(SCHEDULED, 2, 5);
    late.add(DROPPED, 59, 5);
    view.take(&late);
    assert_eq!((view.now().dropped, view.now().offered_per_s), (5, 150.0));
    assert!(view.line(Style::Plain, 200).contains("5 dropped"));
}

#[test]
fn a_loop_that_is_over_does_not_hold_back_the_numbers() {
    let mut view = LiveView::new(&sample_run::workload(), 2);
    let mut last = tick(1, 0, 0);
    last.is_last = true;
    view.take(&last);
    (0..20).for_each(|second| view.take(&tick(0, second, u64::from(second > 10) * 150)));
    let now = view.now();
    assert_eq!((now.elapsed_s, now.offered_per_s, now.p95_ms), (20, 150.0, None));
}
