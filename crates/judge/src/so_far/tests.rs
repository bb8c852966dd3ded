use evidence::{Key, KeyId, Metric, Outcome, Run, Tick};
use figures::live::objective::ObjectiveCounter;
use proptest::prelude::*;

use super::*;
use crate::shares::CONFIDENCE;
use crate::testing::{Load, TestRun, workload};

const OK: KeyId = KeyId(0);
const FAILED: KeyId = KeyId(1);

fn objective(text: &str) -> Objective {
    workload::objective::parse("named", text).unwrap()
}

/// A second of the steady phase: successes of 10 ms, others of 80 ms, and failures.
fn tick(second: u32, [fast, slow, failed]: [u64; 3]) -> Tick {
    let mut tick = Tick::default();
    tick.second = second;
    let key = |outcome| {
        let key = Key::of(Metric::ResponseTime).scenario("play").endpoint("list").phase("steady");
        key.outcome(outcome)
    };
    tick.new_keys = vec![(OK, key(Outcome::Ok)), (FAILED, key(Outcome::Http5xx))];
    (0..fast).for_each(|_| tick.record_ns(OK, 10_000_000));
    (0..slow).for_each(|_| tick.record_ns(OK, 80_000_000));
    (0..failed).for_each(|_| tick.record_ns(FAILED, 10_000_000));
    tick
}

fn so_far(text: &str, seconds: impl IntoIterator<Item = [u64; 3]>) -> Option<ShareSoFar> {
    let (workload, objective) = (workload(), objective(text));
    let mut counter = ObjectiveCounter::new(&workload, &objective);
    (0..).zip(seconds).for_each(|(second, counts)| counter.take(&tick(second, counts)));
    of(counter.counts(), &objective, &workload)
}

/// 40 of 100 arrivals a second are dropped because the generator was late: no answer of the target.
#[test]
fn what_the_generator_did_not_send_is_not_the_targets_slowness() {
    let (workload, objective) = (workload(), objective("p95(list) < 50ms"));
    let mut counter = ObjectiveCounter::new(&workload, &objective);
    for second in 0..60 {
        let mut tick = tick(second, [60, 0, 0]);
        let late = KeyId(2);
        let key = Key::of(Metric::DroppedLate).scenario("play").endpoint("list").phase("steady");
        tick.new_keys.push((late, key));
        tick.add(late, second, 40);
        counter.take(&tick);
    }
    let share = of(counter.counts(), &objective, &workload).unwrap();
    assert_eq!((share.decision.answer, share.decision.share), (ShareAnswer::Pass, 0.0));
    assert_eq!(counter.counts().value(&objective, 60).unwrap().floor(), 10.0);
}

/// None of 59 shows a share below 5 %. Three arrivals act as one where nothing shows how they cluster: 177, of which 50 came
/// in 5 s, so that 127 are missing, which take 12.7 s.
#[test]
fn the_time_until_it_is_decided_is_that_of_the_arrivals_that_are_missing() {
    let of = |seconds| so_far("p95(list) < 50ms", std::iter::repeat_n([10, 0, 0], seconds)).unwrap();
    let early = of(5);
    assert_eq!((early.decision.answer, early.arrivals_missing), (ShareAnswer::UndecidedBySample, Some(127)));
    assert_eq!((early.decided_in_s(10.0), early.decided_in_s(0.0)), (Some(12.7), None));
    assert_eq!(of(17).arrivals_missing, Some(7));
    assert_eq!((of(18).decision.answer, of(18).arrivals_missing), (ShareAnswer::Pass, None));
}

#[test]
fn each_kind_of_objective_asks_about_its_own_share() {
    // 4 % are slow, 2 % failed.
    let seconds = || std::iter::repeat_n([94, 4, 2], 60);
    for (text, share, allowed, answer) in [
        ("p95(list) < 50ms", 0.06, 0.05, ShareAnswer::Fail),
        ("p90(list) < 50ms", 0.06, 0.1, ShareAnswer::Pass),
        ("p50(list) > 5ms", 0.0, 0.5, ShareAnswer::Pass),
        ("error_rate(list) < 5%", 0.02, 0.05, ShareAnswer::Pass),
        ("error_rate(list) < 1%", 0.02, 0.01, ShareAnswer::Fail),
        ("error_rate(list) > 50%", 0.98, 0.5, ShareAnswer::Fail),
    ] {
        let so_far = so_far(text, seconds()).unwrap();
        assert!((so_far.decision.share - share).abs() < 1e-9, "{text}: {so_far:?}");
        assert!((so_far.allowed - allowed).abs() < 1e-9, "{text}: {so_far:?}");
        assert_eq!(so_far.decision.answer, answer, "{text}: {so_far:?}");
        let limits = so_far.decision.limits;
        assert!(limits.lower <= share && share <= limits.upper, "{text}: {so_far:?}");
    }
    for text in ["max(list) < 50ms", "avg(list) < 50ms", "throughput(list) > 5/s"] {
        assert_eq!(so_far(text, seconds()), None, "{text}");
    }
    assert_eq!(so_far("p95(list) < 50ms", []), None, "nothing was counted");
    assert_eq!(so_far("p95(claim) < 50ms", seconds()), None, "of another endpoint");
}

/// Of evidence that is whole, and of which nothing but the arrivals is known, the judge says the same.
#[test]
fn at_the_end_of_an_undisturbed_run_it_is_the_answer_of_the_judge() {
    for (failed, expected) in
        [(0, ShareAnswer::Pass), (5, ShareAnswer::UndecidedBySample), (8, ShareAnswer::Fail)]
    {
        let text = "error_rate(list) < 10%";
        let load = Load { failed, ..Load::ok(50 - failed) };
        let run = TestRun::new().offer("steady", "list", load).with_objective("named", text);
        let judged = run.judge().claims.into_iter().find(|claim| claim.name == "named").unwrap();
        let objective = objective(text);
        let mut counter = ObjectiveCounter::new(&run.workload, &objective);
        (0..run.run.seconds()).for_each(|second| counter.take(&recorded(&run, second)));
        let so_far = of(counter.counts(), &objective, &run.workload).unwrap();
        let is_open = so_far.decision.answer.is_open();
        assert_eq!(so_far.decision.answer, expected, "{so_far:?}");
        assert_eq!(is_open, judged.verdict == evidence::Verdict::Inconclusive, "{judged:?}");
        let limits = judged.share.unwrap();
        assert!((limits.lower - so_far.decision.limits.lower).abs() < 1e-9, "{limits:?} {so_far:?}");
        assert!((limits.upper - so_far.decision.limits.upper).abs() < 1e-9, "{limits:?} {so_far:?}");
    }
}

/// A second of a run as a tick.
fn recorded(run: &TestRun, second: u32) -> Tick {
    let mut tick = Tick::default();
    tick.second = second;
    for (id, key) in run.run.keys() {
        tick.new_keys.push((*id, key.clone()));
        for (_, highest_us, count) in run.run.histogram(*id, second..second + 1).unwrap().buckets() {
            (0..count).for_each(|_| tick.record_ns(*id, highest_us * 1_000));
        }
    }
    tick
}

proptest! {
    /// With as many further arrivals of the same kind, and a tenth, it is decided, and with a tenth less it is not. Counts are whole, so that
    /// shares of few arrivals are not quite the same.
    #[test]
    fn what_is_missing_decides(slow in 0_u64..40, n in 40_u64..400, seconds in 7_usize..40) {
        let counts = |n: u64| [n.saturating_sub(slow), slow.min(n), 0];
        let Some(so_far) = so_far("p80(list) < 50ms", std::iter::repeat_n(counts(n), seconds)) else { return Ok(()) };
        let Some(missing) = so_far.arrivals_missing else { return Ok(()) };
        let question = question_of(counts(n), seconds);
        let arrivals = question.counts.arrivals;
        prop_assert!(question.decide().answer.is_open());
        let is_open = |then: f64| question.times_as_many(then / arrivals as f64).decide().answer.is_open();
        let decided = (arrivals + missing) as f64;
        prop_assert!(!is_open(decided * 1.1));
        prop_assert!(is_open((arrivals as f64).max((decided - missing as f64 * 0.1).min(decided * 0.9))));
    }
}

fn question_of(counts: [u64; 3], seconds: usize) -> ShareQuestion {
    let (workload, objective) = (workload(), objective("p80(list) < 50ms"));
    let mut counter = ObjectiveCounter::new(&workload, &objective);
    (0..).zip(0..seconds).for_each(|(second, _)| counter.take(&tick(second, counts)));
    question(counter.counts(), &objective, CONFIDENCE).unwrap()
}
