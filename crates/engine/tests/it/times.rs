//! Every measured time is at least as long as the target took for the request.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::EndpointIndex;
use engine::iteration::{
    Behaviour as UserBehaviour, Context, Event, Iteration, LoopScenario, Progress, UserMaker,
};
use evidence::{Histogram, Instant, Key, Metric, Outcome};
use testbed::{Behaviour, GrpcBehaviour, Served, Site};
use workload::schedule::Schedule;
use workload::{Draw, Think, ThinkDistribution};

use crate::accounting::Accounting;
use crate::drive::{Drive, drive};
use crate::plan::{Plan, RPC, at_rate, call, closed, get, mix, ms, scenario, sequence};

/// Arrival n sends one request to endpoint n, and records when it was due and when it was complete.
#[derive(Default)]
struct OneRequestEach {
    seen: Arc<Mutex<Vec<SeenRequest>>>,
}

#[derive(Debug, Clone, Copy)]
struct SeenRequest {
    number: u64,
    due: Instant,
    completed: Instant,
}

impl UserBehaviour for OneRequestEach {
    fn on_loop(&self, scenarios: Vec<LoopScenario>) -> Vec<Box<dyn UserMaker>> {
        scenarios
            .iter()
            .map(|_| Box::new(OneRequestEach { seen: self.seen.clone() }) as Box<dyn UserMaker>)
            .collect()
    }
}

impl UserMaker for OneRequestEach {
    fn virtual_user(&mut self, _number: u32) -> Box<dyn Iteration> {
        Box::new(OneRequest { number: 0, due: Instant::EPOCH, seen: self.seen.clone() })
    }

    fn endpoint_of(&self, arrival: u64) -> Option<EndpointIndex> {
        Some(EndpointIndex(arrival as usize))
    }
}

struct OneRequest {
    number: u64,
    due: Instant,
    seen: Arc<Mutex<Vec<SeenRequest>>>,
}

impl Iteration for OneRequest {
    fn resume(&mut self, event: Event<'_>, context: &mut Context<'_>) -> Progress {
        let Event::Begin(arrival) = event else {
            let seen = SeenRequest { number: self.number, due: self.due, completed: context.now() };
            self.seen.lock().unwrap().push(seen);
            return Progress::DONE;
        };
        (self.number, self.due) = (arrival.number, arrival.due);
        let draft = context.request(0);
        draft.endpoint = EndpointIndex(arrival.number as usize);
        draft.due = arrival.due;
        draft.deadline = arrival.due + ms(30_000);
        draft.method.extend_from_slice(b"GET");
        draft.path.extend_from_slice(format!("/{}", arrival.number).as_bytes());
        Progress::WAITING
    }
}

/// Each request has an endpoint of its own, so that its measured times are counted alone and can be compared with the
/// log of the same request.
#[test]
fn each_measured_time_is_at_least_the_time_that_the_target_took() {
    const COUNT: u64 = 200;
    let delay = |n: u64| ms(n * 7 % 40);
    let site = (0..COUNT).fold(Site::new(), |site, n| site.at(&format!("/{n}"), Behaviour::after(delay(n))));
    let target = testbed::http(site).unwrap();
    let steps = mix((0..COUNT).map(|n| (1, get(&n.to_string(), "/"))));
    let plan = Plan::of(target.addr()).scenario(scenario("s", at_rate(400.0, ms(500)), steps));
    let schedule = Schedule::new(&plan.workload.scenarios[0].executor).unwrap();
    let behaviour = OneRequestEach::default();
    let seen = behaviour.seen.clone();
    let ran = Drive::new(plan.compile()).behaviour(Arc::new(behaviour)).run();
    let run = ran.assert_sound();
    let log: BTreeMap<String, Served> = target.log().into_iter().map(|s| (s.path.clone(), s)).collect();
    assert_eq!((log.len(), target.requests()), (COUNT as usize, COUNT));
    let seen = seen.lock().unwrap().clone();
    assert_eq!(seen.len(), COUNT as usize);
    let mut all = Histogram::new();
    for SeenRequest { number, due, completed } in seen {
        let served = &log[&format!("/{number}")];
        let (held, answered_ns) = (served.held().unwrap(), served.answered_ns.unwrap());
        assert!(held >= delay(number));
        assert_eq!(Some(due.offset()), schedule.due(number), "it is due by the schedule, not when it began");
        assert!(ran.clock.monotonic_ns(due) <= served.received_ns, "{number} was received before it was due");
        assert!(ran.clock.monotonic_ns(completed) >= answered_ns, "{number} was complete before its answer");
        let name = number.to_string();
        let mine = |key: &Key| *key.endpoint == *name;
        let service = run.times(Metric::ServiceTime, mine);
        let response = run.times(Metric::ResponseTime, mine);
        assert_eq!((service.count(), response.count()), (1, 1));
        assert!(at_most(held, &service), "{number}: held {held:?}, service time {service:?}");
        let waited = Duration::from_nanos(answered_ns - ran.clock.monotonic_ns(due));
        assert!(at_most(waited, &response), "{number}: {waited:?} since due, response time {response:?}");
        let completed = completed.since(due).as_nanos() as u64;
        all.record_ns(completed);
    }
    let counted = run.times(Metric::ResponseTime, |_| true);
    assert!(counted.buckets().eq(all.buckets()), "the recorded times are those that iterations measured");
}

/// Whether a duration is at most the one value of a histogram, whose resolution rounds upwards.
fn at_most(duration: Duration, one: &Histogram) -> bool {
    duration <= Duration::from_micros(one.max_us().unwrap())
}

/// Ranked by size, the k-th measured time is at least the k-th time that the target took, which follows if it is so
/// for each request.
fn assert_dominates(measured: &Histogram, log: &[Served], path: &str) {
    let mut held: Vec<u64> =
        log.iter().filter(|s| s.path == path).map(|s| s.held().unwrap().as_nanos() as u64).collect();
    held.sort_unstable();
    let measured: Vec<u64> =
        measured.buckets().flat_map(|(_, high, n)| (0..n).map(move |_| high * 1_000)).collect();
    assert_eq!(measured.len(), held.len(), "requests of {path}");
    for (rank, (measured, held)) in measured.iter().zip(&held).enumerate() {
        assert!(measured >= held, "{path}, rank {rank}: measured {measured} ns, held {held} ns");
    }
}

#[test]
fn a_frozen_and_queueing_target_is_never_understated() {
    let site = Site::new()
        .at("/quick", Behaviour::ok())
        .at("/queue", Behaviour::capacity(2, ms(10)))
        .freeze(ms(500), ms(200));
    let target = testbed::http(site).unwrap();
    let quick = scenario("open", at_rate(200.0, ms(1_500)), sequence([get("quick", "/quick")]));
    let queue = scenario("closed", closed(6, ms(1_500)), sequence([get("queue", "/queue")]));
    let ran = drive(Plan::of(target.addr()).scenario(quick).scenario(queue).compile());
    let run = ran.assert_sound();
    let log = target.log();
    for endpoint in ["quick", "queue"] {
        let mine = |key: &Key| *key.endpoint == *endpoint;
        assert_dominates(&run.times(Metric::ServiceTime, mine), &log, &format!("/{endpoint}"));
        assert_dominates(&run.times(Metric::ResponseTime, mine), &log, &format!("/{endpoint}"));
    }
    let longest = log.iter().filter_map(Served::held).max().unwrap();
    assert!(longest >= ms(200), "the target froze during requests");
}

#[test]
fn grpc_calls_that_share_a_connection_are_never_understated() {
    let delays = [("Good", ms(0)), ("Slow", ms(25)), ("Coded", ms(7))];
    let path = |method: &str| format!("/bed.Bed/{method}");
    let site = delays
        .iter()
        .fold(Site::new(), |site, (method, delay)| site.at(&path(method), GrpcBehaviour::after(*delay)));
    let target = testbed::grpc(site).unwrap();
    let steps = mix(delays.map(|(method, _)| (1, call(method, "x"))));
    let plan = Plan::new().grpc(RPC, target.addr()).scenario(scenario("s", at_rate(400.0, ms(1_000)), steps));
    let ran = drive(plan.compile());
    let run = ran.assert_sound();
    assert_eq!(target.connections(), 1);
    for (method, _) in delays {
        let mine = |key: &Key| *key.endpoint == *method && key.outcome == Some(Outcome::Ok);
        assert_dominates(&run.times(Metric::ServiceTime, mine), &target.log(), &path(method));
        assert_dominates(&run.times(Metric::ResponseTime, mine), &target.log(), &path(method));
    }
}

/// Each iteration thinks as long as its draw says, whichever loop it runs on.
#[test]
fn drawn_think_times_are_those_of_the_seed() {
    let range = ThinkDistribution::Uniform { min: ms(20), max: ms(200) };
    let gaps = || {
        let target = testbed::http(Behaviour::ok()).unwrap();
        let mut second = get("second", "/second?${iteration}");
        second.think = Think::Drawn(range);
        let steps = sequence([get("first", "/first?${iteration}"), second]);
        let plan = Plan::of(target.addr()).scenario(scenario("s", at_rate(100.0, ms(300)), steps));
        drive(plan.compile()).assert_sound();
        let log = target.log();
        let find =
            |path: &str, n: usize| log.iter().find(|s| s.path == path && s.query == n.to_string()).unwrap();
        let gap = |n| find("/second", n).received_ns - find("/first", n).answered_ns.unwrap();
        (0..30).map(gap).collect::<Vec<u64>>()
    };
    let (one, two) = (gaps(), gaps());
    // The program gives the first value that it draws the salt 1.
    for (n, pair) in one.iter().zip(&two).enumerate() {
        let drawn = Think::Drawn(range).time(&Draw::new(7, 0, n as u64), 1).as_nanos() as u64;
        assert!(*pair.0 >= drawn && *pair.1 >= drawn, "iteration {n}: {pair:?}, drawn {drawn}");
    }
}

/// The measured time of a whole iteration includes its thinking; that of its second request does not begin
/// before the thinking is over.
#[test]
fn think_time_counts_for_the_iteration_and_not_for_the_request() {
    const THINK: Duration = ms(60);
    let target = testbed::http(Behaviour::after(ms(5))).unwrap();
    let mut second = get("second", "/second?${iteration}");
    second.think = THINK.into();
    let steps = sequence([get("first", "/first?${iteration}"), second]);
    let plan = Plan::of(target.addr()).scenario(scenario("s", at_rate(100.0, ms(500)), steps));
    let ran = drive(plan.compile());
    let run = ran.assert_sound();
    let log = target.log();
    let find = |path: &str, query: &str| log.iter().find(|s| s.path == path && s.query == query).unwrap();
    for n in 0..50 {
        let (first, second) = (find("/first", &n.to_string()), find("/second", &n.to_string()));
        let gap = Duration::from_nanos(second.received_ns - first.answered_ns.unwrap());
        assert!(gap >= THINK, "iteration {n} had a think time of {gap:?}");
    }
    assert_eq!(log.len(), 100);
    let iterations = run.times(Metric::IterationTime, |_| true);
    assert!(iterations.min_us().unwrap() >= 70_000 * 999 / 1_000, "{iterations:?}");
    // The shortest of 50 requests that take 5 ms would be much longer with the think time.
    let requests = run.times(Metric::ResponseTime, |key| &*key.endpoint == "second");
    assert!(requests.min_us().unwrap() < 60_000, "{requests:?}");
}
