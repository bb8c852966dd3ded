//! The live line, from ticks of several loops.

use evidence::{Key, KeyId, Metric, Outcome, Tick};
use report::{LiveView, Style};

use crate::sample_run;

const SCHEDULED: KeyId = KeyId(0);
const OK: KeyId = KeyId(1);
const FAILED: KeyId = KeyId(2);
const DROPPED: KeyId = KeyId(3);

fn tick(loop_index: u16, second: u32, failures: u64) -> Tick {
    let mut tick = Tick::default();
    tick.loop_index = loop_index;
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
fn the_line_joins_loops_and_never_hides_a_failure() {
    let mut view = LiveView::new(&sample_run::workload());
    insta::assert_snapshot!(view.line(Style::Plain, 160), @"0:00 / 1:45 · ramp · offered 0/s, achieved 0/s · 0 failed · p95 – · 0 in flight · 1 min 45 s left");
    for second in 0..36 {
        view.take(&tick(0, second, 0));
        view.take(&tick(1, second, u64::from(second == 20)));
    }
    insta::assert_snapshot!(view.line(Style::Plain, 160), @"0:36 / 1:45 · gameplay · offered 300.0/s, achieved 300.0/s · 1 failed (<0.01 %) · p95 4.00 ms · 8 in flight · 1 min 9 s left");
    insta::assert_snapshot!(view.line(Style::Plain, 80), @"0:36 / 1:45 · gameplay · 300.0 of 300.0/s · 1 failed · p95 4.00 ms · 8 in flight");
    insta::assert_snapshot!(view.panel(Style::Plain, 80), @r"
0:36 / 1:45  ━━━━━━━━┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄  gameplay  1 min 9 s left
  load     offered 300.0/s, achieved 300.0/s · 8 in flight
  answers  p95 4.00 ms · 1 failed (<0.01 %)
");
}

#[test]
fn a_loop_that_lags_does_not_lower_the_rate() {
    let mut view = LiveView::new(&sample_run::workload());
    for second in 0..20 {
        view.take(&tick(0, second, 0));
    }
    for second in 0..18 {
        view.take(&tick(1, second, 0));
    }
    let now = view.now();
    assert_eq!((now.elapsed_s, now.offered_per_s, now.achieved_per_s, now.in_flight), (20, 300.0, 300.0, 8));
}

#[test]
fn counts_of_long_ago_and_dropped_arrivals_are_taken_in() {
    let mut view = LiveView::new(&sample_run::workload());
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
