//! Each loop offers a segment of the load: together the segments have no gaps and no repetitions.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::iteration::{
    Behaviour as UserBehaviour, Context, Event, Iteration, LoopScenario, Progress, UserMaker,
};
use evidence::Metric;
use testbed::{Behaviour, Target};
use workload::{Arrivals, Pick, Scenario};

use crate::accounting::Accounting;
use crate::drive::Drive;
use crate::plan::{Plan, at_rate, closed, get, ms, scenario, sequence};

/// The last part of each request's path, in the order served; all must differ.
fn distinct(target: &Target, prefix: &str) -> BTreeSet<String> {
    let log = target.log();
    let parts: Vec<&str> = log.iter().filter_map(|s| s.path.strip_prefix(prefix)).collect();
    let distinct: BTreeSet<String> = parts.iter().map(|part| (*part).to_owned()).collect();
    assert_eq!(distinct.len(), parts.len(), "some of {prefix} repeat");
    distinct
}

fn numbers(range: std::ops::Range<u64>) -> BTreeSet<String> {
    range.map(|n| n.to_string()).collect()
}

#[test]
fn arrivals_counters_and_unique_rows_are_partitioned_over_loops() {
    for loops in [1, 2, 3] {
        let target = testbed::http(Behaviour::ok()).unwrap();
        let steps = sequence([
            get("number", "/number/${iteration}"),
            get("counter", "/counter/${counter(orders, 1000)}"),
            get("row", "/row/${users.id}"),
        ]);
        let plan = Plan::of(target.addr()).data("users", "u{1..400}", Pick::Unique).scenario(scenario(
            "s",
            at_rate(300.0, ms(1_000)),
            steps,
        ));
        let ran = Drive::new(plan.compile()).loops(loops).run();
        let run = ran.assert_sound();
        assert_eq!(run.all(Metric::Scheduled), 300);
        assert_eq!(distinct(&target, "/number/"), numbers(0..300));
        assert_eq!(distinct(&target, "/row/"), (1..=300).map(|n| format!("u{n}")).collect());
        let counted = distinct(&target, "/counter/");
        assert_eq!(counted.len(), 300);
        // Each loop counts in steps of the number of loops, so that loops with equal shares leave no gap.
        assert_eq!(counted, numbers(1_000..1_300));
    }
}

#[test]
fn no_two_virtual_users_of_any_loops_have_the_same_number() {
    for loops in [1, 2] {
        let target = testbed::http(Behaviour::after(ms(20))).unwrap();
        let plan = Plan::of(target.addr())
            .scenario(scenario("a", closed(5, ms(400)), sequence([get("a", "/vu/a/${vu}")])))
            .scenario(scenario("b", closed(3, ms(400)), sequence([get("b", "/vu/b/${vu}")])));
        let ran = Drive::new(plan.compile()).loops(loops).run();
        ran.assert_sound();
        let paths: BTreeSet<String> = target.log().into_iter().map(|s| s.path).collect();
        let users: BTreeSet<&str> = paths.iter().map(|path| path.rsplit('/').next().unwrap()).collect();
        assert_eq!((paths.len(), users.len()), (8, 8), "{paths:?}");
        assert!(!users.contains("0"));
    }
}

/// Its iterations are over at once, so that a virtual user is always free.
struct Instantaneous;

impl UserBehaviour for Instantaneous {
    fn on_loop(&self, scenarios: Vec<LoopScenario>) -> Vec<Box<dyn UserMaker>> {
        scenarios.iter().map(|_| Box::new(Instantaneous) as Box<dyn UserMaker>).collect()
    }
}

impl UserMaker for Instantaneous {
    fn virtual_user(&mut self, _number: u32) -> Box<dyn Iteration> {
        Box::new(Instantaneous)
    }
}

impl Iteration for Instantaneous {
    fn resume(&mut self, _event: Event<'_>, _context: &mut Context<'_>) -> Progress {
        Progress::DONE
    }
}

#[test]
fn more_loops_than_an_open_scenario_has_virtual_users_drop_nothing() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    for arrivals in [Arrivals::Even, Arrivals::Poisson] {
        let load = scenario("s", at_rate(100.0, ms(500)), sequence([get("a", "/a")]));
        let load = Scenario { max_vus: 2, preallocated_vus: 2, arrivals, ..load };
        let plan = Plan::of(target.addr()).scenario(load);
        let planned = plan.workload.arrivals_planned(0).unwrap().count;
        let ran = Drive::new(plan.compile()).loops(4).behaviour(Arc::new(Instantaneous)).run();
        let run = ran.assert_sound();
        assert_eq!((run.all(Metric::Scheduled), run.all(Metric::DroppedCap)), (planned, 0));
    }
}

#[test]
fn more_loops_than_virtual_users_still_offer_the_load() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let plan = Plan::of(target.addr())
        .scenario(scenario("closed", closed(1, ms(300)), sequence([get("a", "/a")])))
        .scenario(scenario("open", at_rate(10.0, ms(500)), sequence([get("b", "/b")])));
    let ran = Drive::new(plan.compile()).loops(4).run();
    let run = ran.assert_sound();
    let served = |path: &str| target.log().iter().filter(|s| s.path == path).count() as u64;
    assert_eq!(served("/b"), 5);
    assert_eq!(run.outcomes("a").values().sum::<u64>(), served("/a"));
    assert!(served("/a") > 0);
}
