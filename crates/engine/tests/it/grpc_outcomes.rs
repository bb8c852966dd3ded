//! Every fault of a gRPC target is an outcome, on a connection that many calls share.

use evidence::{GrpcCode, Metric, Outcome};
use testbed::{Behaviour, GrpcBehaviour, Site};
use workload::{Executor, Retry, Scenario};

use crate::accounting::Accounting;
use crate::drive::drive;
use crate::h2_peer::{Manner, Peer};
use crate::plan::{Plan, RPC, Tuned, at_rate, call, closed, ms, scenario, sequence};

const COUNT: u64 = 10;

fn code(name: &str) -> Outcome {
    Outcome::Grpc(GrpcCode::from_name(name).unwrap())
}

/// A healthy method is called at the same time as the faulty one, over the same connection.
fn check(behaviour: GrpcBehaviour, expected: Outcome) {
    let site = Site::new().at("/bed.Bed/Coded", behaviour.clone()).at("/bed.Bed/Good", GrpcBehaviour::Echo);
    let target = testbed::grpc(site).unwrap();
    let plan = Plan::new()
        .grpc(RPC, target.addr())
        .connecting(RPC, |c| c.retry = Retry::Never)
        .scenario(scenario("bad", at_rate(50.0, ms(200)), sequence([call("Coded", "x").within(ms(300))])))
        .scenario(scenario("good", at_rate(100.0, ms(400)), sequence([call("Good", "y")])));
    let ran = drive(plan.compile());
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("Coded"), [(expected, COUNT)].into(), "{behaviour:?}");
    assert_eq!(run.outcomes("Good"), [(Outcome::Ok, 40)].into(), "beside {behaviour:?}");
    assert_eq!((target.requests(), target.connections()), (50, 1), "{behaviour:?}");
}

#[test]
fn grpc_codes_are_outcomes() {
    check(GrpcBehaviour::ok("\x0a\x02hi"), Outcome::Ok);
    check(GrpcBehaviour::ok(""), Outcome::Ok);
    check(GrpcBehaviour::status(5), code("NOT_FOUND"));
    check(GrpcBehaviour::status(8), code("RESOURCE_EXHAUSTED"));
    check(GrpcBehaviour::status(14), code("UNAVAILABLE"));
    check(GrpcBehaviour::Fixed { message: Vec::new(), code: 13, delay: ms(5) }, code("INTERNAL"));
    check(GrpcBehaviour::TrailersOnly { code: 7, message: "no".to_owned() }, code("PERMISSION_DENIED"));
    // A proxy in between: the code that gRPC's mapping gives.
    check(GrpcBehaviour::Http(502), code("UNAVAILABLE"));
    check(GrpcBehaviour::Http(404), code("UNIMPLEMENTED"));
}

#[test]
fn grpc_statuses_are_counted_by_their_code() {
    let site =
        Site::new().at("/bed.Bed/Coded", GrpcBehaviour::status(5)).at("/bed.Bed/Good", GrpcBehaviour::Echo);
    let target = testbed::grpc(site).unwrap();
    let plan = Plan::new()
        .grpc(RPC, target.addr())
        .scenario(scenario("bad", at_rate(50.0, ms(200)), sequence([call("Coded", "x")])))
        .scenario(scenario("good", at_rate(100.0, ms(400)), sequence([call("Good", "y")])));
    let ran = drive(plan.compile());
    let run = ran.assert_sound();
    assert_eq!(run.statuses("Coded"), [("NOT_FOUND".to_owned(), COUNT)].into());
    assert_eq!(run.statuses("Good"), [("OK".to_owned(), 40)].into());
    assert_eq!(run.reasons("Good"), [].into());
}

#[test]
fn a_reset_or_hanging_stream_affects_no_other() {
    check(GrpcBehaviour::Reset { reason: 2 }, Outcome::Reset);
    check(GrpcBehaviour::Reset { reason: 7 }, Outcome::Reset);
    check(GrpcBehaviour::Never, Outcome::Timeout);
    check(GrpcBehaviour::Half, Outcome::Timeout);
}

#[test]
fn an_ok_without_a_message_is_a_protocol_error() {
    check(GrpcBehaviour::Garbage(b"not a message".to_vec()), Outcome::Protocol);
    check(GrpcBehaviour::Garbage(b"\0\0\0\0\x09short".to_vec()), Outcome::Protocol);
    check(GrpcBehaviour::Garbage(Vec::new()), Outcome::Protocol);
    // Longer than the kept part of a body without checks: the length in its prefix decides.
    check(GrpcBehaviour::Garbage([&b"\0\0\0\0\x09"[..], &[7; 5_000]].concat()), Outcome::Protocol);
    check(GrpcBehaviour::ok([&b"\x0a\x88\x27"[..], &[b'x'; 5_000]].concat()), Outcome::Ok);
}

/// Each answer departs, and takes the calls with it that are sent until the client knows.
#[test]
fn a_departing_connection_is_replaced_and_loses_no_call() {
    let target = testbed::grpc(GrpcBehaviour::GoAway).unwrap();
    let plan = Plan::new()
        .grpc(RPC, target.addr())
        .scenario(scenario("open", at_rate(100.0, ms(500)), sequence([call("Good", "x")])))
        .scenario(scenario("users", closed(3, ms(500)), sequence([call("Slow", "x")])));
    let ran = drive(plan.compile());
    let run = ran.assert_sound();
    let (open, users) = (run.outcomes("Good"), run.outcomes("Slow"));
    assert_eq!(open.values().sum::<u64>(), 50);
    let answered: u64 = [&open, &users].map(|outcomes| outcomes[&Outcome::Ok]).iter().sum();
    let lost: u64 = [&open, &users].map(|outcomes| *outcomes.get(&Outcome::Reset).unwrap_or(&0)).iter().sum();
    assert_eq!(run.all(Metric::Requests), answered + lost, "{open:?} {users:?}");
    // The target counts what it processes: each call once. A call ends as `reset` when it was left unprocessed twice.
    assert_eq!(target.requests(), answered);
    assert!(lost <= run.all(Metric::Retried), "{lost} lost");
    assert!(target.connections() > 1);
}

#[test]
fn calls_that_a_departing_connection_leaves_unprocessed_are_sent_again_once() {
    let peer = Peer::start(Manner::LeavesSome { held: 10, processed: 3 });
    let ten = Executor::SharedIterations { vus: 10, iterations: 10, max_duration: ms(60_000) };
    let plan = Plan::new().grpc(RPC, peer.addr).scenario(scenario("s", ten, sequence([call("Good", "x")])));
    let ran = drive(plan.compile());
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("Good"), [(Outcome::Ok, 10)].into());
    assert_eq!((run.all(Metric::Requests), run.all(Metric::Retried)), (10, 7));
    assert_eq!(peer.seen(|seen| (seen.requests, seen.connections)), (17, 2));
}

#[test]
fn a_connection_that_is_aborted_fails_its_calls_and_is_replaced() {
    let site =
        Site::new().at("/bed.Bed/Abort", GrpcBehaviour::Abort { reason: 2 }).otherwise(GrpcBehaviour::Echo);
    let target = testbed::grpc(site).unwrap();
    let plan = Plan::new()
        .grpc(RPC, target.addr())
        .scenario(scenario("bad", at_rate(20.0, ms(500)), sequence([call("Abort", "x")])))
        .scenario(scenario("others", at_rate(100.0, ms(600)), sequence([call("Good", "x")])));
    let ran = drive(plan.compile());
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("Abort"), [(Outcome::Reset, 10)].into());
    let others = run.outcomes("Good");
    assert_eq!(others.values().sum::<u64>(), 60);
    assert!(others.keys().all(|o| matches!(o, Outcome::Ok | Outcome::Reset)), "{others:?}");
    assert!(others[&Outcome::Ok] > 0);
}

#[test]
fn a_peer_without_http_2_is_a_protocol_error_or_a_reset() {
    let peers = [
        (Behaviour::garbage(), Outcome::Protocol),
        (Behaviour::ok(), Outcome::Protocol),
        (Behaviour::close(), Outcome::Reset),
        (Behaviour::reset(), Outcome::Reset),
    ];
    for (behaviour, expected) in peers {
        let target = testbed::http(behaviour.clone()).unwrap();
        let good = testbed::grpc(GrpcBehaviour::Echo).unwrap();
        let plan = Plan::new()
            .grpc(RPC, target.addr())
            .grpc("good", good.addr())
            .scenario(scenario(
                "bad",
                at_rate(50.0, ms(200)),
                sequence([call("Coded", "x").within(ms(2_000))]),
            ))
            .scenario(scenario("good", at_rate(50.0, ms(400)), sequence([call("Good", "x").at("good")])));
        let ran = drive(plan.compile());
        let run = ran.assert_sound();
        let outcomes = run.outcomes("Coded");
        assert_eq!(outcomes.values().sum::<u64>(), COUNT);
        assert!(
            outcomes.keys().all(|o| *o == expected || *o == Outcome::Reset),
            "{behaviour:?}: {outcomes:?}"
        );
        assert!(outcomes.contains_key(&expected), "{behaviour:?}: {outcomes:?}");
        assert_eq!(run.outcomes("Good"), [(Outcome::Ok, 20)].into());
    }
    let refusal = testbed::refuse().unwrap();
    let plan = Plan::new().grpc(RPC, refusal.addr()).scenario(scenario(
        "bad",
        at_rate(50.0, ms(200)),
        sequence([call("Coded", "x")]),
    ));
    let ran = drive(plan.compile());
    assert_eq!(ran.assert_sound().outcomes("Coded"), [(Outcome::Refused, COUNT)].into());
}

/// More calls than one connection has capacity for: those that wait get the capacity of others that time
/// out, and none starves.
#[test]
fn calls_that_wait_for_capacity_get_it_when_others_time_out() {
    let site =
        Site::new().at("/bed.Bed/Never", GrpcBehaviour::Never).at("/bed.Bed/Good", GrpcBehaviour::Echo);
    let target = testbed::grpc(site).unwrap();
    let plan = Plan::new()
        .grpc(RPC, target.addr())
        .scenario(scenario(
            "never",
            at_rate(1_000.0, ms(250)),
            sequence([call("Never", "x").within(ms(800))]),
        ))
        .scenario(Scenario {
            start: ms(300),
            ..scenario("good", at_rate(100.0, ms(200)), sequence([call("Good", "x")]))
        });
    let ran = drive(plan.compile());
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("Never"), [(Outcome::Timeout, 250)].into());
    assert_eq!(run.outcomes("Good"), [(Outcome::Ok, 20)].into());
}

/// More calls than one connection has capacity for, on a connection that is closed by GOAWAY when its second hundred
/// is under way: the third hundred, which waits, is sent on a new connection.
#[test]
fn calls_that_wait_for_capacity_are_not_lost_with_the_connection() {
    let target = testbed::grpc(
        Site::new().at("/bed.Bed/Leave", GrpcBehaviour::GoAway).otherwise(GrpcBehaviour::after(ms(400))),
    )
    .unwrap();
    let plan = Plan::new()
        .grpc(RPC, target.addr())
        .scenario(Scenario {
            start: ms(150),
            ..scenario("leave", at_rate(1.0, ms(1)), sequence([call("Leave", "x")]))
        })
        .scenario(scenario("slow", at_rate(1_000.0, ms(300)), sequence([call("Slow", "x")])));
    let ran = drive(plan.compile());
    let run = ran.assert_sound();
    let slow = run.outcomes("Slow");
    assert_eq!(slow.values().sum::<u64>(), 300);
    assert!(slow.keys().all(|o| matches!(o, Outcome::Ok | Outcome::Reset)), "{slow:?}");
    assert!(target.connections() > 1);
}
