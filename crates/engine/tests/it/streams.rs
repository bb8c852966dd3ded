//! Streams of gRPC messages are counted, timed, and cut short where the plan asks for it; every fault is an outcome.

use std::io::Write;
use std::sync::Mutex;
use std::time::Duration;

use evidence::{GrpcCode, Metric, Outcome};
use testbed::{GrpcBehaviour, Site, StreamEnd};
use workload::call::{CallOptions, CancelAfter};
use workload::proxy::Proxy;
use workload::{Executor, Expect, HttpVersion, Scenario, Step};

use crate::accounting::Accounting;
use crate::drive::{FinishedRun, drive};
use crate::h2_peer::{Manner, Peer};
use crate::opening::{OPENED, proxy, signals};
use crate::plan::{Plan, RPC, Tuned, WEB, at_rate, call, get, ms, scenario, sequence};
use crate::proxy::tunnel;

const COUNT: u64 = 10;

/// Ten calls of a step to a target with this behaviour, and the log of what the target received.
fn run(behaviour: GrpcBehaviour, step: Step) -> (FinishedRun, Vec<testbed::Served>) {
    let site = Site::new().at("/bed.Bed/Good", GrpcBehaviour::Echo).otherwise(behaviour);
    let target = testbed::grpc(site).unwrap();
    let plan = Plan::new()
        .grpc(RPC, target.addr())
        .scenario(scenario("s", at_rate(50.0, ms(200)), sequence([step])))
        .scenario(scenario("good", at_rate(50.0, ms(400)), sequence([call("Good", "y")])));
    let ran = drive(plan.compile());
    assert_eq!(ran.assert_sound().outcomes("Good"), [(Outcome::Ok, 20)].into());
    (ran, target.log().into_iter().filter(|served| served.path != "/bed.Bed/Good").collect())
}

fn once() -> Executor {
    Executor::SharedIterations { vus: 1, iterations: 1, max_duration: ms(60_000) }
}

fn sum(ran: &FinishedRun, metric: Metric) -> u64 {
    ran.assert_sound().all(metric)
}

/// The median of the endpoint's times, in milliseconds.
fn median_ms(ran: &FinishedRun, metric: Metric, endpoint: &str) -> f64 {
    let times = ran.assert_sound().times(metric, |key| key.endpoint.as_ref() == endpoint);
    times.quantile(0.5).finite_us().unwrap() / 1_000.0
}

fn ticks(count: u8, gap: Duration, end: StreamEnd) -> GrpcBehaviour {
    GrpcBehaviour::Stream { count, gap, end }
}

fn expecting(step: Step, messages: u64, last: &str) -> Step {
    let json = vec![("$.text".to_owned(), last.into())];
    Step { expect: Expect { messages: Some(messages), json, ..Expect::default() }, ..step }
}

fn outcome_of(behaviour: GrpcBehaviour, step: Step) -> Outcome {
    let (ran, _) = run(behaviour, step);
    let outcomes = ran.assert_sound().outcomes("Ticks");
    assert_eq!(outcomes.values().sum::<u64>(), COUNT, "{outcomes:?}");
    *outcomes.first_key_value().unwrap().0
}

#[test]
fn a_stream_is_read_to_its_end_and_its_last_message_is_checked() {
    let step = expecting(call("Ticks", "x"), 3, "c");
    let (ran, log) = run(ticks(3, ms(40), StreamEnd::Code(0)), step);
    assert_eq!(ran.assert_sound().outcomes("Ticks"), [(Outcome::Ok, COUNT)].into());
    assert_eq!(sum(&ran, Metric::MessagesIn), 3 * COUNT);
    assert_eq!(sum(&ran, Metric::MessagesOut), COUNT);
    assert_eq!(log.len() as u64, COUNT);
    let first = median_ms(&ran, Metric::FirstMessageTime, "Ticks");
    let whole = median_ms(&ran, Metric::ResponseTime, "Ticks");
    assert!(first >= 39.0, "the first message is received after one pause: {first} ms");
    assert!(whole >= first + 79.0, "the others two pauses later: {first} and {whole} ns");
}

#[test]
fn the_end_of_a_stream_decides_its_outcome() {
    let code = |name: &str| Outcome::Grpc(GrpcCode::from_name(name).unwrap());
    let of = |end| outcome_of(ticks(2, Duration::ZERO, end), call("Ticks", "x").within(ms(400)));
    assert_eq!(of(StreamEnd::Code(0)), Outcome::Ok);
    assert_eq!(of(StreamEnd::Code(14)), code("UNAVAILABLE"));
    assert_eq!(of(StreamEnd::NoStatus), code("UNKNOWN"));
    assert_eq!(of(StreamEnd::Reset(2)), Outcome::Reset);
    assert_eq!(of(StreamEnd::Broken), Outcome::Protocol);
    assert_eq!(of(StreamEnd::Never), Outcome::Timeout);
    assert_eq!(outcome_of(ticks(0, Duration::ZERO, StreamEnd::Code(0)), call("Ticks", "x")), Outcome::Ok);
    let three = expecting(call("Ticks", "x"), 3, "c");
    assert_eq!(outcome_of(ticks(2, Duration::ZERO, StreamEnd::Code(0)), three), Outcome::Check);
    let garbage = GrpcBehaviour::Garbage(b"no message at all".to_vec());
    assert_eq!(outcome_of(garbage, call("Ticks", "x")), Outcome::Protocol);
}

#[test]
fn an_endless_stream_is_cut_short_where_the_plan_asks_for_it() {
    let cut = |after| CallOptions { cancel_after: Some(after), ..CallOptions::default() };
    let step = expecting(call("Ticks", "x"), 2, "b").streaming(cut(CancelAfter::Messages(2)));
    let (ran, _) = run(ticks(5, ms(10), StreamEnd::Never), step);
    assert_eq!(ran.assert_sound().outcomes("Ticks"), [(Outcome::Ok, COUNT)].into());
    assert_eq!(sum(&ran, Metric::MessagesIn), 2 * COUNT);

    let step = expecting(call("Ticks", "x"), 1, "a").streaming(cut(CancelAfter::Time(ms(150))));
    let (ran, log) = run(ticks(1, Duration::ZERO, StreamEnd::Never), step);
    assert_eq!(ran.assert_sound().outcomes("Ticks"), [(Outcome::Ok, COUNT)].into());
    assert!(median_ms(&ran, Metric::ResponseTime, "Ticks") >= 149.0);
    assert_eq!(log.len() as u64, COUNT);
}

#[test]
fn paced_messages_are_sent_at_their_instants() {
    let paced = CallOptions {
        then: vec![serde_json::json!({ "text": "b" })],
        repeat: 2,
        every: ms(30),
        ..CallOptions::default()
    };
    let step = expecting(call("Talk", "a"), 4, "b").streaming(paced);
    let (ran, log) = run(GrpcBehaviour::EchoEach, step);
    assert_eq!(ran.assert_sound().outcomes("Talk"), [(Outcome::Ok, COUNT)].into());
    assert_eq!((sum(&ran, Metric::MessagesIn), sum(&ran, Metric::MessagesOut)), (4 * COUNT, 4 * COUNT));
    assert!(median_ms(&ran, Metric::ResponseTime, "Talk") >= 89.0);
    let sent = b"\0\0\0\0\x03\x0a\x01a\0\0\0\0\x03\x0a\x01b".repeat(2);
    // The log omits the first prefix.
    assert!(log.iter().all(|served| served.body == sent[5..]), "{:?}", log[0].body);
}

#[test]
fn a_stream_of_requests_has_one_response() {
    let many = CallOptions { repeat: 3, ..CallOptions::default() };
    let answer = GrpcBehaviour::ok("\x0a\x02hi");
    let (ran, log) = run(answer.clone(), call("Gather", "a").streaming(many));
    assert_eq!(ran.assert_sound().outcomes("Gather"), [(Outcome::Ok, COUNT)].into());
    assert_eq!((sum(&ran, Metric::MessagesIn), sum(&ran, Metric::MessagesOut)), (0, 3 * COUNT));
    assert_eq!(log[0].body, b"\0\0\0\0\x03\x0a\x01a".repeat(3)[5..]);
    let none = CallOptions { repeat: 0, ..CallOptions::default() };
    let (ran, log) = run(answer, call("Gather", "a").streaming(none));
    assert_eq!(ran.assert_sound().outcomes("Gather"), [(Outcome::Ok, COUNT)].into());
    assert_eq!(log[0].body, b"");
}

/// The peer answers and ends the stream while more messages are to be sent: its status is the outcome.
#[test]
fn a_response_before_the_last_message_ends_the_call() {
    let paced = CallOptions { repeat: 100, every: ms(20), ..CallOptions::default() };
    let early = GrpcBehaviour::EarlyStatus { code: 8 };
    let (ran, _) = run(early, call("Gather", "a").streaming(paced));
    let exhausted = Outcome::Grpc(GrpcCode::from_name("RESOURCE_EXHAUSTED").unwrap());
    assert_eq!(ran.assert_sound().outcomes("Gather"), [(exhausted, COUNT)].into());
    assert!(sum(&ran, Metric::MessagesOut) < 100 * COUNT / 2);
}

#[test]
fn the_deadline_is_sent_to_the_server() {
    let deadline = CallOptions { deadline: Some(ms(1_500)), ..CallOptions::default() };
    let (_, log) = run(GrpcBehaviour::Echo, call("Slow", "a").streaming(deadline));
    assert!(log.iter().all(|served| served.header("grpc-timeout") == Some("1500000u")), "{:?}", log[0]);
}

/// One call that sends messages, after the first.
fn upload(peer: &Peer, first: &str, call_of: CallOptions) -> Plan {
    let step = call("Talk", first).streaming(call_of).within(ms(2_000));
    Plan::new().grpc(RPC, peer.addr).scenario(scenario("s", at_rate(1.0, ms(1)), sequence([step])))
}

#[test]
fn messages_that_the_peer_does_not_read_wait_and_are_not_all_kept() {
    for every in [ms(1), Duration::ZERO] {
        let peer = Peer::start(Manner::DeafAtFirst);
        let many = CallOptions { repeat: 1_000, every, ..CallOptions::default() };
        let ran = drive(upload(&peer, &"x".repeat(16 << 10), many).compile());
        assert_eq!(ran.assert_sound().outcomes("Talk"), [(Outcome::Timeout, 1)].into());
        // The window of a fresh connection takes 64 KiB, and 256 KiB may wait; at once, 64 KiB follow together.
        let sent = sum(&ran, Metric::MessagesOut);
        assert!((5..=25).contains(&sent), "{sent} messages, one every {every:?}");
    }
}

#[test]
fn messages_that_waited_for_the_peer_to_read_are_all_sent() {
    for every in [ms(1), Duration::ZERO] {
        let peer = Peer::start(Manner::DeafUntilSecond);
        let many = CallOptions { repeat: 30, every, ..CallOptions::default() };
        let read = scenario("read", at_rate(1.0, ms(1)), sequence([get("read", "/")]));
        let plan = upload(&peer, &"x".repeat(1 << 20), many).http(WEB, peer.addr);
        let plan = plan.connecting(WEB, |c| c.http = HttpVersion::Http2);
        let ran = drive(plan.scenario(Scenario { start: ms(500), ..read }).compile());
        assert!(!ran.assert_sound().outcomes("Talk").contains_key(&Outcome::Timeout));
        assert_eq!(sum(&ran, Metric::MessagesOut), 30, "one every {every:?}");
    }
}

#[test]
fn many_messages_at_once_are_all_sent() {
    let many = CallOptions {
        then: vec![serde_json::json!({ "text": "b".repeat(50 << 10) })],
        repeat: 10,
        ..CallOptions::default()
    };
    let step = expecting(call("Talk", &"a".repeat(50 << 10)), 20, &"b".repeat(50 << 10));
    let (ran, _) = run(GrpcBehaviour::EchoEach, step.streaming(many));
    assert_eq!(ran.assert_sound().outcomes("Talk"), [(Outcome::Ok, COUNT)].into());
    assert_eq!((sum(&ran, Metric::MessagesIn), sum(&ran, Metric::MessagesOut)), (20 * COUNT, 20 * COUNT));
}

/// What the generator does again at no set instant is not late for it.
#[test]
fn messages_that_are_sent_as_soon_as_they_can_be_are_not_late() {
    let many = CallOptions { repeat: 100, ..CallOptions::default() };
    let (ran, log) =
        run(GrpcBehaviour::ok("\x0a\x02hi"), call("Gather", &"a".repeat(10_000)).streaming(many));
    assert_eq!(ran.assert_sound().outcomes("Gather"), [(Outcome::Ok, COUNT)].into());
    assert_eq!((sum(&ran, Metric::MessagesOut), log.len() as u64), (100 * COUNT, COUNT));
    assert_eq!(ran.assert_sound().times(Metric::StepLag, |_| true).count(), 0);
}

/// The target reads nothing until the second message is due. That one is sent late, and the third one at its instant.
#[test]
fn only_messages_at_their_instants_have_a_lag() {
    let target = testbed::grpc(GrpcBehaviour::ok("\x0a\x02hi")).unwrap();
    let addr = target.addr();
    let (control, signals) = signals();
    let signals = Mutex::new(signals);
    let (proxy, _) = proxy(move |_, mut stream| {
        stream.write_all(OPENED).unwrap();
        signals.lock().unwrap().recv().unwrap();
        tunnel(stream, addr);
    });
    let paced = CallOptions { repeat: 3, every: ms(1_000), ..CallOptions::default() };
    let gather = call("Gather", &"a".repeat(600_000)).streaming(paced);
    let release =
        Scenario { start: ms(1_200), ..scenario("release", once(), sequence([get("release", "/")])) };
    let plan = Plan::of(control).grpc(RPC, addr).connecting(RPC, |c| {
        (c.proxy, c.connections) = (Some(Proxy::parse(&format!("http://{proxy}")).unwrap()), Some(1));
    });
    let plan = plan.scenario(scenario("s", once(), sequence([gather]))).scenario(release);
    let ran = drive(plan.compile());
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("Gather"), [(Outcome::Ok, 1)].into());
    assert_eq!(run.times(Metric::StepLag, |_| true).count(), 2);
}
