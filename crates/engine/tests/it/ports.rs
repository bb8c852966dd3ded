//! Local ports: who keeps one after a connection, and what becomes of requests when there are none left.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::mem::ManuallyDrop;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::Command;
use std::sync::{Arc, Mutex};

use evidence::{Metric, Outcome};
use testbed::Behaviour;
use workload::Reuse;

use crate::accounting::Accounting;
use crate::drive::{FinishedRun, drive};
use crate::plan::{Plan, Tuned as _, WEB, at_rate, closed, get, ms, scenario, sequence};
use crate::tcp_peer::{read_head, serving};

/// Sockets of this machine in TIME_WAIT: those of which this is the own port, and those of which it is the other side's.
fn in_time_wait(port: u16) -> (usize, usize) {
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    let of = |column: usize| {
        let is_it = |line: &&str| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            fields[3] == "06" && fields[column].ends_with(&format!(":{port:04X}"))
        };
        table.lines().skip(1).filter(is_it).count()
    };
    (of(1), of(2))
}

#[test]
fn the_server_closes_connections_of_one_request_and_keeps_their_ports() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let plan = Plan::of(target.addr()).connecting(WEB, |c| c.reuse = Some(Reuse::Never));
    let ran =
        drive(plan.scenario(scenario("s", at_rate(100.0, ms(300)), sequence([get("get", "/")]))).compile());
    assert_eq!(ran.assert_sound().outcomes("get"), [(Outcome::Ok, 30)].into());
    let asked = |served: &testbed::Served| {
        served.headers.iter().any(|(name, value)| name.eq_ignore_ascii_case("connection") && value == "close")
    };
    assert!(target.log().iter().all(asked));
    // The run ends with its last response, and closes what is open.
    let (of_target, own) = in_time_wait(target.addr().port());
    assert!(of_target >= 29 && own <= 1, "{of_target}, {own}");
}

#[test]
fn connections_come_from_each_of_the_plans_addresses_in_turn() {
    let peers: Arc<Mutex<BTreeMap<IpAddr, u32>>> = Arc::default();
    let seen = peers.clone();
    let addr = serving(move |_, mut stream| {
        let from = stream.peer_addr().unwrap().ip();
        if read_head(&mut stream) {
            *seen.lock().unwrap().entry(from).or_default() += 1;
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
        }
    });
    let sources: [IpAddr; 3] = [2, 3, 4].map(|last| Ipv4Addr::new(127, 0, 0, last).into());
    let plan = Plan::of(addr)
        .connecting(WEB, |c| (c.reuse, c.local_addresses) = (Some(Reuse::Never), sources.to_vec()));
    let ran =
        drive(plan.scenario(scenario("s", at_rate(100.0, ms(300)), sequence([get("get", "/")]))).compile());
    assert_eq!(ran.assert_sound().outcomes("get"), [(Outcome::Ok, 30)].into());
    assert_eq!(*peers.lock().unwrap(), sources.map(|source| (source, 10)).into());
}

/// Set in the process that a test starts in a network of its own; without it the tests there do nothing.
const CHILD: &str = "ENGINE_TEST_FEW_PORTS";

/// Run a test of this file in another process, on a machine with ten local ports.
fn with_ten_ports(test: &str) {
    let this = std::env::current_exe().unwrap();
    let script =
        "ip link set lo up && echo 40000 40009 > /proc/sys/net/ipv4/ip_local_port_range && exec \"$@\"";
    let output = Command::new("unshare")
        .args(["--map-root-user", "--net", "sh", "-c", script, "sh"])
        .arg(this)
        .args(["--exact", &format!("ports::{test}"), "--nocapture", "--test-threads=1"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && stdout.contains("1 passed"), "{stdout}\n{stderr}");
}

fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

fn address(last: u8) -> SocketAddr {
    (Ipv4Addr::new(127, 0, 0, last), 8_080).into()
}

/// Requests that waited for a local port, and those that waited for anything.
fn place_waits(ran: &FinishedRun) -> (u64, u64) {
    let count = |limit: &dyn Fn(&str) -> bool| {
        ran.run.times(Metric::PlaceWait, |key| key.tags.get("limit").is_some_and(|name| limit(name))).count()
    };
    (count(&|limit| limit == "ports"), count(&|_| true))
}

#[test]
fn arrivals_that_no_local_port_is_left_for_are_dropped_by_the_generator() {
    with_ten_ports("ten_ports_for_many_arrivals");
}

#[test]
fn ten_ports_for_many_arrivals() {
    if !is_child() {
        return;
    }
    // Each request keeps its port for 300 ms, so that at most 33 a second find one.
    let target = testbed::http_at(address(1), Behaviour::after(ms(300))).unwrap();
    let plan = Plan::of(target.addr()).connecting(WEB, |c| c.reuse = Some(Reuse::Never));
    let ran =
        drive(plan.scenario(scenario("s", at_rate(200.0, ms(1_000)), sequence([get("get", "/")]))).compile());
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("get"), [(Outcome::Ok, target.requests())].into());
    assert!((10..=60).contains(&target.requests()), "{}", target.requests());
    assert_eq!(run.all(Metric::DroppedLate), 200 - target.requests());
    assert_eq!(run.all(Metric::DroppedCap), 0);
    let (for_port, all) = place_waits(&ran);
    assert!(for_port > 0 && for_port == all, "{for_port} of {all}");
}

#[test]
fn requests_of_virtual_users_wait_for_a_local_port_and_end_unsent_when_their_time_is_over() {
    with_ten_ports("ten_ports_for_twenty_users");
}

#[test]
fn ten_ports_for_twenty_users() {
    if !is_child() {
        return;
    }
    // It would be ended by a connection, for which there is no port either.
    let target = ManuallyDrop::new(testbed::http_at(address(1), Behaviour::never()).unwrap());
    let plan = Plan::of(target.addr()).connecting(WEB, |c| c.reuse = Some(Reuse::Never));
    let each = workload::Executor::PerVuIterations { vus: 20, iterations: 1, max_duration: ms(60_000) };
    let step = get("get", "/").within(ms(300));
    let ran = drive(plan.scenario(scenario("s", each, sequence([step]))).compile());
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("get"), [(Outcome::Timeout, 10), (Outcome::Cancelled, 10)].into());
    assert_eq!((run.all(Metric::IterationsDone), run.all(Metric::IterationsCancelled)), (10, 10));
    assert_eq!(place_waits(&ran), (10, 10));
}

#[test]
fn a_local_port_serves_connections_to_several_addresses() {
    with_ten_ports("ten_ports_to_two_addresses");
}

#[test]
fn ten_ports_to_two_addresses() {
    if !is_child() {
        return;
    }
    let targets = [1, 2].map(|last| testbed::http_at(address(last), Behaviour::ok()).unwrap());
    let from: Vec<IpAddr> = vec![Ipv4Addr::new(127, 0, 0, 9).into()];
    let plan = Plan::of(targets[0].addr()).http("other", targets[1].addr());
    let plan = [WEB, "other"].into_iter().fold(plan, |plan, target| {
        plan.connecting(target, |c| (c.reuse, c.local_addresses) = (Some(Reuse::User), from.clone()))
    });
    let steps = || sequence([get("get", "/"), get("other", "/").at("other")]);
    let ran = drive(plan.scenario(scenario("s", closed(10, ms(500)), steps())).compile());
    ran.assert_sound();
    assert_eq!(targets.each_ref().map(|target| target.connections()), [10, 10]);
    assert_eq!(place_waits(&ran), (0, 0));
}
