//! The addresses of a name: looked up again while the run goes, and tried beside one another.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use engine::Program;
use engine::iteration::{Context, Event, Progress};
use engine::program::{MetOrigin, OriginRules};
use evidence::Outcome;
use rustix::net::{AddressFamily, SocketType, bind, listen, socket};
use testbed::{Behaviour, Target};
use workload::{Connecting, Flow, Reuse};

use crate::accounting::Accounting;
use crate::drive::{Drive, FinishedRun};
use crate::plan::{Plan, closed, ms, scenario};
use crate::scripts::{Script, ScriptState, send};

const FIRST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const SECOND: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 2));

/// A name server: what a name's addresses are at each lookup, and after the last of these.
#[derive(Debug)]
struct Answers {
    ttl: Duration,
    answers: Vec<Vec<IpAddr>>,
    lookups: AtomicUsize,
}

impl Answers {
    fn new(ttl: Duration, answers: &[&[IpAddr]]) -> Arc<Answers> {
        let answers = answers.iter().map(|answer| answer.to_vec()).collect();
        Arc::new(Answers { ttl, answers, lookups: AtomicUsize::new(0) })
    }
}

impl OriginRules for Answers {
    fn connecting(&self, _host: &str, _port: u16) -> Result<MetOrigin, String> {
        let (reuse, dns_ttl) = (Some(Reuse::Never), Some(self.ttl));
        let connecting = Connecting { reuse, dns_ttl, ..Connecting::default() };
        Ok(MetOrigin { connecting, ..MetOrigin::default() })
    }

    fn choose(&self, _addresses: Vec<IpAddr>) -> Result<Vec<IpAddr>, String> {
        let lookup = self.lookups.fetch_add(1, Ordering::Relaxed);
        Ok(self.answers[lookup.min(self.answers.len() - 1)].clone())
    }
}

/// One virtual user requests `http://localhost:PORT` over a new connection each time, until this is so.
fn request_until(
    port: u16,
    rules: Arc<Answers>,
    is_enough: impl Fn() -> bool + Clone + Send + Sync + 'static,
) -> (FinishedRun, Arc<Program>) {
    let each = closed(1, ms(60_000));
    let flow = Flow::Script { function: "default".to_owned() };
    let program = Plan::new().scenario(scenario("s", each, flow)).compile().with_origin_rules(rules);
    let drive = Drive::new(program);
    let (program, control) = (drive.program(), drive.control());
    let resume = move |state: &mut ScriptState, event: Event<'_>, context: &mut Context<'_>| match event {
        Event::Begin(_) => {
            let origin = context.origin(&format!("http://localhost:{port}")).unwrap();
            let endpoint = context.endpoint("get");
            let draft = send(state, "/", context);
            (draft.origin, draft.endpoint) = (origin, endpoint);
            Progress::WAITING
        }
        _ => {
            if is_enough() {
                control.drain();
            }
            Progress::DONE
        }
    };
    (drive.behaviour(Arc::new(Script::new(resume))).run(), program)
}

fn changes(program: &Program) -> Vec<String> {
    program.take_address_changes().into_iter().map(|change| change.text).collect()
}

fn target_at(ip: IpAddr, port: u16) -> Arc<Target> {
    Arc::new(testbed::http_at(SocketAddr::new(ip, port), Behaviour::ok()).unwrap())
}

#[test]
fn new_connections_go_to_the_addresses_that_a_name_has_by_then() {
    let before = target_at(FIRST, 0);
    let port = before.addr().port();
    let after = target_at(SECOND, port);
    let rules = Answers::new(Duration::ZERO, &[&[FIRST], &[SECOND]]);
    let moved = after.clone();
    let (ran, program) = request_until(port, rules, move || moved.requests() >= 20);
    let requests = before.requests() + after.requests();
    assert_eq!(ran.assert_sound().outcomes("get"), [(Outcome::Ok, requests)].into());
    assert!(before.requests() > 0 && after.requests() >= 20);
    let expected = format!(
        "new connections to localhost go to {SECOND}:{port} instead of {FIRST}:{port}: its addresses changed"
    );
    assert_eq!(changes(&program), [expected]);
    assert!(changes(&program).is_empty(), "a change is reported once");
}

#[test]
fn a_name_whose_address_refuses_connections_is_looked_up_again_before_its_time() {
    let target = target_at(SECOND, 0);
    let port = target.addr().port();
    let rules = Answers::new(ms(3_600_000), &[&[FIRST], &[SECOND]]);
    let moved = target.clone();
    let (ran, program) = request_until(port, rules.clone(), move || moved.requests() >= 20);
    let run = ran.assert_sound();
    let outcomes = run.outcomes("get");
    assert_eq!(outcomes.keys().copied().collect::<Vec<_>>(), [Outcome::Ok, Outcome::Refused]);
    assert_eq!(outcomes[&Outcome::Ok], target.requests());
    assert_eq!((rules.lookups.load(Ordering::Relaxed), changes(&program).len()), (2, 1));
}

/// A socket that listens on the IPv6 loopback address and answers no further connection.
fn silent(port: u16) -> (rustix::fd::OwnedFd, Vec<TcpStream>) {
    let address = SocketAddr::from((Ipv6Addr::LOCALHOST, port));
    let socket = socket(AddressFamily::INET6, SocketType::STREAM, None).unwrap();
    bind(&socket, &address).unwrap();
    listen(&socket, 0).unwrap();
    let connect = || TcpStream::connect_timeout(&address, ms(200)).ok();
    let filled = std::iter::from_fn(connect).collect();
    (socket, filled)
}

#[test]
fn an_address_that_does_not_answer_costs_a_moment_where_the_other_ip_version_does() {
    // A port that both have free.
    let port = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    let target = target_at(FIRST, port);
    let (_listening, _filled) = silent(port);
    let both: &[IpAddr] = &[IpAddr::V6(Ipv6Addr::LOCALHOST), FIRST];
    let served = target.clone();
    let rules = Answers::new(ms(3_600_000), &[both]);
    let (ran, program) = request_until(port, rules, move || served.requests() >= 20);
    assert_eq!(ran.assert_sound().outcomes("get"), [(Outcome::Ok, target.requests())].into());
    assert_eq!(target.connections(), target.requests());
    let expected = format!(
        "[::1]:{port}, an address of localhost, does not answer, and one of the other IP version does: connections avoid it"
    );
    assert_eq!(changes(&program), [expected]);
}
