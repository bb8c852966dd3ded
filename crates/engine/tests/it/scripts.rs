//! Iterations as scripts make them: they stay on their loop, yield, are notified of a cancellation, and name what
//! they meet while they run.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use engine::exchange::CheckResult;
use engine::iteration::{
    Behaviour as UserBehaviour, Context, Event, Iteration, LoopScenario, Progress, RequestId, UserMaker,
};
use engine::{Clock, Control, DryRun, Loops, RunOptions, Wakeup};
use evidence::tick_channel::tick_channel;
use evidence::{Instant, Metric, Outcome, Run, Tick};
use testbed::{Behaviour, GrpcBehaviour};
use workload::{Flow, Scenario};

use crate::accounting::Accounting;
use crate::drive::{Drive, record, record_and};
use crate::plan::{Plan, RPC, at_rate, call, closed, get, ms, scenario, sequence};

/// Virtual users that resume with a function.
pub(crate) struct Script<F> {
    pub(crate) resume: F,
    /// How many iterations were cancelled.
    pub(crate) cancelled: Arc<AtomicU64>,
}

/// What an iteration of a script keeps. It is bound to its thread, as scripts are.
#[derive(Clone, Default)]
pub(crate) struct ScriptState {
    pub(crate) number: u64,
    pub(crate) due: Instant,
    pub(crate) turns: Rc<Cell<u64>>,
    /// What it has asked for.
    pub(crate) request: Option<RequestId>,
}

pub(crate) type Resume = fn(&mut ScriptState, Event<'_>, &mut Context<'_>) -> Progress;

impl<F: Fn(&mut ScriptState, Event<'_>, &mut Context<'_>) -> Progress + Clone + Send + Sync + 'static>
    Script<F>
{
    pub(crate) fn new(resume: F) -> Script<F> {
        Script { resume, cancelled: Arc::default() }
    }
}

impl<F> UserBehaviour for Script<F>
where
    F: Fn(&mut ScriptState, Event<'_>, &mut Context<'_>) -> Progress + Clone + Send + Sync + 'static,
{
    fn on_loop(&self, scenarios: Vec<LoopScenario>) -> Vec<Box<dyn UserMaker>> {
        scenarios
            .iter()
            .map(|_| {
                Box::new(Script { resume: self.resume.clone(), cancelled: self.cancelled.clone() })
                    as Box<dyn UserMaker>
            })
            .collect()
    }
}

impl<F> UserMaker for Script<F>
where
    F: Fn(&mut ScriptState, Event<'_>, &mut Context<'_>) -> Progress + Clone + 'static,
{
    fn virtual_user(&mut self, _number: u32) -> Box<dyn Iteration> {
        let (resume, cancelled) = (self.resume.clone(), self.cancelled.clone());
        Box::new(ScriptIteration { resume, cancelled, state: ScriptState::default() })
    }
}

struct ScriptIteration<F> {
    resume: F,
    cancelled: Arc<AtomicU64>,
    state: ScriptState,
}

impl<F> Iteration for ScriptIteration<F>
where
    F: Fn(&mut ScriptState, Event<'_>, &mut Context<'_>) -> Progress,
{
    fn resume(&mut self, event: Event<'_>, context: &mut Context<'_>) -> Progress {
        if let Event::Begin(arrival) = &event {
            (self.state.number, self.state.due) = (arrival.number, arrival.due);
        }
        (self.resume)(&mut self.state, event, context)
    }

    fn cancelled(&mut self) {
        self.cancelled.fetch_add(1, Ordering::Relaxed);
    }
}

/// Ask for a request of the iteration that has just begun.
pub(crate) fn send<'a>(
    state: &ScriptState,
    path: &str,
    context: &'a mut Context<'_>,
) -> &'a mut engine::exchange::RequestDraft {
    let draft = context.request(0);
    (draft.due, draft.deadline) = (state.due, state.due + ms(30_000));
    draft.method.extend_from_slice(b"GET");
    draft.path.extend_from_slice(path.as_bytes());
    draft
}

#[test]
fn an_iteration_that_yields_does_not_keep_the_loop_from_what_is_due() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let resume: Resume = |state, event, context| match event {
        Event::Begin(_) if state.number > 0 => {
            send(state, "/", context);
            Progress::WAITING
        }
        Event::Begin(_) => {
            context.timer(7, state.due + ms(300));
            Progress::Yielding(Default::default())
        }
        Event::TurnBegan => {
            state.turns.set(state.turns.get() + 1);
            Progress::Yielding(Default::default())
        }
        Event::TimerFired(7) => {
            assert!(state.turns.get() > 1, "it was resumed in each turn until its timer fired");
            Progress::DONE
        }
        _ => Progress::DONE,
    };
    let plan =
        Plan::of(target.addr()).scenario(scenario("s", at_rate(50.0, ms(400)), sequence([get("web", "/")])));
    let script = Script::new(resume);
    let ran = Drive::new(plan.compile()).behaviour(Arc::new(script)).run();
    let run = ran.assert_sound();
    assert_eq!((run.all(Metric::IterationsDone), run.all(Metric::IterationsCancelled)), (20, 0));
    assert_eq!(run.outcomes("web"), [(Outcome::Ok, 19)].into());
}

#[test]
fn a_scenario_of_a_script_needs_no_step_and_no_target() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let url = format!("http://{}", target.addr());
    let resume = move |state: &mut ScriptState, event: Event<'_>, context: &mut Context<'_>| match event {
        Event::Begin(_) => {
            let (origin, endpoint) = (context.origin(&url).unwrap(), context.endpoint("met"));
            let draft = send(state, "/", context);
            (draft.origin, draft.endpoint) = (origin, endpoint);
            Progress::WAITING
        }
        _ => Progress::DONE,
    };
    let flow = Flow::Script { function: "default".to_owned() };
    let plan = Plan::new().scenario(scenario("s", at_rate(50.0, ms(200)), flow));
    let dry_run = DryRun::new(plan.compile());
    assert_eq!(dry_run.once().unwrap().len(), 0, "there is nothing to send without the script");
    let ran = Drive::new(dry_run.into_program()).behaviour(Arc::new(Script::new(resume))).run();
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("met"), [(Outcome::Ok, 10)].into());
    assert_eq!((run.all(Metric::IterationsDone), target.requests()), (10, 10));
}

#[test]
fn only_a_request_that_was_answered_can_continue() {
    let after_failure: Resume = |state, event, context| match event {
        Event::Begin(_) => {
            send(state, "/", context);
            Progress::WAITING
        }
        _ => Progress::Continuing,
    };
    let without_request: Resume = |_, _, _| Progress::Continuing;
    for (resume, why) in [
        (after_failure, "a request ended with `refused`, and its iteration continues it"),
        (without_request, "an iteration continues a request, and none has completed"),
    ] {
        let unused = closed_port();
        let each = workload::Executor::PerVuIterations { vus: 1, iterations: 1, max_duration: ms(2_000) };
        let plan = Plan::of(unused).scenario(scenario("s", each, sequence([get("web", "/")])));
        let ran = Drive::new(plan.compile()).behaviour(Arc::new(Script::new(resume))).run();
        let error = ran.result.unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

/// An address on which nothing listens.
pub(crate) fn closed_port() -> std::net::SocketAddr {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

#[test]
fn an_iteration_can_end_the_run() {
    let resume: Resume = |state, event, context| match event {
        Event::Begin(_) if state.number == 0 => {
            context.end_run();
            Progress::DONE
        }
        Event::Begin(_) => {
            context.timer(1, state.due + ms(60_000));
            Progress::WAITING
        }
        _ => Progress::DONE,
    };
    let each = workload::Executor::SharedIterations { vus: 2, iterations: 9, max_duration: ms(60_000) };
    let flow = Flow::Script { function: "default".to_owned() };
    let script = Script::new(resume);
    let cancelled = script.cancelled.clone();
    let plan = Plan::new().scenario(scenario("s", each, flow));
    let ran = Drive::new(plan.compile()).behaviour(Arc::new(script)).run();
    assert_eq!(ran.assert_sound().all(Metric::IterationsDone), 1);
    assert!(cancelled.load(Ordering::Relaxed) <= 2, "an iteration for each virtual user");
}

#[test]
fn an_iteration_that_is_cancelled_is_notified() {
    let target = testbed::http(Behaviour::never()).unwrap();
    let resume: Resume = |state, event, context| match event {
        Event::Begin(_) => {
            send(state, "/", context);
            Progress::WAITING
        }
        _ => Progress::DONE,
    };
    let load = scenario("s", closed(3, ms(200)), sequence([get("web", "/")]));
    let plan = Plan::of(target.addr()).scenario(Scenario { graceful_stop: ms(50), ..load });
    let script = Script::new(resume);
    let cancelled = script.cancelled.clone();
    let ran = Drive::new(plan.compile()).behaviour(Arc::new(script)).run();
    assert_eq!(ran.assert_sound().all(Metric::IterationsCancelled), 3);
    assert_eq!(cancelled.load(Ordering::Relaxed), 3);
}

#[test]
fn names_met_while_running_are_endpoints_and_past_the_limit_one() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let resume: Resume = |state, event, context| match event {
        Event::Begin(_) => {
            let endpoint = context.endpoint(&format!("/users/{}", state.number % 300));
            send(state, "/", context).endpoint = endpoint;
            Progress::WAITING
        }
        _ => Progress::DONE,
    };
    let plan = Plan::of(target.addr()).scenario(scenario(
        "s",
        at_rate(600.0, ms(1_000)),
        sequence([get("web", "/")]),
    ));
    let drive = Drive::new(plan.compile()).loops(2).behaviour(Arc::new(Script::new(resume)));
    let program = drive.program();
    let ran = drive.run();
    let run = ran.assert_sound();
    let met = |n: u64| run.outcomes(&format!("/users/{n}")).get(&Outcome::Ok).copied();
    let named: Vec<u64> = (0..300).filter_map(met).collect();
    // The plan's own step has a name too.
    assert_eq!(named, [2; 255]);
    assert_eq!(run.outcomes("all other names"), [(Outcome::Ok, 600 - 2 * 255)].into());
    assert_eq!(program.folded_endpoints(), 45);
    assert_eq!(target.requests(), 600);
}

#[test]
fn checks_of_iterations_are_counted_by_name_and_past_the_limit_as_one() {
    let resume: Resume = |state, _, context| {
        let result = if state.number.is_multiple_of(3) { CheckResult::Failed } else { CheckResult::Passed };
        let basket = context.iteration_check("basket");
        context.check_iteration(basket, result);
        let numbered = context.iteration_check(&format!("of {}", state.number % 300));
        context.check_iteration(numbered, CheckResult::Passed);
        Progress::DONE
    };
    let each = workload::Executor::SharedIterations { vus: 8, iterations: 600, max_duration: ms(60_000) };
    let target = testbed::http(Behaviour::ok()).unwrap();
    let plan = Plan::of(target.addr()).scenario(scenario("s", each, sequence([get("web", "/")])));
    let ran = Drive::new(plan.compile()).loops(2).behaviour(Arc::new(Script::new(resume))).run();
    let run = ran.assert_sound();
    let count = |metric, name: &str| {
        run.count(metric, |key| {
            let is_of_iteration = (&*key.scenario, &*key.endpoint, &*key.phase) == ("s", "", "all");
            is_of_iteration && key.tags.get("check").is_some_and(|check| **check == *name)
        })
    };
    let basket = (count(Metric::CheckPassed, "basket"), count(Metric::CheckFailed, "basket"));
    assert_eq!(basket, (400, 200));
    let own: u64 = (0..300).map(|n| count(Metric::CheckPassed, &format!("of {n}"))).sum();
    assert_eq!((own, count(Metric::CheckPassed, "all other names")), (255 * 2, 45 * 2));
    assert_eq!(run.all(Metric::IterationsDone), 600, "a check changes no outcome");
}

#[test]
fn a_host_met_while_running_is_looked_up_and_that_is_a_phase_of_its_requests() {
    let (planned, met) = (testbed::http(Behaviour::ok()).unwrap(), testbed::http(Behaviour::ok()).unwrap());
    let url = format!("http://localhost:{}", met.addr().port());
    let resume = move |state: &mut ScriptState, event: Event<'_>, context: &mut Context<'_>| match event {
        Event::Begin(_) => {
            let origin = context.origin(&url).unwrap();
            send(state, "/met", context).origin = origin;
            Progress::WAITING
        }
        _ => Progress::DONE,
    };
    let plan = Plan::of(planned.addr()).scenario(scenario(
        "s",
        at_rate(100.0, ms(500)),
        sequence([get("web", "/")]),
    ));
    let ran = Drive::new(plan.compile()).loops(2).behaviour(Arc::new(Script::new(resume))).run();
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("web"), [(Outcome::Ok, 50)].into());
    assert_eq!((planned.requests(), met.requests()), (0, 50));
    let (looked_up, sum) = (run.all(Metric::ResolvingNs), run.times(Metric::ResponseTime, |_| true));
    assert!(looked_up > 0, "the first request of each loop waited for it");
    let longest = sum.max_us().unwrap() * 1_000;
    assert!(looked_up <= 50 * longest, "{looked_up} ns within responses of at most {longest} ns");
}

#[test]
fn a_grpc_server_met_while_running_is_called_with_the_settings_of_its_target() {
    let (planned, met) =
        (testbed::grpc(GrpcBehaviour::Echo).unwrap(), testbed::grpc(GrpcBehaviour::Echo).unwrap());
    let urls = [&planned, &met].map(|server| format!("http://{}", server.addr()));
    let resume = move |state: &mut ScriptState, event: Event<'_>, context: &mut Context<'_>| match event {
        Event::Begin(_) => {
            let origin = context.grpc_origin(&urls[(state.number % 2) as usize]).unwrap();
            let draft = send(state, "/bed.Bed/Good", context);
            draft.origin = origin;
            draft.method = b"POST".to_vec();
            draft.headers.push(b"content-type", b"application/grpc");
            draft.body.extend_from_slice(b"\0\0\0\0\x02hi");
            draft.keep_body_bytes = 100;
            Progress::WAITING
        }
        Event::Completed { response, .. } => {
            assert_eq!((response.status, &*response.body), (200, b"\0\0\0\0\x02hi".as_slice()));
            Progress::DONE
        }
        _ => Progress::DONE,
    };
    let plan = Plan::new().grpc(RPC, planned.addr()).connecting(RPC, |c| c.connections = Some(1));
    let plan = plan.scenario(scenario("s", at_rate(100.0, ms(500)), sequence([call("Good", "y")])));
    let ran = Drive::new(plan.compile()).behaviour(Arc::new(Script::new(resume))).run();
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("Good"), [(Outcome::Ok, 50)].into());
    assert_eq!((planned.requests(), met.requests(), planned.connections()), (25, 25, 1));
}

#[test]
fn a_host_that_is_not_found_while_running_is_an_outcome() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let resume: Resume = |state, event, context| match event {
        Event::Begin(_) => {
            let origin = context.origin("http://no-such-host.invalid").unwrap();
            send(state, "/", context).origin = origin;
            Progress::WAITING
        }
        _ => Progress::DONE,
    };
    let plan =
        Plan::of(target.addr()).scenario(scenario("s", at_rate(50.0, ms(200)), sequence([get("web", "/")])));
    let ran = Drive::new(plan.compile()).behaviour(Arc::new(Script::new(resume))).run();
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("web"), [(Outcome::Dns, 10)].into());
    let kept = run.exemplars().unwrap();
    assert!(!kept.is_empty());
    for exemplar in kept {
        let expected = "cannot find the address of no-such-host.invalid: ";
        assert!(exemplar.detail.starts_with(expected), "{}", exemplar.detail);
    }
}

#[test]
fn virtual_users_of_scripts_are_made_before_the_run_begins() {
    let resume: Resume = |_, _, _| Progress::DONE;
    let each = workload::Executor::PerVuIterations { vus: 5, iterations: 2, max_duration: ms(60_000) };
    let load = scenario("s", each, sequence([get("web", "/")]));
    let plan = Plan::of("127.0.0.1:9".parse().unwrap()).scenario(Scenario { max_vus: 5, ..load });
    let behaviour: Arc<dyn UserBehaviour> = Arc::new(Script::new(resume));
    let program = Arc::new(plan.compile());
    let loops = Loops::spawn(&program, Some(&behaviour), &engine::LoopGroup::whole(2)).unwrap();
    assert!(loops.wait(ms(60_000)), "they are made without a clock");
    assert_eq!(loops.vus_ready(), (5, 5));
    let (outlets, inlets): (Vec<_>, Vec<_>) = (0..2).map(|_| tick_channel()).unzip();
    let clock = Clock::starting_in(ms(20));
    let options = RunOptions {
        program,
        clock,
        control: Control::new(),
        behaviour: Some(behaviour),
        wakeup: Wakeup::default(),
    };
    let recorder = std::thread::spawn(move || record(&inlets));
    assert!(loops.run(&options, outlets).is_ok());
    assert_eq!(recorder.join().unwrap().all(Metric::IterationsDone), 10);
}

#[test]
fn a_virtual_user_of_a_script_is_made_ahead_when_all_are_busy() {
    // The first iteration keeps its virtual user busy until the second is due.
    let resume: Resume = |state, event, context| match event {
        Event::Begin(_) => {
            context.timer(1, state.due + ms(1_500));
            Progress::WAITING
        }
        _ => Progress::DONE,
    };
    let load = scenario("s", at_rate(1.0, ms(1_900)), sequence([get("web", "/")]));
    let plan = Plan::of("127.0.0.1:9".parse().unwrap()).scenario(Scenario {
        max_vus: 3,
        preallocated_vus: 1,
        ..load
    });
    let mut in_first_second = 0;
    let mut note = |tick: &Tick| {
        if tick.second == 0 {
            in_first_second = tick.state.virtual_users;
        }
    };
    let drive = Drive::new(plan.compile()).behaviour(Arc::new(Script::new(resume)));
    drive.run_recorded_by(|inlets| record_and(&inlets, &mut note)).assert_sound();
    assert_eq!(in_first_second, 2, "the second is there before its arrival is due");
}
