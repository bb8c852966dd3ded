//! Plots of response times have the bounds of objectives as lines, and shade where the generator stalled.

use evidence::{Ending, Instance, Key, KeyId, Metric, Outcome, Sink as _, Tick};
use report::Summary;

use crate::{forms, sample_run};

/// The page of the sample run, in whose seconds 40 to 42 stalls of the generator disturbed so many requests.
fn page(disturbed: u64) -> String {
    let mut run = sample_run::run(105, Some(Ending::Completed));
    for second in 40..43 {
        let mut tick = Tick::default();
        (tick.instance, tick.second) = (Instance { machine: 0, process: 0, loop_index: 9 }, second);
        if second == 40 {
            let key = Key::of(Metric::PerturbedResponseTime).scenario("play").endpoint("claim").phase("ramp");
            tick.new_keys.push((KeyId(0), key.outcome(Outcome::Ok)));
        }
        (0..disturbed).for_each(|_| tick.record_ns(KeyId(0), 3_000_000));
        run.tick(&tick).expect("memory takes all");
    }
    let mut workload = sample_run::workload();
    for (objective, endpoint) in workload.objectives.iter_mut().zip(["list challenges", "set active"]) {
        objective.filter.endpoint = Some(endpoint.to_owned());
    }
    forms::html(&Summary::of(&run, &workload, &sample_run::judgement()).expect("memory can be read"))
}

#[test]
fn the_bound_of_an_endpoint_is_a_line_in_its_plot_with_its_objective() {
    let page = page(0);
    let plot = |endpoint: &str| {
        let title = format!("aria-label=\"Response time of {endpoint} ");
        let (_, rest) = page.split_once(&title).unwrap_or_else(|| panic!("no {title}"));
        rest.split("</figure>").next().unwrap_or_default().to_owned()
    };
    let (listed, set) = (plot("list challenges"), plot("set active"));
    for (plot, own, other) in [(&listed, "&lt; 50ms", "&lt; 20ms"), (&set, "&lt; 20ms", "&lt; 50ms")] {
        assert!(plot.contains("<path class=\"bound\" d=\"M54 "), "{plot}");
        assert!(plot.contains(own) && !plot.contains(other), "{plot}");
    }
}

#[test]
fn stalls_that_disturbed_many_requests_are_shaded_and_few_are_not() {
    let shaded = page(1_000);
    let plots = shaded.matches("aria-label=\"Response time of ").count();
    // Of three neighbouring seconds one rectangle.
    assert_eq!(shaded.matches("<rect class=\"stall\"").count(), plots);
    assert!(shaded.contains("<i class=\"stall\"></i>the generator stalled"), "the key names it");
    assert!(!page(0).contains("class=\"stall\""));
}
