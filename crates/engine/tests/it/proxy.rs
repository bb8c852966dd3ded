//! Targets that are reached through a proxy.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use evidence::Outcome;
use testbed::{Authority, Behaviour, Front, GrpcBehaviour, Validity};
use workload::proxy::Proxy;

use crate::accounting::Accounting;
use crate::drive::{FinishedRun, drive};
use crate::plan::{Plan, RPC, WEB, at_rate, call, get, ms, scenario, sequence};

/// A proxy for tests, which stores the heads of the requests that it receives.
struct Relay {
    addr: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Relay {
    /// Opens every tunnel to `target`, whatever name it is asked for, and relays requests to it; or answers
    /// everything with a status.
    fn start(target: Result<SocketAddr, &'static str>) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let relay = Relay { addr: listener.local_addr().unwrap(), heads: Arc::default() };
        let heads = relay.heads.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let heads = heads.clone();
                thread::spawn(move || serve(stream, target, &heads));
            }
        });
        relay
    }

    fn proxy(&self) -> Option<Proxy> {
        Some(Proxy::parse(&format!("http://ann:secret@{}", self.addr)).unwrap())
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

fn serve(mut stream: TcpStream, target: Result<SocketAddr, &str>, heads: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head).unwrap_or(0) == 0 {
                return;
            }
        }
        heads.lock().unwrap().push(head.clone());
        match target {
            Err(status) => return stream.write_all(format!("HTTP/1.1 {status}\r\n\r\n").as_bytes()).unwrap(),
            Ok(target) if head.starts_with("CONNECT ") => {
                stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").unwrap();
                return tunnel(stream, target);
            }
            Ok(_) => stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\nrelayed").unwrap(),
        }
    }
}

/// Pass bytes both ways until both sides have ended.
pub(crate) fn tunnel(client: TcpStream, target: SocketAddr) {
    let server = TcpStream::connect(target).unwrap();
    let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let back = thread::spawn(move || pass(server, client));
    pass(from, to);
    back.join().unwrap();
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    let mut buffer = [0; 4096];
    while let Ok(n @ 1..) = from.read(&mut buffer) {
        if to.write_all(&buffer[..n]).is_err() {
            break;
        }
    }
    // The other side may be closed already.
    let _ = to.shutdown(Shutdown::Write);
}

fn run(plan: Plan) -> FinishedRun {
    drive(plan.scenario(scenario("s", at_rate(20.0, ms(500)), sequence([get("a", "/a?b")]))).compile())
}

fn call_through(relay: &Relay, target: SocketAddr) -> FinishedRun {
    let plan = Plan::new().grpc(RPC, target).connecting(RPC, |c| c.proxy = relay.proxy());
    let calls = sequence([call("Good", "y")]);
    drive(plan.scenario(scenario("s", at_rate(20.0, ms(500)), calls)).compile())
}

#[test]
fn requests_in_cleartext_are_relayed_with_their_whole_url() {
    let closed = testbed::refuse().unwrap();
    let relay = Relay::start(Ok(closed.addr()));
    let ran = run(Plan::of(closed.addr()).connecting(WEB, |c| c.proxy = relay.proxy()));
    assert_eq!(ran.assert_sound().outcomes("a"), [(Outcome::Ok, 10)].into());
    let heads = relay.heads();
    assert_eq!(heads.len(), 10);
    let expect = format!("GET http://{}/a?b HTTP/1.1\r\nhost: {}\r\n", closed.addr(), closed.addr());
    assert!(heads.iter().all(|head| head.starts_with(&expect)), "{heads:?}");
    assert!(heads[0].contains("proxy-authorization: Basic YW5uOnNlY3JldA==\r\n"), "{heads:?}");
}

#[test]
fn tls_goes_through_a_tunnel_that_names_the_target() {
    let web = testbed::http(Behaviour::ok()).unwrap();
    let authority = Authority::new();
    let front = Front::new(authority.vouch_for(&["127.0.0.1"], Validity::Now));
    let front = front.protocol("http/1.1", web.addr()).start().unwrap();
    let relay = Relay::start(Ok(front.addr()));
    let plan =
        Plan::of(front.addr()).secure(WEB, &authority.pem()).connecting(WEB, |c| c.proxy = relay.proxy());
    assert_eq!(run(plan).assert_sound().outcomes("a"), [(Outcome::Ok, 10)].into());
    assert_eq!(web.requests(), 10);
    assert!(relay.heads().iter().all(|head| head.starts_with("CONNECT ")), "{:?}", relay.heads());
}

#[test]
fn grpc_calls_go_through_a_tunnel() {
    let target = testbed::grpc(GrpcBehaviour::Echo).unwrap();
    let relay = Relay::start(Ok(target.addr()));
    let ran = call_through(&relay, target.addr());
    assert_eq!(ran.assert_sound().outcomes("Good"), [(Outcome::Ok, 10)].into());
    assert_eq!(target.requests(), 10);
    assert!(relay.heads().iter().all(|head| head.starts_with(&format!("CONNECT {} ", target.addr()))));
}

#[test]
fn a_proxys_refusal_of_a_tunnel_is_quoted() {
    let target = testbed::grpc(GrpcBehaviour::Echo).unwrap();
    let relay = Relay::start(Err("407 Proxy Authentication Required"));
    let ran = call_through(&relay, target.addr());
    assert_eq!(ran.assert_sound().outcomes("Good"), [(Outcome::Refused, 10)].into());
    let kept = evidence::Run::exemplars(&ran.run).unwrap();
    assert!(kept.iter().any(|e| e.detail.contains("407 Proxy Authentication Required")), "{kept:?}");
    assert!(!format!("{kept:?}").contains("secret"));
}
