//! Closed models whose number of virtual users changes, or whose number of iterations is set.

use std::collections::BTreeMap;
use std::time::Duration;

use evidence::{Metric, Outcome, Tick};
use testbed::{Behaviour, Served, Site};
use workload::schedule::Segment;
use workload::{Arrivals, Executor, Scenario, Timetable, VuStage};

use crate::accounting::Accounting;
use crate::drive::{Drive, FinishedRun, drive, record_and};
use crate::plan::{Plan, Tuned, at_rate, get, ms, scenario, sequence};

const MINUTES: Duration = ms(600_000);

fn ramp(start_vus: u32, stages: &[(u32, Duration)], graceful_ramp_down: Duration) -> Executor {
    let stages = stages.iter().map(|(to, over)| VuStage { to: *to, over: *over }).collect();
    Executor::RampingVus { start_vus, stages, graceful_ramp_down }
}

fn each(vus: u32, iterations: u64, max_duration: Duration) -> Executor {
    Executor::PerVuIterations { vus, iterations, max_duration }
}

fn together(vus: u32, iterations: u64, max_duration: Duration) -> Executor {
    Executor::SharedIterations { vus, iterations, max_duration }
}

/// How many requests each path received; the paths contain the virtual user's number.
fn by_user(log: &[Served]) -> BTreeMap<String, u64> {
    let mut users = BTreeMap::new();
    for served in log {
        *users.entry(served.path.clone()).or_default() += 1;
    }
    users
}

/// When a request was received, since the beginning of the run.
fn arrived(ran: &FinishedRun, served: &Served) -> Duration {
    Duration::from_nanos(served.received_ns - ran.clock.monotonic_ns(evidence::Instant::EPOCH))
}

#[test]
fn the_run_ends_after_every_virtual_user_has_made_its_iterations() {
    for loops in [1, 3] {
        let target = testbed::http(Behaviour::after(ms(3))).unwrap();
        let steps = sequence([get("a", "/vu/${vu}"), get("b", "/number/${iteration}")]);
        let plan = Plan::of(target.addr()).scenario(scenario("s", each(5, 7, MINUTES), steps));
        let ran = Drive::new(plan.compile()).loops(loops).run();
        let run = ran.assert_sound();
        assert_eq!((run.all(Metric::IterationsDone), target.requests()), (35, 70));
        let (users, numbers): (Vec<_>, Vec<_>) =
            target.log().into_iter().partition(|served| served.path.starts_with("/vu/"));
        assert_eq!(by_user(&users).values().copied().collect::<Vec<_>>(), [7; 5]);
        assert!(by_user(&numbers).values().all(|times| *times == 1));
        assert!((0..35).all(|n| by_user(&numbers).contains_key(&format!("/number/{n}"))));
    }
}

#[test]
fn each_shared_iteration_is_made_once_by_any_free_virtual_user() {
    // Also with more loops than virtual users: a loop without one leaves its share to the others.
    for (loops, vus) in [(1, 4), (3, 4), (4, 2)] {
        let slow = Site::new().at("/slow", Behaviour::after(ms(20)));
        let target = testbed::http(slow).unwrap();
        let plan = Plan::of(target.addr()).scenario(scenario(
            "s",
            together(vus, 101, MINUTES),
            sequence([get("a", "/number/${iteration}")]),
        ));
        let ran = Drive::new(plan.compile()).loops(loops).run();
        let run = ran.assert_sound();
        assert_eq!((run.all(Metric::IterationsDone), target.requests()), (101, 101));
        let numbers = by_user(&target.log());
        assert!((0..101).all(|n| numbers.get(&format!("/number/{n}")) == Some(&1)), "{numbers:?}");
    }
}

#[test]
fn shared_iterations_go_to_free_virtual_users_of_any_loop() {
    let target = testbed::http(Site::new().at("/vu/1", Behaviour::never())).unwrap();
    let step = get("a", "/vu/${vu}").within(ms(3_000));
    let plan = Plan::of(target.addr()).scenario(scenario("s", together(2, 20, MINUTES), sequence([step])));
    let ran = Drive::new(plan.compile()).loops(2).run();
    assert_eq!(ran.assert_sound().all(Metric::IterationsDone), 20);
    let users = by_user(&target.log());
    assert!(users["/vu/2"] > 10, "the first virtual user, in the other loop, waits: {users:?}");
}

#[test]
fn iterations_left_over_at_the_maximum_duration_never_begin() {
    for executor in [each(2, 1_000, ms(300)), together(2, 2_000, ms(300))] {
        let target = testbed::http(Behaviour::after(ms(40))).unwrap();
        let plan = Plan::of(target.addr());
        let ran = drive(plan.scenario(scenario("s", executor, sequence([get("s", "/")]))).compile());
        let run = ran.assert_sound();
        // Two users at 40 ms an iteration; those under way at the end are let finish.
        assert!((2..=16).contains(&run.all(Metric::Started)), "{} began", run.all(Metric::Started));
        assert_eq!(run.outcomes("s"), [(Outcome::Ok, target.requests())].into());
    }
}

#[test]
fn what_outlives_the_longest_time_and_the_graceful_stop_is_cancelled() {
    for executor in [each(3, 9, ms(200)), together(3, 9, ms(200))] {
        let target = testbed::http(Behaviour::never()).unwrap();
        let load = scenario("s", executor, sequence([get("s", "/")]));
        let plan = Plan::of(target.addr()).scenario(Scenario { graceful_stop: ms(150), ..load });
        let ran = drive(plan.compile());
        let run = ran.assert_sound();
        assert_eq!(run.outcomes("s"), [(Outcome::Cancelled, 3)].into());
        let waited = run.times(Metric::ResponseTime, |_| true);
        assert!(waited.min_us().unwrap() >= 350_000 * 999 / 1_000, "{waited:?}");
    }
}

#[test]
fn virtual_users_begin_when_the_ramp_adds_them() {
    for loops in [1, 2] {
        let target = testbed::http(Behaviour::after(ms(10))).unwrap();
        let load = ramp(1, &[(5, ms(800)), (5, ms(200))], MINUTES);
        let plan = Plan::of(target.addr());
        let load = scenario("s", load, sequence([get("s", "/vu/${vu}")]));
        let plan = plan.scenario(Scenario { start: ms(100), ..load });
        let ran = Drive::new(plan.compile()).loops(loops).run();
        ran.assert_sound();
        let mut first: BTreeMap<String, Duration> = BTreeMap::new();
        for served in target.log() {
            let at = arrived(&ran, &served);
            let earliest = first.entry(served.path).or_insert(at);
            *earliest = at.min(*earliest);
        }
        let mut first: Vec<_> = first.into_values().collect();
        first.sort_unstable();
        assert_eq!(first.len(), 5);
        for (nth, at) in first.into_iter().enumerate() {
            assert!(at >= ms(100 + 200 * nth as u64), "virtual user {nth} began at {at:?}");
        }
    }
}

#[test]
fn virtual_users_end_their_iteration_when_the_ramp_removes_them() {
    for loops in [1, 2] {
        let target = testbed::http(Behaviour::after(ms(30))).unwrap();
        let load = ramp(4, &[(4, ms(200)), (1, ms(0)), (1, ms(600))], MINUTES);
        let plan = Plan::of(target.addr());
        let plan = plan.scenario(scenario("s", load, sequence([get("s", "/vu/${vu}")])));
        let ran = Drive::new(plan.compile()).loops(loops).run();
        let run = ran.assert_sound();
        assert_eq!(run.outcomes("s"), [(Outcome::Ok, target.requests())].into());
        let users = by_user(&target.log());
        assert_eq!(users.len(), 4);
        // A virtual user removed at 200 ms has begun its last iteration before, and each takes 30 ms or more.
        let gone = users.values().filter(|times| **times <= 7).count();
        assert!(gone >= 3, "three of four are removed: {users:?}");
    }
}

#[test]
fn a_ramp_down_cancels_iterations_after_its_grace_time() {
    for loops in [1, 2] {
        let target = testbed::http(Behaviour::never()).unwrap();
        let load = ramp(4, &[(4, ms(100)), (0, ms(0)), (0, ms(700))], ms(200));
        let plan = Plan::of(target.addr());
        let ran = drive_with(plan.scenario(scenario("s", load, sequence([get("s", "/")]))), loops);
        let run = ran.assert_sound();
        assert_eq!(run.outcomes("s"), [(Outcome::Cancelled, 4)].into());
        let waited = run.times(Metric::ResponseTime, |_| true);
        assert!(
            waited.min_us().unwrap() >= 300_000 * 999 / 1_000,
            "not before the ramp-down is over: {waited:?}"
        );
    }
}

#[test]
fn the_graceful_stop_ends_a_longer_ramp_down() {
    let target = testbed::http(Behaviour::never()).unwrap();
    let load = scenario("s", ramp(2, &[(0, ms(200))], MINUTES), sequence([get("s", "/")]));
    let plan = Plan::of(target.addr()).scenario(Scenario { graceful_stop: ms(100), ..load });
    let run = drive_with(plan, 1);
    assert_eq!(run.assert_sound().outcomes("s"), [(Outcome::Cancelled, 2)].into());
}

#[test]
fn a_cancelled_virtual_user_begins_again_when_the_ramp_rises() {
    let target = testbed::http(Behaviour::never()).unwrap();
    let stages = [(1, ms(100)), (0, ms(0)), (0, ms(300)), (1, ms(0)), (1, ms(200))];
    let load = scenario("s", ramp(1, &stages, ms(100)), sequence([get("s", "/vu/${vu}")]));
    let plan = Plan::of(target.addr()).scenario(Scenario { graceful_stop: ms(100), ..load });
    let ran = drive_with(plan, 1);
    let run = ran.assert_sound();
    assert_eq!(run.outcomes("s"), [(Outcome::Cancelled, 2)].into());
    assert_eq!(by_user(&target.log()), [("/vu/1".to_owned(), 2)].into());
}

#[test]
fn virtual_users_think_before_each_step_including_the_first() {
    let executors = [each(1, 3, MINUTES), together(1, 3, MINUTES), ramp(1, &[(1, ms(250))], MINUTES)];
    for executor in executors {
        let target = testbed::http(Behaviour::ok()).unwrap();
        let mut step = get("s", "/");
        step.think = ms(80).into();
        let load = scenario("s", executor, sequence([step]));
        let plan = Plan::of(target.addr()).scenario(Scenario { start: ms(50), ..load });
        let ran = drive_with(plan, 1);
        ran.assert_sound();
        let log = target.log();
        assert!((1..=4).contains(&log.len()), "{} requests", log.len());
        for (nth, served) in log.iter().enumerate() {
            let at = arrived(&ran, served);
            assert!(at >= ms(50 + 80 * (nth as u64 + 1)), "request {nth} was received at {at:?}");
        }
    }
}

fn drive_with(plan: Plan, loops: u16) -> FinishedRun {
    Drive::new(plan.compile()).loops(loops).run()
}

#[test]
fn random_arrivals_are_never_started_before_their_timetable() {
    for loops in [1, 3] {
        let target = testbed::http(Behaviour::ok()).unwrap();
        let load = scenario("s", at_rate(300.0, ms(1_500)), sequence([get("s", "/number/${iteration}")]));
        let plan = Plan::of(target.addr());
        let plan = plan.scenario(Scenario { arrivals: Arrivals::Poisson, preallocated_vus: 7, ..load });
        let timetable: Vec<_> = Timetable::new(&plan.workload, 0, Segment::WHOLE).unwrap().collect();
        let ran = drive_with(plan, loops);
        let run = ran.assert_sound();
        assert_eq!(run.all(Metric::Scheduled), timetable.len() as u64);
        let log: BTreeMap<String, Served> = target.log().into_iter().map(|s| (s.path.clone(), s)).collect();
        assert_eq!(log.len(), timetable.len(), "each arrival is started once, and none is dropped");
        for (number, due) in timetable {
            let at = arrived(&ran, &log[&format!("/number/{number}")]);
            assert!(at >= due, "{number} was due at {due:?} and was received at {at:?}");
        }
    }
}

#[test]
fn preallocated_virtual_users_exist_before_the_first_arrival() {
    for loops in [1, 3] {
        let target = testbed::http(Behaviour::ok()).unwrap();
        let load = scenario("s", at_rate(50.0, ms(200)), sequence([get("s", "/")]));
        let load = Scenario { start: ms(1_300), preallocated_vus: 7, ..load };
        let plan = Plan::of(target.addr()).scenario(load);
        let mut before: BTreeMap<evidence::Instance, u32> = BTreeMap::new();
        let mut note = |tick: &Tick| {
            if tick.second == 0 {
                before.insert(tick.instance, tick.state.virtual_users);
            }
        };
        let drive = Drive::new(plan.compile()).loops(loops);
        let ran = drive.run_recorded_by(|inlets| record_and(&inlets, &mut note));
        assert_eq!(ran.assert_sound().outcomes("s"), [(Outcome::Ok, 10)].into());
        assert!(target.log().iter().all(|served| arrived(&ran, served) >= ms(1_300)));
        assert_eq!((before.len(), before.values().sum::<u32>()), (usize::from(loops), 7), "{before:?}");
    }
}
