use super::*;
use crate::memory::MemoryRun;
use crate::observed::Observed;
use crate::sink::Sink;
use crate::tick::Tick;

fn empty() -> MemoryRun {
    MemoryRun::new(Manifest::named("demo"))
}

/// A run whose ticks cover so many milliseconds, one tick a second, with arrivals due up to second 1.
fn run(covered_ms: u64, ending: Option<Ending>) -> MemoryRun {
    let mut run = empty();
    for second in 0..covered_ms.div_ceil(1_000) {
        let mut tick = Tick::default();
        tick.second = u32::try_from(second).unwrap();
        tick.state.covered_ns = (covered_ms - second * 1_000).min(1_000) * 1_000_000;
        run.tick(&tick).unwrap();
    }
    run.add(&Key::of(Metric::Scheduled), 0, 10);
    run.add(&Key::of(Metric::Scheduled), 1, 3);
    if let Some(ending) = ending {
        run.finish(RunEnd::new(ending, 0));
    }
    run
}

#[test]
fn a_load_ends_with_its_last_iteration_and_one_cut_short_before_the_wait_for_requests_in_flight() {
    let end = |covered_ms, ending| load_end(&run(covered_ms, ending)).unwrap();
    let ms = Duration::from_millis;
    assert_eq!(end(1_288, Some(Ending::Completed)), LoadEnd::Complete(ms(1_288)));
    assert_eq!(end(1_288, Some(Ending::Interrupted)), LoadEnd::CutShort(ms(1_288)));
    assert_eq!(end(2_000, None), LoadEnd::CutShort(ms(2_000)));
    assert_eq!(end(31_500, Some(Ending::Completed)), LoadEnd::Complete(ms(31_500)));
    assert_eq!(end(31_500, Some(Ending::Interrupted)), LoadEnd::CutShort(ms(1_000)));
    assert_eq!(load_end(&empty()).unwrap(), LoadEnd::CutShort(ms(0)));
}

#[test]
fn a_load_that_was_stopped_ends_then_however_long_the_wait_was_for_requests_in_flight() {
    let end = |covered_ms, stopped_ms| {
        let mut run = run(covered_ms, Some(Ending::Interrupted));
        let stopped = Notice {
            at: Instant::at(Duration::from_millis(stopped_ms)),
            observer: "generator".to_owned(),
            instance: None,
            kind: NoticeKind::Stopped,
            text: "interrupted by a signal".to_owned(),
        };
        run.observed(&Observed { notices: vec![stopped], ..Observed::default() }).unwrap();
        load_end(&run).unwrap()
    };
    let cut = |ms| LoadEnd::CutShort(Duration::from_millis(ms));
    assert_eq!(end(2_050, 1_950), cut(1_950), "the last arrival was due in this second");
    assert_eq!(end(1_288, 1_200), cut(1_200));
    assert_eq!(end(1_288, 1_400), cut(1_288), "no longer than was recorded");
    assert_eq!(end(1_288, 900), cut(1_000), "not before its last arrival");
}

#[test]
fn the_samples_of_a_last_tick_are_dated_at_its_end() {
    let run = run(1_288, None);
    let series = run.series().iter().find(|series| &*series.name == "in_flight").unwrap();
    let samples = run.samples(series, run.whole()).unwrap();
    let dates: Vec<u64> = samples.iter().map(|sample| sample.at.as_nanos()).collect();
    assert_eq!(dates, [999_999_999, 1_287_999_999]);
}

#[test]
fn requests_that_the_generator_cancelled_are_no_failures_of_a_window() {
    let mut run = empty();
    for (outcome, n) in [(Outcome::Ok, 7), (Outcome::Timeout, 2), (Outcome::Cancelled, 1)] {
        run.record(&Key::of(Metric::ResponseTime).endpoint("get").outcome(outcome), 0, 1_000, n);
    }
    let expected = Completed { endpoint: "get".into(), ok: 7, failed: 2 };
    assert_eq!(completed(&run, &(0..1)).unwrap(), [expected]);
}
