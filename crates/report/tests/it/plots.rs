//! Plots of response times have the bounds of objectives as lines, and shade where the generator stalled.

use evidence::{Ending, Instance, Key, KeyId, Metric, Sink as _, Tick};
use report::Summary;

use crate::{forms, sample_run};

/// The page of the sample run, in whose second 42 a stall of the generator ended that was as long.
fn page(stall_ms: u64) -> String {
    let mut run = sample_run::run(105, Some(Ending::Completed));
    let mut tick = Tick::default();
    (tick.instance, tick.second) = (Instance { machine: 0, process: 0, loop_index: 9 }, 42);
    tick.new_keys.push((KeyId(0), Key::of(Metric::LoopStall).instance(tick.instance)));
    tick.record_ns(KeyId(0), stall_ms * 1_000_000);
    run.tick(&tick).expect("memory takes all");
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
fn long_stalls_are_shaded_also_in_the_seconds_before_their_end_and_short_ones_are_not() {
    let shaded = page(2_500);
    let plots = shaded.matches("aria-label=\"Response time of ").count();
    // Of three neighbouring seconds one rectangle: 42, 41 and half of 40.
    let widths: Vec<&str> = shaded.split("<rect class=\"stall\"").skip(1).collect();
    let (_, width) = widths[0].split_once("width=\"").unwrap();
    let (three, one) = (width.split('"').next().unwrap(), page(900));
    let (_, of_one) = one.split_once("<rect class=\"stall\"").unwrap();
    let (_, of_one) = of_one.split_once("width=\"").unwrap();
    let ratio = three.parse::<f64>().unwrap() / of_one.split('"').next().unwrap().parse::<f64>().unwrap();
    assert!((2.9..3.1).contains(&ratio), "{ratio}");
    assert_eq!(shaded.matches("<rect class=\"stall\"").count(), plots);
    assert!(shaded.contains("<i class=\"stall\"></i>the generator stalled"), "the key names it");
    assert!(!page(50).contains("class=\"stall\""));
}
