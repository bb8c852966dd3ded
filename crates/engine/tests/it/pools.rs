//! How many connections there are, whose requests they carry, and what requests wait for.

use evidence::{Metric, Outcome};
use testbed::{Behaviour, GrpcBehaviour, Site, Target};
use workload::{Connecting, ConnectionOrder, Executor, HttpVersion, Reuse, Scenario};

use crate::accounting::Accounting;
use crate::drive::{FinishedRun, drive};
use crate::h2_peer::{Manner, Peer};
use crate::plan::{Plan, RPC, Tuned, WEB, at_rate, call, closed, get, ms, request, scenario, sequence};

/// Iterations that virtual users share.
fn shared(vus: u32, iterations: u64) -> Executor {
    Executor::SharedIterations { vus, iterations, max_duration: ms(60_000) }
}

fn http2(peer: &Peer, change: impl FnOnce(&mut Connecting)) -> Plan {
    Plan::of(peer.addr).connecting(WEB, |c| {
        c.http = HttpVersion::Http2;
        change(c);
    })
}

/// How many requests waited for a place, by what limited it.
fn waits(ran: &FinishedRun, limit: &str) -> u64 {
    let is_limited = |key: &evidence::Key| key.tags.get("limit").is_some_and(|tag| **tag == *limit);
    ran.run.times(Metric::PlaceWait, is_limited).count()
}

#[test]
fn a_pool_of_http_2_connections_grows_until_all_requests_are_under_way_at_once() {
    for connections in [None, Some(8)] {
        let peer = Peer::start(Manner::Together { count: 800, most: 200 });
        let plan = http2(&peer, |c| (c.reuse, c.connections) = (Some(Reuse::Pool), connections));
        let steps = sequence([get("get", "/").within(ms(60_000))]);
        let ran = drive(
            plan.scenario(Scenario { max_vus: 800, ..scenario("s", shared(800, 800), steps) }).compile(),
        );
        assert_eq!(ran.assert_sound().outcomes("get"), [(Outcome::Ok, 800)].into());
        assert_eq!(peer.seen(|seen| (seen.requests, seen.most_open)), (800, 800));
        let opened = peer.seen(|seen| seen.connections);
        assert!((8..=12).contains(&opened), "{opened} connections, {connections:?}");
        assert_eq!(ran.run.times(Metric::PlaceWait, |_| true).count(), 0);
    }
}

/// How many of the last requests that the target received were sent on each connection.
fn spread(target: &Target, last: usize) -> Vec<usize> {
    let log = target.log();
    let mut by_connection = std::collections::BTreeMap::new();
    for served in &log[log.len() - last..] {
        *by_connection.entry(served.connection).or_insert(0) += 1;
    }
    by_connection.into_values().collect()
}

#[test]
fn requests_one_after_another_are_spread_over_the_plans_connections_too() {
    for (connections, expected) in [(None, vec![5; 4]), (Some(2), vec![10; 2])] {
        let target = testbed::grpc(GrpcBehaviour::Http(200)).unwrap();
        let plan = Plan::of(target.addr()).connecting(WEB, |c| {
            (c.http, c.reuse, c.connections) = (HttpVersion::Http2, Some(Reuse::Pool), connections);
        });
        let steps = sequence([get("get", "/")]);
        let ran = drive(plan.scenario(scenario("s", shared(1, 40), steps)).compile());
        assert_eq!(ran.assert_sound().outcomes("get"), [(Outcome::Ok, 40)].into());
        assert_eq!((target.connections(), spread(&target, 20)), (expected.len() as u64, expected));
        assert_eq!(ran.run.times(Metric::PlaceWait, |_| true).count(), 0);
    }
}

#[test]
fn a_connection_that_has_left_is_replaced_also_while_no_request_waits() {
    let site = Site::new().at("/leave", GrpcBehaviour::GoAway).otherwise(GrpcBehaviour::Http(200));
    let target = testbed::grpc(site).unwrap();
    let plan = Plan::of(target.addr()).connecting(WEB, |c| {
        (c.http, c.reuse, c.connections) = (HttpVersion::Http2, Some(Reuse::Pool), Some(2));
    });
    let one_user = |name, iterations, start| Scenario {
        start: ms(start),
        ..scenario(name, shared(1, iterations), sequence([get(name, &format!("/{name}"))]))
    };
    let plan = plan.scenario(one_user("get", 10, 0)).scenario(one_user("leave", 1, 300));
    let ran = drive(plan.scenario(one_user("later", 20, 600)).compile());
    assert_eq!(ran.assert_sound().outcomes("later"), [(Outcome::Ok, 20)].into());
    assert_eq!((target.connections(), spread(&target, 10)), (3, vec![5; 2]));
}

#[test]
fn requests_past_the_plans_connections_wait_and_the_wait_is_recorded() {
    let peer = Peer::start(Manner::Together { count: 100, most: 255 });
    let plan = http2(&peer, |c| c.connections = Some(1));
    let steps = sequence([get("get", "/").within(ms(60_000))]);
    let ran = drive(plan.scenario(scenario("s", shared(200, 300), steps)).compile());
    assert_eq!(ran.assert_sound().outcomes("get"), [(Outcome::Ok, 300)].into());
    assert_eq!(peer.seen(|seen| (seen.connections, seen.most_open)), (1, 100));
    assert_eq!((waits(&ran, "streams"), waits(&ran, "peer-streams")), (200, 0));
    let waited = ran.run.times(Metric::PlaceWait, |_| true);
    let blocked = ran.run.all(Metric::BlockedNs);
    assert!(blocked >= 200 * waited.min_us().unwrap() * 1_000, "{blocked} ns");
}

#[test]
fn a_request_that_exceeds_limits_not_yet_known_on_two_connections_is_sent_a_third_time() {
    let peer = Peer::start(Manner::LimitsLate);
    let plan = http2(&peer, |c| c.connections = Some(2));
    let steps = sequence([get("get", "/").within(ms(60_000))]);
    let ran = drive(plan.scenario(scenario("s", shared(2, 2), steps)).compile());
    assert_eq!(ran.assert_sound().outcomes("get"), [(Outcome::Ok, 2)].into());
    assert_eq!((ran.run.all(Metric::Retried), peer.seen(|seen| seen.requests)), (1, 4));
}

#[test]
fn the_peers_limit_on_streams_is_obeyed_and_named() {
    let peer = Peer::start(Manner::Together { count: 20, most: 10 });
    let plan = http2(&peer, |c| c.connections = Some(2));
    let steps = sequence([get("get", "/").within(ms(60_000))]);
    let ran = drive(plan.scenario(scenario("s", shared(40, 60), steps)).compile());
    assert_eq!(ran.assert_sound().outcomes("get"), [(Outcome::Ok, 60)].into());
    assert_eq!(peer.seen(|seen| (seen.connections, seen.most_open)), (2, 20));
    assert!(waits(&ran, "peer-streams") >= 20, "{}", waits(&ran, "peer-streams"));
    let sent_again = ran.run.all(Metric::Retried) as usize;
    // One may be refused on both connections.
    let (requests, refused) = peer.seen(|seen| (seen.requests, seen.refused));
    assert!(
        requests == 60 + refused && sent_again <= refused && refused <= 2 * sent_again,
        "{refused} {sent_again}"
    );
}

#[test]
fn requests_past_the_plans_connections_wait_over_http_1_too() {
    let target = testbed::http(Behaviour::after(ms(20))).unwrap();
    let plan = Plan::of(target.addr()).connecting(WEB, |c| c.connections = Some(2));
    let ran = drive(plan.scenario(scenario("s", shared(10, 10), sequence([get("get", "/")]))).compile());
    assert_eq!(ran.assert_sound().outcomes("get"), [(Outcome::Ok, 10)].into());
    assert_eq!((target.connections(), waits(&ran, "connections")), (2, 8));
}

#[test]
fn requests_that_time_out_while_they_wait_for_a_place_are_counted_as_waits() {
    let target = testbed::http(Behaviour::never()).unwrap();
    let plan = Plan::of(target.addr()).connecting(WEB, |c| c.connections = Some(1));
    let step = get("get", "/").within(ms(200));
    let ran = drive(plan.scenario(scenario("s", shared(5, 5), sequence([step]))).compile());
    assert_eq!(ran.assert_sound().outcomes("get"), [(Outcome::Timeout, 5)].into());
    assert_eq!(waits(&ran, "connections"), 4);
}

/// A peer that reads nothing: bodies fill what the kernel takes, then the output of the connection.
#[test]
fn a_connection_whose_peer_does_not_read_gets_no_more_requests_and_is_replaced() {
    let peer = Peer::start(Manner::DeafAtFirst);
    let plan = http2(&peer, |c| c.connections = Some(1));
    let step = get("get", "/").within(ms(500));
    let ran = drive(plan.scenario(scenario("s", shared(4, 40), sequence([step]))).compile());
    let outcomes = ran.assert_sound().outcomes("get");
    assert_eq!(outcomes, [(Outcome::Ok, 36), (Outcome::Timeout, 4)].into());
    assert_eq!(peer.seen(|seen| (seen.connections, seen.requests)), (2, 36));
}

/// Three requests time out on a connection, and one on it is answered later. Only when the connection is closed is the
/// last request answered, which begins after the three.
#[test]
fn a_connection_that_was_replaced_is_closed_when_its_last_request_is_answered() {
    let peer = Peer::start(Manner::LateAtFirst);
    let plan = http2(&peer, |c| (c.reuse, c.connections) = (Some(Reuse::Pool), Some(1)));
    let one = |name: &'static str, vus, limit| {
        scenario(name, shared(vus, vus.into()), sequence([get(name, "/").within(ms(limit))]))
    };
    let late = Scenario { start: ms(600), ..one("late", 1, 10_000) };
    let plan = plan.scenario(one("lost", 3, 300)).scenario(one("patient", 1, 10_000)).scenario(late);
    let ran = drive(plan.compile());
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("lost"), [(Outcome::Timeout, 3)].into());
    assert_eq!(run.outcomes("patient"), [(Outcome::Ok, 1)].into());
    assert_eq!(run.outcomes("late"), [(Outcome::Ok, 1)].into());
}

fn users_and_connections(target: &Target) -> (usize, usize) {
    let log = target.log();
    let pairs: std::collections::BTreeSet<(String, u64)> =
        log.iter().map(|served| (served.path.clone(), served.connection)).collect();
    let users: std::collections::BTreeSet<&String> = pairs.iter().map(|(user, _)| user).collect();
    (users.len(), pairs.len())
}

/// The load of four virtual users who say which one they are.
fn four_users(target: &Target, change: impl FnOnce(&mut Connecting)) {
    let plan = Plan::of(target.addr()).connecting(WEB, change);
    let steps = sequence([get("get", "/${vu}")]);
    let ran = drive(plan.scenario(scenario("s", closed(4, ms(200)), steps)).compile());
    assert!(ran.assert_sound().outcomes("get")[&Outcome::Ok] >= 8);
}

#[test]
fn each_virtual_user_of_a_closed_model_has_a_connection_of_its_own() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    four_users(&target, |_| {});
    assert_eq!((users_and_connections(&target), target.connections()), ((4, 4), 4));
    let target = testbed::grpc(GrpcBehaviour::Http(200)).unwrap();
    four_users(&target, |c| c.http = HttpVersion::Http2);
    assert_eq!((users_and_connections(&target), target.connections()), ((4, 4), 4));
    // A plan that sets their number shares them.
    let target = testbed::grpc(GrpcBehaviour::Http(200)).unwrap();
    four_users(&target, |c| (c.http, c.connections) = (HttpVersion::Http2, Some(2)));
    assert_eq!(target.connections(), 2);
}

#[test]
fn virtual_users_of_an_open_model_share_connections_unless_the_plan_says_otherwise() {
    let run = |reuse| {
        let target = testbed::http(Behaviour::ok()).unwrap();
        let plan = Plan::of(target.addr()).connecting(WEB, |c| c.reuse = reuse);
        let steps = sequence([get("a", "/${vu}"), get("b", "/${vu}")]);
        let ran = drive(plan.scenario(scenario("s", at_rate(50.0, ms(400)), steps)).compile());
        assert_eq!(ran.assert_sound().outcomes("b"), [(Outcome::Ok, 20)].into());
        let (users, pairs) = users_and_connections(&target);
        (users, pairs, target.connections())
    };
    let (users, pairs, connections) = run(Some(Reuse::User));
    assert_eq!((pairs, connections), (users, users as u64));
    let (users, _, connections) = run(None);
    assert!(connections <= users as u64);
}

#[test]
fn calls_of_a_closed_model_have_connections_of_their_own_where_the_plan_sets_no_number() {
    let target = testbed::grpc(GrpcBehaviour::Echo).unwrap();
    let plan = Plan::new().grpc(RPC, target.addr()).connecting(RPC, |c| c.connections = None);
    let ran = drive(plan.scenario(scenario("s", shared(5, 50), sequence([call("Good", "y")]))).compile());
    assert_eq!(ran.assert_sound().outcomes("Good"), [(Outcome::Ok, 50)].into());
    assert_eq!(target.connections(), 5);
}

/// The connections that twenty requests use one after another, when two are open.
fn late_connections(order: ConnectionOrder) -> usize {
    let target = testbed::http(Behaviour::after(ms(50))).unwrap();
    let steps = sequence([get("get", "/")]);
    let together = Executor::SharedIterations { vus: 2, iterations: 2, max_duration: ms(10_000) };
    let one = Executor::SharedIterations { vus: 1, iterations: 10, max_duration: ms(10_000) };
    let mut later = scenario("later", one, steps.clone());
    later.start = ms(1_000);
    let plan = Plan::of(target.addr())
        .connecting(WEB, |c| (c.reuse, c.connection_order) = (Some(Reuse::Pool), order))
        .scenario(scenario("together", together, steps))
        .scenario(later);
    drive(plan.compile()).assert_sound();
    assert_eq!((target.requests(), target.connections()), (12, 2));
    let log = target.log();
    log[2..].iter().map(|served| served.connection).collect::<std::collections::BTreeSet<_>>().len()
}

#[test]
fn idle_connections_are_used_in_the_plans_order() {
    assert_eq!(late_connections(ConnectionOrder::LastUsed), 1);
    assert_eq!(late_connections(ConnectionOrder::LeastRecentlyUsed), 2);
}

#[test]
fn an_upload_that_the_peer_does_not_read_keeps_other_requests_off_its_connection() {
    let peer = Peer::start(Manner::DeafAtFirst);
    let plan = http2(&peer, |c| (c.reuse, c.connections) = (Some(Reuse::Pool), Some(2)));
    // The window of a fresh connection lets 64 KiB of bodies go, and headers are not limited.
    let padding = "x".repeat(8 << 10);
    let step =
        (0..2).fold(request("GET", "get", "/"), |step, n| step.header(&format!("x-pad-{n}"), &padding));
    let ran =
        drive(plan.scenario(scenario("s", shared(60, 60), sequence([step.within(ms(1_000))]))).compile());
    let outcomes = ran.assert_sound().outcomes("get");
    assert_eq!(outcomes.values().sum::<u64>(), 60);
    assert!(outcomes[&Outcome::Ok] >= 1, "{outcomes:?}");
}
