//! A target that stalls, at any time and for how long it may be: the counts add up all the same, because every request
//! ends, late.

use std::time::Duration;

use evidence::tick::{LoopState, ScenarioState};
use evidence::{Ending, Instant, Key, KeyId, Metric, Outcome, RuleId, RunEnd, Severity, Sink as _, Tick};
use proptest::prelude::*;
use workload::{Executor, Phase};

use crate::testing::TestRun;

const SECOND_NS: u64 = 1_000_000_000;
const SCENARIO: &str = "play";
/// How late each iteration begins.
const LAG_NS: u64 = 40_000;

/// A target that answers in `service_ms`, as many requests at a time as come, and works on none of them while it stalls.
#[derive(Debug, Clone, Copy)]
struct StallingTarget {
    service_ms: u64,
    from_ms: u64,
    length_ms: u64,
}

impl StallingTarget {
    /// When the response to a request of this instant comes.
    fn answered_ns(self, sent_ns: u64) -> u64 {
        let [service, from, length] =
            [self.service_ms, self.from_ms, self.length_ms].map(|ms| ms * 1_000_000);
        match sent_ns + service {
            done if done <= from || sent_ns >= from + length => done,
            done if sent_ns < from => done + length,
            _ => from + length + service,
        }
    }
}

/// One iteration with one request.
#[derive(Debug, Clone, Copy)]
struct IterationTimes {
    due_ns: u64,
    begun_ns: u64,
    ended_ns: u64,
}

#[derive(Debug, Clone, Copy)]
enum Model {
    /// So many arrivals a second.
    Open(u64),
    /// So many virtual users, without think time.
    Closed(u32),
}

impl Model {
    fn executor(self, seconds: u64) -> Executor {
        let duration = Duration::from_secs(seconds);
        match self {
            Model::Open(rate) => Executor::ConstantArrivalRate { rate: rate as f64, duration },
            Model::Closed(vus) => Executor::ConstantVus { vus, duration },
        }
    }

    fn iterations(self, seconds: u64, target: StallingTarget) -> Vec<IterationTimes> {
        let iteration = |due_ns| {
            let begun_ns = due_ns + LAG_NS;
            IterationTimes { due_ns, begun_ns, ended_ns: target.answered_ns(begun_ns) }
        };
        match self {
            Model::Open(rate) => (0..rate * seconds).map(|n| iteration(n * SECOND_NS / rate)).collect(),
            Model::Closed(vus) => {
                let next = |before: &IterationTimes| Some(iteration(before.ended_ns));
                let of_one = || std::iter::successors(Some(iteration(0)), next);
                let is_in_time = |one: &IterationTimes| one.due_ns < seconds * SECOND_NS;
                (0..vus).flat_map(|_| of_one().take_while(is_in_time)).collect()
            }
        }
    }
}

/// The keys, in the order of their numbers.
fn keys() -> Vec<(KeyId, Key)> {
    let key = |metric| Key::of(metric).scenario(SCENARIO).phase("steady");
    let keys = [
        key(Metric::Scheduled).endpoint("list"),
        key(Metric::Started).endpoint("list"),
        key(Metric::Requests).endpoint("list"),
        key(Metric::IterationsDone),
        key(Metric::StartLag),
        key(Metric::ResponseTime).endpoint("list").outcome(Outcome::Ok),
        key(Metric::ServiceTime).endpoint("list").outcome(Outcome::Ok),
        key(Metric::IterationTime).outcome(Outcome::Ok),
    ];
    keys.into_iter().enumerate().map(|(number, key)| (KeyId(number as u32), key)).collect()
}

/// The tick of one second, as the engine's loop fills it: what began in it, what ended in it, and how many were active.
fn tick(all: &[IterationTimes], second: u32, covered_ns: u64) -> Tick {
    let begin = u64::from(second) * SECOND_NS;
    let is_its = |ns: u64| (begin..begin + SECOND_NS).contains(&ns);
    let mut tick = Tick::default();
    tick.second = second;
    if second == 0 {
        tick.new_keys = keys();
    }
    for one in all.iter().filter(|one| is_its(one.due_ns)) {
        (0..3).for_each(|count| tick.add(KeyId(count), second, 1));
        tick.record_ns(KeyId(4), one.begun_ns - one.due_ns);
    }
    for one in all.iter().filter(|one| is_its(one.ended_ns)) {
        tick.add(KeyId(3), second, 1);
        tick.record_ns(KeyId(5), one.ended_ns - one.due_ns);
        tick.record_ns(KeyId(6), one.ended_ns - one.begun_ns);
        tick.record_ns(KeyId(7), one.ended_ns - one.due_ns);
    }
    let overlap = |one: &IterationTimes| {
        one.ended_ns.min(begin + covered_ns).saturating_sub(one.begun_ns.max(begin)) as f64
    };
    let active_mean = all.iter().map(overlap).sum::<f64>() / covered_ns as f64;
    tick.state = LoopState { in_flight_mean: active_mean, covered_ns, ..LoopState::default() };
    let scenario = SCENARIO.into();
    let (active_max, cap) = (active_mean.ceil() as u32, 100_000);
    tick.scenarios = vec![ScenarioState { scenario, active_mean, active_max, cap, at_cap: 0.0 }];
    tick
}

fn run(model: Model, seconds: u64, target: StallingTarget) -> TestRun {
    let mut test_run = TestRun::unobserved().with_objective("few_errors", "error_rate(all) < 1%");
    let end = Duration::from_secs(seconds);
    test_run.workload.phases = vec![Phase { name: "steady".to_owned(), start: Duration::ZERO, end }];
    test_run.workload.scenarios[0].executor = model.executor(seconds);
    let all = model.iterations(seconds, target);
    let last = all.iter().map(|one| one.ended_ns).max().unwrap_or(0).max(seconds * SECOND_NS - 1) + 1;
    let last_second = Instant::from_nanos(last - 1).second();
    for second in 0..=last_second {
        let covered_ns = (last - u64::from(second) * SECOND_NS).min(SECOND_NS);
        test_run.run.tick(&tick(&all, second, covered_ns)).unwrap();
    }
    test_run.run.finish(RunEnd::new(Ending::Completed, last_second));
    test_run
}

fn any_model() -> impl Strategy<Value = Model> {
    prop_oneof![(20..200u64).prop_map(Model::Open), (2..20u32).prop_map(Model::Closed)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_stall_of_a_target_makes_an_accounting_identity_fail(
        model in any_model(),
        seconds in 20..40u64,
        service_ms in 10..400u64,
        from in 0.0..1.1f64,
        length_ms in prop_oneof![1..1_500u64, 1_500..20_000u64],
    ) {
        let from_ms = (from * seconds as f64 * 1e3) as u64;
        let test_run = run(model, seconds, StallingTarget { service_ms, from_ms, length_ms });
        let findings = test_run.judge().findings;
        let is_wrong = |rule| findings.iter().any(|f| f.rule == rule && f.severity != Severity::Info);
        prop_assert!(!is_wrong(RuleId::L5) && !is_wrong(RuleId::L6), "{findings:?}");
        prop_assert!(findings.iter().all(|f| f.severity != Severity::Invalid), "{findings:?}");
    }
}

/// A service that was stopped for 0.9 s at 23.2 s and at 23.6 s of 25 s.
#[test]
fn a_stall_that_crosses_the_end_of_the_load_is_like_one_before_it() {
    for from_ms in [23_200, 23_600, 24_500] {
        let target = StallingTarget { service_ms: 10, from_ms, length_ms: 900 };
        for model in [Model::Open(300), Model::Closed(8)] {
            let findings = run(model, 25, target).findings_of("L5");
            assert_eq!(findings, "nothing", "{model:?}, stalled at {from_ms} ms");
        }
    }
}
