//! A run that cannot measure any more ends with an error and its reason, never with a panic.

use std::process::Command;

use engine::iteration::{
    Behaviour as UserBehaviour, Context, Event, Iteration, LoopScenario, Progress, UserMaker,
};
use engine::{EngineError, Exhausted};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use testbed::Behaviour;

use crate::accounting::Accounting;
use crate::drive::Drive;
use crate::plan::{Plan, at_rate, get, ms, scenario, sequence};

/// Ends the run at this arrival.
pub(crate) struct AbortsAt(pub(crate) u64);

impl UserBehaviour for AbortsAt {
    fn on_loop(&self, _scenario: LoopScenario) -> Box<dyn UserMaker> {
        Box::new(AbortsAt(self.0))
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
