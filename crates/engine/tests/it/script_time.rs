//! The code of scripts takes time in which its loop does nothing else: the time belongs to its iteration and to its loop's
//! stalls, and is part of no request.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use engine::iteration::{Context, Event, Progress};
use evidence::{Instant, Key, Metric};
use testbed::Behaviour;
use workload::{Executor, Flow};

use crate::accounting::Accounting;
use crate::drive::{Drive, FinishedRun};
use crate::plan::{Plan, at_rate, closed, get, ms, scenario, sequence};
use crate::scripts::{Resume, Script, ScriptState, send};

const HELD: Duration = ms(20);

/// A piece of a script that holds its loop for at least [`HELD`]; when it ended, before the engine looks at the clock.
fn hold(context: &mut Context<'_>) -> Instant {
    let clock = context.clock();
    context.run_script(|| {
        let (_open, never) = channel::<()>();
        assert!(never.recv_timeout(HELD).is_err());
        clock.now()
    })
}

/// Runs a script that requests the endpoint `web`.
fn run(executor: Executor, resume: Resume) -> FinishedRun {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let plan = Plan::of(target.addr()).scenario(scenario("s", executor, sequence([get("web", "/")])));
    let ran = Drive::new(plan.compile()).behaviour(Arc::new(Script::new(resume))).run();
    ran.assert_sound();
    ran
}

/// Requests something, and works after that.
fn with_tail(state: &mut ScriptState, event: Event<'_>, context: &mut Context<'_>) -> Progress {
    if let Event::Begin(_) = event {
        send(state, "/", context);
        return Progress::WAITING;
    }
    state.turns.set(hold(context).as_nanos());
    Progress::DONE
}

#[test]
fn an_iteration_takes_as_long_as_the_work_of_its_script_after_its_last_request() {
    let ran = run(at_rate(20.0, ms(500)), with_tail);
    let times = ran.run.times(Metric::IterationTime, |_| true);
    assert_eq!(times.count(), 10);
    assert!(times.buckets().all(|(_, high, _)| u128::from(high) >= HELD.as_micros()), "{times:?}");
}

#[test]
fn the_next_iteration_of_a_virtual_user_is_due_when_its_script_has_ended() {
    let resume: Resume = |state, event, context| {
        let is_late = state.due.as_nanos() < state.turns.get();
        assert!(!is_late, "it is due before the one before it has ended");
        with_tail(state, event, context)
    };
    let ran = run(closed(1, ms(200)), resume);
    assert!(ran.run.all(Metric::IterationsDone) > 1);
}

#[test]
fn the_time_of_a_script_before_a_request_is_no_part_of_it() {
    let resume: Resume = |state, event, context| {
        if let Event::Begin(_) = event {
            let held_until = hold(context);
            state.turns.set(held_until.as_nanos());
            send(state, "/", context).due = held_until;
            return Progress::WAITING;
        }
        let times = context.completed_times().unwrap();
        let parts = [
            times.blocked_ns,
            times.resolving_ns,
            times.connecting_ns,
            times.tls_handshaking_ns,
            times.sending_ns,
            times.waiting_ns,
            times.receiving_ns,
        ];
        assert!(parts.iter().sum::<u64>() <= context.now().as_nanos() - state.turns.get(), "{times:?}");
        Progress::DONE
    };
    let ran = run(at_rate(20.0, ms(500)), resume);
    assert_eq!(ran.run.all(Metric::IterationsDone), 10);
}

#[test]
fn what_a_script_took_of_a_stall_is_counted_apart() {
    let resume: Resume = |_, _, context| {
        hold(context);
        Progress::DONE
    };
    let flow = Flow::Script { function: "default".to_owned() };
    let plan = Plan::new().scenario(scenario("s", at_rate(20.0, ms(500)), flow));
    let ran = Drive::new(plan.compile()).behaviour(Arc::new(Script::new(resume))).run();
    let is_of_script = |key: &Key| key.tags.get(Key::CAUSE).is_some_and(|cause| **cause == *Key::SCRIPT);
    let run = ran.assert_sound();
    let of_script = run.times(Metric::LoopStall, is_of_script);
    let all = run.times(Metric::LoopStall, |_| true);
    let held_us = |turns: &evidence::Histogram| -> u128 {
        turns.buckets().map(|(_, high, count)| u128::from(high * count)).sum()
    };
    assert!((1..=10).contains(&of_script.count()), "{of_script:?}");
    // The turn with which a run ends is counted by no loop.
    assert!(held_us(&all) >= 9 * HELD.as_micros(), "{all:?}");
    // The rest is what the loop waited for a processor.
    assert!(held_us(&of_script) >= 5 * HELD.as_micros(), "{of_script:?}");
}
