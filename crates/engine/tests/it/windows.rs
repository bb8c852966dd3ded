//! Requests by the window in which they began and ended, and what was in flight at its end, against the target's log.

use evidence::{Key, Metric, Outcome};
use testbed::{Behaviour, Target};

use crate::accounting::Accounting;
use crate::drive::{Drive, FinishedRun, drive};
use crate::plan::{Plan, at_rate, get, ms, scenario, sequence};

const HELD_MS: u64 = 300;
const FIRST_ENDS_MS: u64 = 500;

/// 20 requests a second for 900 ms, each held for 300 ms; the first phase is over after 500 ms.
fn plan(target: &Target) -> Plan {
    Plan::of(target.addr())
        .phases(&[("first", ms(FIRST_ENDS_MS)), ("second", ms(900 - FIRST_ENDS_MS))])
        .scenario(scenario("s", at_rate(20.0, ms(900)), sequence([get("get", "/")])))
}

fn holding() -> Target {
    testbed::http(Behaviour::after(ms(HELD_MS))).unwrap()
}

/// What was due in `phase` and ended in `window`.
fn moved(ran: &FinishedRun, phase: &str, window: &str) -> u64 {
    let is_it = |key: &Key| &*key.phase == phase && &*key.tags[Key::WINDOW] == window;
    ran.run.times(Metric::MovedResponseTime, is_it).count()
}

/// Of each phase: in flight before, begun, ended and in flight at its end.
fn identity(ran: &FinishedRun, phases: &[&str]) -> Vec<[u64; 4]> {
    let mut before = 0;
    let of = |phase: &&str| {
        let is_due = |key: &Key| &*key.phase == *phase;
        let is_moved = |key: &Key| key.tags.get(Key::WINDOW).is_some_and(|window| &**window == *phase);
        let ended = ran.run.times(Metric::ResponseTime, is_due).count()
            + ran.run.times(Metric::MovedResponseTime, is_moved).count()
            - ran.run.times(Metric::MovedResponseTime, is_due).count();
        let begun = ran.run.count(Metric::Requests, is_due) + ran.run.count(Metric::MovedRequests, is_moved)
            - ran.run.count(Metric::MovedRequests, is_due);
        let at_end = ran.run.count(Metric::InFlightAtEnd, is_due);
        [std::mem::replace(&mut before, at_end), begun, ended, at_end]
    };
    phases.iter().map(of).collect()
}

#[test]
fn requests_that_end_after_their_phase_are_counted_where_they_ended() {
    let target = holding();
    let ran = drive(plan(&target).compile());
    ran.assert_sound();
    // Due from 200 ms on, and held for 300 ms: these 6 cannot have ended in the first phase, nor the last 6 in the second.
    assert!(moved(&ran, "first", "second") + moved(&ran, "first", "") >= 6);
    assert!(moved(&ran, "second", "") + moved(&ran, "first", "") >= 6);
    let all = target.requests();
    assert_eq!(
        ran.run.times(Metric::ResponseTime, |_| true).count(),
        all,
        "none is missing where it was due"
    );
    let [first, second] = identity(&ran, &["first", "second"])[..] else { panic!("two phases") };
    for [before, begun, ended, at_end] in [first, second] {
        assert_eq!(before + begun, ended + at_end);
    }
    let after = moved(&ran, "first", "") + moved(&ran, "second", "");
    assert_eq!(first[2] + second[2] + after, all);
    assert_eq!(second[3], after, "what was in flight at the end of the load ended after it");
    // The target is witness to what cannot have ended before it answered.
    let log = target.log();
    let begin_ns = log.iter().map(|served| served.received_ns).min().unwrap();
    let answered = |until_ms: u64| {
        let is_answered = |ns: &u64| *ns < begin_ns + until_ms * 1_000_000;
        log.iter().filter_map(|served| served.answered_ns).filter(is_answered).count() as u64
    };
    assert!(first[2] <= answered(FIRST_ENDS_MS), "{first:?}");
    assert!(first[2] + second[2] <= answered(900), "{second:?}");
}

#[test]
fn requests_of_several_loops_add_up_in_every_window() {
    let target = holding();
    let ran = Drive::new(plan(&target).compile()).loops(3).run();
    ran.assert_sound();
    for [before, begun, ended, at_end] in identity(&ran, &["first", "second"]) {
        assert_eq!(before + begun, ended + at_end);
    }
}

/// After a stop nothing is in the window of a phase, whenever it was due.
#[test]
fn what_ends_after_a_stop_is_in_no_window() {
    let target = holding();
    let drive = Drive::new(plan(&target).compile());
    let control = drive.control();
    control.drain();
    let ran = drive.run();
    let due = ran.run.times(Metric::ResponseTime, |key| key.outcome == Some(Outcome::Ok)).count();
    assert_eq!(moved(&ran, "first", ""), due);
    for [before, begun, ended, at_end] in identity(&ran, &["first"]) {
        assert_eq!(before + begun, ended + at_end);
    }
}
