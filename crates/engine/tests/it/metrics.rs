//! The metrics that iterations make are the same over one loop and over several.

use std::sync::Arc;

use engine::iteration::{
    Behaviour as UserBehaviour, Context, Event, Iteration, LoopScenario, Progress, UserMaker,
};
use evidence::Run;
use evidence::metric::{MetricKind, MetricSums};
use testbed::Behaviour;

use crate::drive::Drive;
use crate::plan::{Plan, at_rate, get, ms, scenario, sequence};

/// Adds to a metric of each kind, by the number of its arrival.
struct Counting;

impl UserBehaviour for Counting {
    fn on_loop(&self, scenarios: Vec<LoopScenario>) -> Vec<Box<dyn UserMaker>> {
        scenarios.iter().map(|_| Box::new(Counting) as Box<dyn UserMaker>).collect()
    }
}

impl UserMaker for Counting {
    fn virtual_user(&mut self, _number: u32) -> Box<dyn Iteration> {
        Box::new(Counting)
    }
}

impl Iteration for Counting {
    fn resume(&mut self, event: Event<'_>, context: &mut Context<'_>) -> Progress {
        let Event::Begin(arrival) = event else { return Progress::DONE };
        let number = arrival.number as f64;
        let page = if arrival.number.is_multiple_of(2) { "even" } else { "odd" };
        for (kind, name, value) in [
            (MetricKind::Counter, "spent", 0.25),
            (MetricKind::Gauge, "level", number),
            (MetricKind::Rate, "is third", f64::from(arrival.number.is_multiple_of(3))),
            (MetricKind::Trend, "balance", number - 50.0),
        ] {
            let handle = context.metric(kind, name, &[("page", page)]);
            context.add(handle, value).unwrap();
        }
        let broken = context.metric(MetricKind::Trend, "balance", &[("page", page)]);
        assert!(context.add(broken, f64::INFINITY).is_err());
        Progress::DONE
    }
}

/// What a run of 100 iterations made, by kind, name and tag.
fn made_by(loops: u16) -> Vec<(String, MetricSums)> {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let plan =
        Plan::of(target.addr()).scenario(scenario("s", at_rate(80.0, ms(1_250)), sequence([get("a", "/")])));
    let ran = Drive::new(plan.compile()).loops(loops).behaviour(Arc::new(Counting)).run();
    let run = ran.assert_sound();
    let of = |(id, key): &(_, evidence::metric::MetricKey)| {
        let sums = run.metric(*id, run.whole()).unwrap();
        (format!("{} {} {}", key.kind, key.name, key.tags["page"]), sums)
    };
    let mut made: Vec<_> = run.metrics().iter().map(of).collect();
    made.sort_by(|(a, _), (b, _)| a.cmp(b));
    made
}

#[test]
fn metrics_of_iterations_are_recorded_and_merged_over_loops_and_seconds() {
    let (one, three) = (made_by(1), made_by(3));
    let names: Vec<&str> = one.iter().map(|(name, _)| name.as_str()).collect();
    let expected = ["counter spent", "gauge level", "rate is third", "trend balance"];
    let expected: Vec<String> =
        expected.iter().flat_map(|name| ["even", "odd"].map(|page| format!("{name} {page}"))).collect();
    assert_eq!(names, expected);
    for ((name, one), (_, three)) in one.iter().zip(&three) {
        assert_eq!((one.count, one.nonzero, one.sum), (three.count, three.nonzero, three.sum), "{name}");
        assert_eq!((one.min, one.max, &one.buckets), (three.min, three.max, &three.buckets), "{name}");
    }
    let [spent, level, third, balance] = [0, 2, 4, 6].map(|at| &one[at].1);
    assert_eq!((spent.sum, spent.count, third.nonzero), (12.5, 50, 17));
    assert_eq!((level.min, level.max), (0.0, 98.0));
    assert_eq!(balance.quantile(0.5).map(f64::round), Some(-2.0));
}

#[test]
fn what_an_iteration_adds_counts_for_the_phase_in_which_its_arrival_was_due() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let plan = Plan::of(target.addr())
        .phases(&[("warm-up", ms(250)), ("steady", ms(1_000))])
        .scenario(scenario("s", at_rate(80.0, ms(1_250)), sequence([get("a", "/")])));
    let ran = Drive::new(plan.compile()).loops(2).behaviour(Arc::new(Counting)).run();
    let run = ran.assert_sound();
    let of = |phase: &str| -> u64 {
        let spent = run.metrics().iter().filter(|(_, key)| (&*key.name, &*key.phase) == ("spent", phase));
        spent.map(|(id, _)| run.metric(*id, run.whole()).unwrap().count).sum()
    };
    assert_eq!((of("warm-up"), of("steady")), (20, 80));
}
