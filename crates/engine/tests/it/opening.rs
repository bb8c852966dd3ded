//! Connections that cannot be opened, or take no request once they are: how the requests end that wait for them.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use evidence::{Metric, Outcome};
use testbed::{Authority, GrpcBehaviour};
use workload::call::CallOptions;
use workload::proxy::Proxy;
use workload::{Executor, HttpVersion, Reuse, Scenario, Step};

use crate::accounting::Accounting;
use crate::drive::drive;
use crate::h2_peer::{Manner, Peer};
use crate::plan::{Plan, RPC, Tuned, WEB, at_rate, call, get, ms, scenario, sequence};
use crate::proxy::tunnel;
use crate::tcp_peer::{read_head, serving};

/// SETTINGS that allow no request at once.
const NO_STREAMS: &[u8] = &[0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0];
/// SETTINGS, then GOAWAY that takes nothing.
const LEAVING: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
pub(crate) const OPENED: &[u8] = b"HTTP/1.1 200 OK\r\n\r\n";

/// A proxy that calls `serve` when it is asked for a tunnel, and how often that was.
pub(crate) fn proxy(
    serve: impl Fn(usize, TcpStream) + Send + Sync + 'static,
) -> (SocketAddr, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let addr = serving(move |number, mut stream| {
        read_head(&mut stream);
        count.fetch_add(1, Ordering::SeqCst);
        serve(number, stream);
    });
    (addr, asked)
}

/// HTTP/2 through a proxy.
fn through(proxy: SocketAddr, connections: Option<u32>) -> Plan {
    let nowhere = ([192, 0, 2, 1], 80).into();
    Plan::of(nowhere).connecting(WEB, |c| {
        c.http = HttpVersion::Http2;
        c.proxy = Some(Proxy::parse(&format!("http://{proxy}")).unwrap());
        (c.reuse, c.connections) = (Some(Reuse::Pool), connections);
    })
}

fn shared(vus: u32, iterations: u64) -> Executor {
    Executor::SharedIterations { vus, iterations, max_duration: ms(60_000) }
}

/// A peer that closes each connection when a later one has come, without a word: one is always being opened.
fn peer_of_overlapping_failures() -> SocketAddr {
    let last = Mutex::new(None);
    serving(move |number, stream| {
        let mut last = last.lock().unwrap();
        if last.as_ref().is_none_or(|(before, _)| *before < number) {
            drop(last.replace((number, stream)));
        }
    })
}

/// Check that requests, one every 50 ms, end with their connections; the last ones wait for the connection that is left.
fn check_failures(plan: Plan, step: Step) {
    let name = step.name.clone();
    let step = step.within(ms(2_000));
    let ran = drive(plan.scenario(scenario("s", at_rate(20.0, ms(500)), sequence([step]))).compile());
    let outcomes = ran.assert_sound().outcomes(&name);
    assert!(outcomes.get(&Outcome::Tls).is_some_and(|failed| *failed >= 5), "{outcomes:?}");
    assert!(outcomes.keys().all(|o| matches!(o, Outcome::Tls | Outcome::Timeout)), "{outcomes:?}");
}

#[test]
fn a_request_ends_with_the_connection_that_was_opened_for_it_also_while_others_are_being_opened() {
    let ca = Authority::new().pem();
    for http in [HttpVersion::Http2, HttpVersion::Auto] {
        let plan = Plan::of(peer_of_overlapping_failures()).secure(WEB, &ca);
        check_failures(plan.connecting(WEB, |c| c.http = http), get("get", "/"));
    }
    let plan = Plan::new().grpc(RPC, peer_of_overlapping_failures()).secure(RPC, &ca);
    check_failures(plan.connecting(RPC, |c| c.connections = None), call("Good", "x"));
}

/// Two users over a peer that allows one request at once: one of them always waits, and no other connection opens.
#[test]
fn a_connection_that_cannot_be_opened_fails_no_request_that_an_open_one_can_carry() {
    let peer = Peer::start(Manner::Together { count: 1, most: 1 });
    let addr = peer.addr;
    let (proxy, _) = proxy(move |number, mut stream| match number {
        1 => {
            stream.write_all(OPENED).unwrap();
            tunnel(stream, addr);
        }
        _ => stream.write_all(b"HTTP/1.1 503 Full\r\n\r\n").unwrap(),
    });
    let first = scenario("first", shared(1, 1), sequence([get("first", "/")]));
    let two = Scenario { start: ms(200), ..scenario("two", shared(2, 40), sequence([get("get", "/")])) };
    let ran = drive(through(proxy, Some(2)).scenario(first).scenario(two).compile());
    assert_eq!(ran.assert_sound().outcomes("get"), [(Outcome::Ok, 40)].into());
}

/// The same where the operating system refuses to connect at once: the socket is gone when it was used once.
#[test]
fn a_socket_that_is_gone_fails_no_request_that_an_open_connection_can_carry() {
    let peer = Peer::start(Manner::Together { count: 1, most: 1 });
    let path = std::env::temp_dir().join(format!("plimsoll-opening-{}.sock", std::process::id()));
    let listener = UnixListener::bind(&path).unwrap();
    let (addr, socket) = (peer.addr, path.clone());
    thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        std::fs::remove_file(socket).unwrap();
        let server = TcpStream::connect(addr).unwrap();
        let (mut from, mut to) = (stream.try_clone().unwrap(), server.try_clone().unwrap());
        thread::spawn(move || std::io::copy(&mut from, &mut to));
        let (mut from, mut to) = (server, stream);
        std::io::copy(&mut from, &mut to)
    });
    let plan = Plan::of(addr).connecting(WEB, |c| {
        (c.http, c.reuse, c.connections) = (HttpVersion::Http2, Some(Reuse::Pool), Some(2));
        c.unix = Some(path.to_str().unwrap().to_owned());
    });
    let first = scenario("first", shared(1, 1), sequence([get("first", "/")]));
    let two = Scenario { start: ms(200), ..scenario("two", shared(2, 40), sequence([get("get", "/")])) };
    let ran = drive(plan.scenario(first).scenario(two).compile());
    assert_eq!(ran.assert_sound().outcomes("get"), [(Outcome::Ok, 40)].into());
}

/// A proxy whose peers say these bytes before they get any, and then are the one at `addr`.
fn proxy_to(
    addr: SocketAddr,
    early: impl Fn(usize) -> &'static [u8] + Send + Sync + 'static,
) -> (SocketAddr, Arc<AtomicUsize>) {
    proxy(move |number, mut stream| {
        stream.write_all(&[OPENED, early(number)].concat()).unwrap();
        // Nothing of the peer itself comes before the client has begun.
        if stream.peek(&mut [0]).is_ok_and(|n| n > 0) {
            tunnel(stream, addr);
        }
    })
}

#[test]
fn a_connection_that_allows_no_request_when_it_opens_keeps_requests_waiting() {
    let peer = Peer::start(Manner::Together { count: 1, most: 10 });
    let (proxy, _) = proxy_to(peer.addr, |_| NO_STREAMS);
    let plan = through(proxy, Some(1));
    let ran = drive(plan.scenario(scenario("s", shared(1, 10), sequence([get("get", "/")]))).compile());
    assert_eq!(ran.assert_sound().outcomes("get"), [(Outcome::Ok, 10)].into());
}

#[test]
fn a_connection_that_leaves_when_it_opens_is_replaced_once_for_each_request() {
    let peer = Peer::start(Manner::Together { count: 1, most: 10 });
    let (first_leaves, opened) = proxy_to(peer.addr, |number| if number == 1 { LEAVING } else { &[] });
    let one_user = || scenario("s", shared(1, 10), sequence([get("get", "/")]));
    let ran = drive(through(first_leaves, Some(1)).scenario(one_user()).compile());
    assert_eq!(ran.assert_sound().outcomes("get"), [(Outcome::Ok, 10)].into());
    assert_eq!((opened.load(Ordering::SeqCst), ran.run.all(Metric::Retried)), (2, 1));

    for reuse in [Reuse::Pool, Reuse::Never] {
        let (all_leave, opened) = proxy_to(peer.addr, |_| LEAVING);
        let plan = through(all_leave, Some(1)).connecting(WEB, |c| c.reuse = Some(reuse));
        let ran = drive(plan.scenario(one_user()).compile());
        assert_eq!(ran.assert_sound().outcomes("get"), [(Outcome::Reset, 10)].into(), "{reuse:?}");
        assert_eq!((opened.load(Ordering::SeqCst), ran.run.all(Metric::Retried)), (20, 10), "{reuse:?}");
    }
}

#[test]
fn a_call_that_waited_for_a_connection_that_leaves_sends_all_of_its_messages_on_another() {
    let target = testbed::grpc(GrpcBehaviour::ok("\x0a\x02hi")).unwrap();
    let (first_leaves, _) = proxy_to(target.addr(), |number| if number == 1 { LEAVING } else { &[] });
    let paced = CallOptions { repeat: 3, every: ms(50), ..CallOptions::default() };
    let gather = call("Gather", "a").streaming(paced).within(ms(5_000));
    let plan = Plan::new().grpc(RPC, target.addr()).connecting(RPC, |c| {
        (c.proxy, c.connections) = (Some(Proxy::parse(&format!("http://{first_leaves}")).unwrap()), Some(1));
    });
    let ran = drive(plan.scenario(scenario("s", shared(1, 3), sequence([gather]))).compile());
    assert_eq!(ran.assert_sound().outcomes("Gather"), [(Outcome::Ok, 3)].into());
    assert_eq!((ran.run.all(Metric::Retried), ran.run.all(Metric::MessagesOut)), (1, 9));
    let sent = b"\0\0\0\0\x03\x0a\x01a".repeat(3);
    // The log omits the first prefix.
    assert!(target.log().iter().all(|served| served.body == sent[5..]));
}

/// Two connections are being opened, each for the request that came before it, and the later one fails.
#[test]
fn a_connection_that_cannot_be_opened_fails_no_request_that_waits_for_an_earlier_one() {
    let peer = Peer::start(Manner::Together { count: 1, most: 10 });
    let addr = peer.addr;
    let (failed, has_failed) = channel();
    let (failed, has_failed) = (Mutex::new(failed), Mutex::new(has_failed));
    let (proxy, _) = proxy(move |number, mut stream| match number {
        1 => {
            has_failed.lock().unwrap().recv().unwrap();
            stream.write_all(OPENED).unwrap();
            tunnel(stream, addr);
        }
        _ => {
            stream.write_all(b"HTTP/1.1 503 Full\r\n\r\n").unwrap();
            // The client closes the connection.
            stream.read_to_end(&mut Vec::new()).unwrap();
            failed.lock().unwrap().send(()).unwrap();
        }
    });
    let [first, second] = [("first", 0), ("second", 200)].map(|(name, start)| Scenario {
        start: ms(start),
        ..scenario(name, shared(1, 1), sequence([get(name, "/")]))
    });
    let ran = drive(through(proxy, Some(2)).scenario(first).scenario(second).compile());
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("first"), [(Outcome::Ok, 1)].into());
    assert_eq!(run.outcomes("second"), [(Outcome::Refused, 1)].into());
}

/// A server whose requests are signals.
pub(crate) fn signals() -> (SocketAddr, Receiver<()>) {
    let (signal, received) = channel();
    let signal = Mutex::new(signal);
    let addr = serving(move |_, mut stream| {
        while read_head(&mut stream) {
            signal.lock().unwrap().send(()).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
        }
    });
    (addr, received)
}

/// A request waits because the peer allows one at once. Then the connection is lost, and while another one is being
/// opened, a second request comes: it waits for that connection only.
#[test]
fn a_wait_for_a_connection_that_is_being_opened_is_not_blamed_on_a_limit() {
    let (before, after) = (
        Peer::start(Manner::Together { count: 9, most: 1 }).addr,
        Peer::start(Manner::Together { count: 1, most: 100 }).addr,
    );
    let (control, signals) = signals();
    let signals = Mutex::new(signals);
    let (proxy, _) = proxy(move |number, mut stream| {
        let next_signal = || signals.lock().unwrap().recv();
        if number == 1 {
            stream.write_all(OPENED).unwrap();
            let client = stream.try_clone().unwrap();
            thread::spawn(move || tunnel(stream, before));
            next_signal().unwrap();
            client.shutdown(Shutdown::Both).unwrap();
        } else {
            next_signal().unwrap();
            stream.write_all(OPENED).unwrap();
            tunnel(stream, after);
        }
    });
    let one = |name: &'static str, start: u64| {
        let step = get(name, "/").within(ms(30_000));
        Scenario { start: ms(start), ..scenario(name, at_rate(1.0, ms(1)), sequence([step])) }
    };
    let signal = |name: &'static str, start: u64| {
        let step = get(name, "/").at("control");
        Scenario { start: ms(start), ..scenario(name, at_rate(1.0, ms(1)), sequence([step])) }
    };
    let plan = through(proxy, Some(1)).http("control", control);
    let plan =
        [one("lost", 0), one("limited", 200), signal("lose", 400), one("late", 600), signal("open", 800)]
            .into_iter()
            .fold(plan, Plan::scenario);
    let ran = drive(plan.compile());
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("lost"), [(Outcome::Reset, 1)].into());
    assert_eq!(run.outcomes("limited"), [(Outcome::Ok, 1)].into());
    assert_eq!(run.outcomes("late"), [(Outcome::Ok, 1)].into());
    let waits = |endpoint: &str| run.times(Metric::PlaceWait, |key| key.endpoint.as_ref() == endpoint);
    assert_eq!((waits("limited").count(), waits("late").count()), (1, 0));
}

#[test]
fn connections_that_nothing_waits_for_are_not_tried_for_each_request() {
    let peer = Peer::start(Manner::Together { count: 1, most: 10 });
    let addr = peer.addr;
    let (proxy, asked) = proxy(move |number, mut stream| match number {
        1 => {
            stream.write_all(OPENED).unwrap();
            tunnel(stream, addr);
        }
        _ => stream.write_all(b"HTTP/1.1 503 Full\r\n\r\n").unwrap(),
    });
    let ran = drive(
        through(proxy, None).scenario(scenario("s", shared(1, 500), sequence([get("get", "/")]))).compile(),
    );
    assert_eq!(ran.assert_sound().outcomes("get"), [(Outcome::Ok, 500)].into());
    let asked = asked.load(Ordering::SeqCst);
    assert!((2..100).contains(&asked), "{asked} tunnels");
}
