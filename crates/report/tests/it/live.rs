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
    insta::assert_snapshot!(view.line(Style::Plain, 160), @"0:04 / 1:45 · ramp · throughput 300.0 requests/s · offered 150.0 iterations/s · 0 failed · p95 4.00 ms · 4 in flight · 1 min 41 s left");
    insta::assert_snapshot!(view.line(Style::Plain, 80), @"0:04 / 1:45 · ramp · 300.0 req/s · 0 failed · p95 4.00 ms · 4 in flight");
}

#[test]
fn the_panel_shows_the_distribution_of_times_and_the_failures() {
    let mut view = LiveView::new(&sample_run::workload(), 1);
    assert_eq!(view.panel(Style::Plain, 80).lines().count(), view.panel_lines());
    insta::assert_snapshot!(view.panel(Style::Plain, 80), @r"
0:00 / 1:45  ┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄  ramp  1 min 45 s left
  load     offered 0/s, throughput 0/s · 0 in flight
  requests 0 · 0 failed
  times    p50 – · p90 – · p95 – · p99 – · max –

  rate
  p95
  answers  0 ok
");
    for second in 0..36 {
        let mut tick = tick(0, second, u64::from(second == 20));
        (1..=100).for_each(|n| tick.record_ns(OK, n * 1_000_000));
        (0..10).for_each(|_| tick.record_ns(OK, 900_000_000));
        view.take(&tick);
    }
    insta::assert_snapshot!(view.panel(Style::Plain, 80), @r#"
    0:36 / 1:45  ━━━━━━━━┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄  gameplay  1 min 9 s left
      load     offered 150.0/s, throughput 260.0/s · 4 in flight
      requests 9,360 · 1 failed (0.0107 %)
      times    p50 4.00 ms · p90 84.0 ms · p95 97.0 ms · p99 900 ms · max 900 ms
               1.00 ms ▁  ▁ ▁█▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁         ▁ 900 ms
      rate     ████████████████████████████████████ up to 260.0/s
      p95      ████████████████████████████████████ up to 98.0 ms
      answers  9,359 ok · 1 no answer
      failed   1 timeout
    "#);
    let narrow = view.panel(Style::Plain, 40);
    assert!(narrow.lines().all(|line| line.chars().count() <= 40), "{narrow}");
    assert_eq!(narrow.lines().count(), view.panel_lines());
}

/// A load that rises, on a target that fails more and more, and says why.
#[test]
fn the_panel_shows_the_last_minute_and_why_requests_failed() {
    let mut view = LiveView::new(&sample_run::workload(), 1);
    for second in 0..90 {
        let mut tick = tick(0, second, 0);
        let key = |outcome| Key::of(Metric::ResponseTime).scenario("play").endpoint("list").outcome(outcome);
        let outcomes = [Outcome::Http5xx, Outcome::Http429, Outcome::Refused, Outcome::Check];
        for (id, outcome) in (10..).map(KeyId).zip(outcomes) {
            if second == 0 {
                tick.new_keys.push((id, key(outcome)));
            }
            (0..u64::from(second / 30 * (id.0 - 9))).for_each(|_| tick.record_ns(id, 1_000_000));
        }
        (0..second * 5).for_each(|n| tick.record_ns(OK, u64::from(n + 1) * 100_000));
        if second == 60 {
            let mut example = sample_run::exemplar(evidence::ExemplarKind::Failed, "list", 1_000_000);
            (example.endpoint, example.outcome) = ("list".into(), Outcome::Check);
            example.detail = "body does not contain `thanks`\u{1b}[2J".to_owned();
            tick.exemplars.push(example);
        }
        view.take(&tick);
    }
    insta::assert_snapshot!(view.panel(Style::Plain, 100), @r"
    1:30 / 1:45  ━━━━━━━━━━━━━━━━━━━━┄┄┄┄  gameplay  15 s left
      load     offered 150.0/s, throughput 605.0/s · 4 in flight
      requests 34,425 · 900 failed (2.61 %)
      times    p50 14.3 ms · p90 37.7 ms · p95 40.6 ms · p99 43.1 ms · max 44.5 ms
               100 µs ▁  ▁ ▁ ▁▁▁▁▁▁▁▁▁▁▁▁█▁▁▁▁▂▂▂▂▃▃▄▄ 44.5 ms
      rate     ▅▅▅▅▅▅▅▅▅▅▅▅▅▅▅▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▇▇▇▇▇▇▇▇▇▇▇▇▇▇████████████████ up to 615.0/s
      p95      ▃▃▃▃▃▄▄▄▄▄▄▄▄▄▄▄▅▅▅▅▅▅▅▅▅▅▅▆▆▆▆▆▆▆▆▆▆▆▇▇▇▇▇▇▇▇▇▇▇███████████ up to 41.6 ms
      answers  33,525 ok · 360 check · 180 429 · 90 5xx · 270 no answer
      failed   360 check  list: body does not contain `thanks`\u{1b}[2J
               270 refused
               180 http_429 · and 1 more
    ");
    for width in [20, 40, 60, 200] {
        let panel = view.panel(Style::Plain, width);
        assert!(panel.lines().all(|line| line.chars().count() <= width), "{panel}");
        assert_eq!(panel.lines().count(), view.panel_lines());
        assert!(!panel.contains('\u{1b}'), "{panel:?}");
    }
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
    assert!(view.panel(Style::Plain, 120).contains("150 of 2,000 done"), "{}", view.panel(Style::Plain, 120));
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

/// A workload with a stop rule for each of these objectives.
fn with_rules<const N: usize>(objectives: [&str; N]) -> workload::Workload {
    let after = Some(std::time::Duration::from_secs(30));
    let rule = |text: &str| workload::Objective {
        abort_after: after,
        ..workload::objective::parse("named", text).expect("an objective")
    };
    workload::Workload { objectives: objectives.into_iter().map(rule).collect(), ..sample_run::workload() }
}

#[test]
fn the_panel_has_a_line_for_each_stop_rule_and_those_that_fail_come_first() {
    let objectives = ["max(list) < 50ms", "service_p95(list) < 1s", "error_rate(all) < 1%"];
    let mut view = LiveView::new(&with_rules(objectives), 1);
    let rules = |view: &LiveView| {
        let panel = view.panel(Style::Plain, 100);
        assert_eq!(panel.lines().count(), view.panel_lines());
        panel.lines().skip(11).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(rules(&view), @r"
    rule     max(list) < 50ms · nothing counted yet
    rule     service_p95(list) < 1s · nothing counted yet
    rule     error_rate(all) < 1% · nothing counted yet
    ");
    for second in 0..10 {
        view.take(&tick(0, second, if second < 4 { 0 } else { 15 }));
    }
    insta::assert_snapshot!(rules(&view), @r"
    rule     error_rate(all) < 1% · 6.00 % so far · fails since 0:05, ends the run from 0:30 on
    rule     max(list) < 50ms · 4.0 ms so far · holds
    rule     service_p95(list) < 1s · nothing counted yet
    ");
    let mut many = LiveView::new(&with_rules(["max(list) < 50ms"; 7]), 1);
    many.take(&tick(0, 0, 0));
    assert!(rules(&many).ends_with("  3 more stop rules"), "{}", rules(&many));
    let narrow = many.panel(Style::Plain, 40);
    assert!(narrow.lines().all(|line| line.chars().count() <= 40), "{narrow}");
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
