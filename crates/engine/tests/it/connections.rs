//! How connections are opened and used: how many, for how long, with which protocol and address.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use evidence::{Metric, Outcome};
use testbed::{Behaviour, GrpcBehaviour, Site, Target};
use workload::{Connecting, HttpVersion, Reuse};

use crate::accounting::Accounting;
use crate::drive::{FinishedRun, drive};
use crate::plan::{Plan, RPC, Tuned, WEB, at_rate, call, closed, get, ms, request, scenario, sequence};

fn connections(target: &Target) -> Vec<u64> {
    let mut numbers: Vec<_> = target.log().iter().map(|served| served.connection).collect();
    numbers.dedup();
    numbers
}

/// Ten iterations of two steps, one after another, with connection settings that `change` sets.
fn run(target: &Target, change: impl FnOnce(&mut Connecting)) -> FinishedRun {
    let steps = sequence([get("a", "/a"), get("b", "/b")]);
    let plan = Plan::of(target.addr()).connecting(WEB, change);
    let ran = drive(plan.scenario(scenario("s", at_rate(20.0, ms(500)), steps)).compile());
    assert_eq!(ran.assert_sound().outcomes("b"), [(Outcome::Ok, 10)].into());
    ran
}

#[test]
fn connections_live_as_long_as_the_plan_sets() {
    let count = |reuse| {
        let target = testbed::http(Behaviour::ok()).unwrap();
        run(&target, |c| c.reuse = Some(reuse));
        assert_eq!(target.requests(), 20);
        let by_request = connections(&target);
        (target.connections(), by_request.len())
    };
    let (always, _) = count(Reuse::Pool);
    assert!(always <= 10, "{always}");
    assert_eq!(count(Reuse::Iteration), (10, 10));
    assert_eq!(count(Reuse::Never), (20, 20));
}

#[test]
fn http_2_connections_live_as_long_as_the_plan_sets() {
    let count = |reuse| {
        let target = testbed::grpc(GrpcBehaviour::Http(200)).unwrap();
        run(&target, |c| (c.reuse, c.http) = (Some(reuse), HttpVersion::Http2));
        assert_eq!(target.requests(), 20);
        target.connections()
    };
    assert!(count(Reuse::Pool) <= 4);
    assert_eq!((count(Reuse::Iteration), count(Reuse::Never)), (10, 20));
}

#[test]
fn a_limit_on_connections_makes_requests_wait_in_a_queue() {
    let target = testbed::http(Behaviour::after(ms(50))).unwrap();
    let plan = Plan::of(target.addr()).connecting(WEB, |c| c.connections = Some(2));
    let plan = plan.scenario(scenario("s", at_rate(100.0, ms(200)), sequence([get("get", "/")])));
    let ran = drive(plan.compile());
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("get"), [(Outcome::Ok, 20)].into());
    assert_eq!(target.connections(), 2);
    // Twenty requests of 50 ms over two connections: the last one waits for nine before it.
    let (response, service) =
        (run.times(Metric::ResponseTime, |_| true), run.times(Metric::ServiceTime, |_| true));
    let waited = response.max_us().unwrap() - service.min_us().unwrap();
    assert!(waited >= 200_000, "{waited} µs");
}

#[test]
fn requests_that_wait_for_a_connection_time_out() {
    let target = testbed::http(Behaviour::never()).unwrap();
    let plan = Plan::of(target.addr()).connecting(WEB, |c| c.connections = Some(1));
    let step = get("get", "/").within(ms(200));
    let ran = drive(plan.scenario(scenario("s", at_rate(100.0, ms(300)), sequence([step]))).compile());
    assert_eq!(ran.assert_sound().outcomes("get"), [(Outcome::Timeout, 30)].into());
}

#[test]
fn a_refusing_target_fails_each_request_in_the_queue_as_refused() {
    for (reuse, limit) in [(Reuse::Pool, 1), (Reuse::Never, 2), (Reuse::Iteration, 1)] {
        let refusal = testbed::refuse().unwrap();
        let plan = Plan::of(refusal.addr())
            .connecting(WEB, |c| (c.connections, c.reuse) = (Some(limit), Some(reuse)))
            .scenario(scenario("s", at_rate(200.0, ms(200)), sequence([get("get", "/")])));
        let ran = drive(plan.compile());
        assert_eq!(ran.assert_sound().outcomes("get"), [(Outcome::Refused, 40)].into());
    }
}

#[test]
fn calls_may_have_connections_of_their_own() {
    let target = testbed::grpc(GrpcBehaviour::Echo).unwrap();
    let plan = Plan::new()
        .grpc(RPC, target.addr())
        .connecting(RPC, |c| (c.reuse, c.connections) = (Some(Reuse::Never), None));
    let plan = plan.scenario(scenario("s", at_rate(100.0, ms(200)), sequence([call("Good", "y")])));
    assert_eq!(drive(plan.compile()).assert_sound().outcomes("Good"), [(Outcome::Ok, 20)].into());
    assert_eq!((target.requests(), target.connections()), (20, 20));
}

/// How many connections there were, and how many pairs of a user and a connection, among the later half of the
/// requests, when all connections were open.
fn connections_of_users(scenarios: &[(&str, u32)]) -> (usize, usize) {
    let target = testbed::grpc(GrpcBehaviour::Http(200)).unwrap();
    let mut plan =
        Plan::of(target.addr()).connecting(WEB, |c| (c.http, c.connections) = (HttpVersion::Http2, Some(2)));
    for (name, users) in scenarios {
        plan = plan.scenario(scenario(name, closed(*users, ms(300)), sequence([get(name, "/${vu}")])));
    }
    drive(plan.compile()).assert_sound();
    let log = target.log();
    let late = || log[log.len() / 2..].iter();
    let connections: BTreeSet<u64> = late().map(|served| served.connection).collect();
    let pairs: BTreeSet<(u64, &str)> = late().map(|served| (served.connection, &*served.path)).collect();
    (connections.len(), pairs.len())
}

#[test]
fn users_of_a_closed_model_keep_to_one_connection_unless_that_leaves_a_connection_unused() {
    assert_eq!(connections_of_users(&[("four", 4)]), (2, 4));
    assert_eq!(connections_of_users(&[("one", 1), ("other", 1)]).0, 2);
}

#[test]
fn http_2_in_cleartext_needs_no_upgrade() {
    let site = Site::new().at("/teapot", GrpcBehaviour::Http(418)).otherwise(GrpcBehaviour::Http(200));
    let target = testbed::grpc(site).unwrap();
    let large = request("POST", "large", "/large").body(&"x".repeat(1 << 20));
    let steps = sequence([large, request("PUT", "empty", "/e"), get("teapot", "/teapot")]);
    let plan = Plan::of(target.addr())
        .connecting(WEB, |c| (c.http, c.connections) = (HttpVersion::Http2, Some(1)))
        .scenario(scenario("s", at_rate(50.0, ms(200)), steps));
    let ran = drive(plan.compile());
    let run = ran.assert_sound();
    for (endpoint, outcome) in [("large", Outcome::Ok), ("empty", Outcome::Ok), ("teapot", Outcome::Http4xx)]
    {
        assert_eq!(run.outcomes(endpoint), [(outcome, 10)].into(), "{endpoint}");
    }
    assert_eq!((target.requests(), target.connections()), (30, 1));
}

#[test]
fn http_2_requests_to_an_http_1_target_never_succeed() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let plan = Plan::of(target.addr()).connecting(WEB, |c| c.http = HttpVersion::Http2);
    let step = get("get", "/").within(ms(1_000));
    let ran = drive(plan.scenario(scenario("s", at_rate(50.0, ms(200)), sequence([step]))).compile());
    let outcomes = ran.assert_sound().outcomes("get");
    assert_eq!(outcomes.values().sum::<u64>(), 10);
    assert!(!outcomes.contains_key(&Outcome::Ok), "{outcomes:?}");
}

#[test]
fn connections_go_to_the_plans_address_and_the_host_header_names_the_target() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let nowhere: SocketAddr = ([192, 0, 2, 1], 8123).into();
    let address = (target.addr().ip().to_string(), target.addr().port());
    let plan = Plan::of(nowhere)
        .connecting(WEB, |c| (c.connect_to, c.local_addresses) = (Some(address), vec![[127, 0, 0, 9].into()]))
        .scenario(scenario("s", closed(1, ms(100)), sequence([get("get", "/")])));
    let ran = drive(plan.compile());
    assert!(ran.assert_sound().outcomes("get")[&Outcome::Ok] > 0);
    let host = target.log()[0].headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host")).cloned();
    assert_eq!(host.map(|(_, value)| value), Some("192.0.2.1:8123".to_owned()));
}

#[test]
fn requests_can_be_sent_over_a_unix_socket() {
    let folder = std::env::temp_dir().join(format!("plimsoll-engine-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("web.sock");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let server = std::thread::spawn(move || answer_once(&listener));
    let web: SocketAddr = ([127, 0, 0, 1], 1).into();
    let unix = path.to_str().unwrap().to_owned();
    let plan = |path: String| {
        Plan::of(web).connecting(WEB, |c| c.unix = Some(path)).scenario(scenario(
            "s",
            at_rate(20.0, ms(50)),
            sequence([get("get", "/")]),
        ))
    };
    let ran = drive(plan(unix.clone()).compile());
    assert_eq!(ran.assert_sound().outcomes("get"), [(Outcome::Ok, 1)].into());
    server.join().unwrap();
    let ran = drive(plan(unix + ".gone").compile());
    let outcomes = ran.assert_sound().outcomes("get");
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(outcomes, [(Outcome::Refused, 1)].into());
}

fn answer_once(listener: &std::os::unix::net::UnixListener) {
    use std::io::{Read, Write};
    let (mut stream, _) = listener.accept().unwrap();
    let mut seen = Vec::new();
    while !seen.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        seen.push(byte[0]);
    }
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").unwrap();
}

/// A peer of HTTP/2 that sends these frames and then only reads.
fn peer_that_sends(frames: &'static [u8]) -> SocketAddr {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            stream.write_all(frames).unwrap();
            std::thread::spawn(move || while stream.read(&mut [0; 4096]).is_ok_and(|n| n > 0) {});
        }
    });
    addr
}

/// The outcomes of requests with a body, which cannot be sent while the peer's windows are closed.
fn upload_to(addr: SocketAddr) -> std::collections::BTreeMap<Outcome, u64> {
    let plan = Plan::of(addr).connecting(WEB, |c| c.http = HttpVersion::Http2);
    let step = request("POST", "post", "/").body("some body").within(ms(300));
    let ran = drive(plan.scenario(scenario("s", at_rate(50.0, ms(200)), sequence([step]))).compile());
    ran.assert_sound().outcomes("post")
}

#[test]
fn faults_of_http_2_peers_are_outcomes_and_not_errors() {
    // SETTINGS with an initial window of zero, and never an update.
    let starving = peer_that_sends(&[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0]);
    assert_eq!(upload_to(starving), [(Outcome::Timeout, 10)].into());
    // SETTINGS, then WINDOW_UPDATE by zero, which the standard forbids on a connection.
    let breach = peer_that_sends(&[0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(upload_to(breach), [(Outcome::Protocol, 10)].into());
    // SETTINGS, then GOAWAY that takes nothing.
    let leaving =
        peer_that_sends(&[0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    let outcomes = upload_to(leaving);
    assert_eq!(outcomes.values().sum::<u64>(), 10, "{outcomes:?}");
    assert!(outcomes.keys().all(|o| matches!(o, Outcome::Reset | Outcome::Timeout)), "{outcomes:?}");
}

#[test]
fn addresses_that_refuse_are_skipped() {
    // The name has addresses of both families, and the target listens on one of them.
    let target = testbed::http(Behaviour::ok()).unwrap();
    let mut plan = Plan::of(target.addr());
    let origin = plan.workload.targets.get_mut(WEB).unwrap().http.as_mut().unwrap();
    origin.host = "localhost".to_owned();
    let plan = plan.connecting(WEB, |c| c.reuse = Some(Reuse::Never));
    let ran =
        drive(plan.scenario(scenario("s", at_rate(50.0, ms(200)), sequence([get("get", "/")]))).compile());
    assert_eq!(ran.assert_sound().outcomes("get"), [(Outcome::Ok, 10)].into());
}
