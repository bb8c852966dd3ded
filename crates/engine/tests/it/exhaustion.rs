//! A run that cannot measure any more ends with an error and its reason, never with a panic.

use std::io::Write as _;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use engine::iteration::{
    Behaviour as UserBehaviour, Context, Event, Iteration, LoopScenario, Progress, UserMaker,
};
use engine::{EngineError, Exhausted};
use evidence::Outcome;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use testbed::Behaviour;
use workload::{Executor, Flow};

use crate::accounting::Accounting;
use crate::drive::Drive;
use crate::plan::{Plan, at_rate, get, ms, scenario, sequence};
use crate::scripts::{Script, ScriptState};
use crate::tcp_peer::{read_head, serving};

/// Ends the run at this arrival.
pub(crate) struct AbortsAt(pub(crate) u64);

impl UserBehaviour for AbortsAt {
    fn on_loop(&self, scenarios: Vec<LoopScenario>) -> Vec<Box<dyn UserMaker>> {
        scenarios.iter().map(|_| Box::new(AbortsAt(self.0)) as Box<dyn UserMaker>).collect()
    }
}

impl UserMaker for AbortsAt {
    fn virtual_user(&mut self, _number: u32) -> Box<dyn Iteration> {
        Box::new(AbortsAt(self.0))
    }
}

impl Iteration for AbortsAt {
    fn resume(&mut self, event: Event<'_>, _context: &mut Context<'_>) -> Progress {
        match event {
            Event::Begin(arrival) if arrival.number == self.0 => Progress::Abort("enough".to_owned()),
            _ => Progress::DONE,
        }
    }
}

/// Set in the process that the first test starts; without it the second test does nothing.
const CHILD: &str = "ENGINE_TEST_FEW_DESCRIPTORS";

#[test]
fn too_few_file_descriptors_end_the_run_with_an_error() {
    let this = std::env::current_exe().unwrap();
    let mut child = Command::new(this);
    child
        .args(["--exact", "exhaustion::with_few_descriptors", "--nocapture", "--test-threads=1"])
        .env(CHILD, "1");
    let output = child.output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}\n{stderr}");
    assert!(stdout.contains("<ran out>"), "{stdout}");
}

/// Runs in the other process. Its target has the same limit, so it accepts only as many connections as it has
/// descriptors, and the kernel keeps the others in its backlog.
#[test]
fn with_few_descriptors() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let target = testbed::http(Behaviour::never()).unwrap();
    let plan = Plan::of(target.addr());
    let plan = plan.scenario(scenario("s", at_rate(500.0, ms(5_000)), sequence([get("s", "/")])));
    let drive = Drive::new(plan.compile());
    let limit = Rlimit { current: Some(64), ..getrlimit(Resource::Nofile) };
    setrlimit(Resource::Nofile, limit).unwrap();
    let ran = drive.run();
    assert!(matches!(ran.result, Err(EngineError::Exhausted(Exhausted::Descriptors))), "{:?}", ran.result);
    assert!(ran.run.all(evidence::Metric::Started) > 0, "what was measured before is recorded");
    #[expect(clippy::print_stdout, reason = "the other process reads it")]
    {
        println!("<ran out>");
    }
}

/// Set in the process that the next test starts: the ports of its peers.
const PORTS: &str = "ENGINE_TEST_PORTS";

#[test]
fn connections_that_no_request_is_on_are_closed_where_no_file_descriptor_is_left() {
    let answered = Arc::new(AtomicUsize::new(0));
    let ports = (0..80).map(|_| {
        let answered = answered.clone();
        let peer = serving(move |_, mut stream| {
            while read_head(&mut stream) {
                answered.fetch_add(1, Ordering::SeqCst);
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").unwrap();
            }
        });
        peer.port().to_string()
    });
    let ports = ports.collect::<Vec<_>>().join(",");
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args([
            "--exact",
            "exhaustion::with_fewer_descriptors_than_servers",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(PORTS, ports);
    let output = child.output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{stdout}\n{stderr}");
    assert_eq!(answered.load(Ordering::SeqCst), 160);
}

/// Runs in the other process: sends to each server, and to each again.
#[test]
fn with_fewer_descriptors_than_servers() {
    let Ok(ports) = std::env::var(PORTS) else { return };
    let urls: Vec<String> = ports.split(',').map(|port| format!("http://127.0.0.1:{port}")).collect();
    let count = urls.len() as u32;
    let executor = Executor::PerVuIterations { vus: 1, iterations: 2, max_duration: ms(60_000) };
    let flow = Flow::Script { function: "default".to_owned() };
    let plan = Plan::new().scenario(scenario("s", executor, flow));
    let resume = move |state: &mut ScriptState, event: Event<'_>, context: &mut Context<'_>| {
        let next = match event {
            Event::Completed { name, .. } => name + 1,
            _ => 0,
        };
        if next == count {
            return Progress::DONE;
        }
        let (origin, endpoint) = (context.origin(&urls[next as usize]).unwrap(), context.endpoint("get"));
        let draft = context.request(next);
        (draft.origin, draft.endpoint) = (origin, endpoint);
        (draft.due, draft.deadline) = (state.due, state.due + ms(30_000));
        draft.method.extend_from_slice(b"GET");
        draft.path.extend_from_slice(b"/");
        Progress::WAITING
    };
    let drive = Drive::new(plan.compile()).behaviour(Arc::new(Script::new(resume)));
    let limit = Rlimit { current: Some(64), ..getrlimit(Resource::Nofile) };
    setrlimit(Resource::Nofile, limit).unwrap();
    let ran = drive.run();
    assert_eq!(ran.assert_sound().outcomes("get"), [(Outcome::Ok, 160)].into());
}
