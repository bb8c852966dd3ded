//! What scripts count is in every report for people.

use std::collections::BTreeMap;

use evidence::memory::MemoryRun;
use evidence::metric::{MetricHandle, MetricId, MetricKey, MetricKind};
use evidence::sink::Sink;
use evidence::{Instant, Key, Metric, Tick};
use report::Style;
use report::summary::Summary;

use crate::{judgements, sample_run};

fn summary(run: &MemoryRun) -> Summary {
    Summary::of(run, &sample_run::workload(), &judgements::measured()).expect("memory")
}

fn run() -> MemoryRun {
    let mut run = MemoryRun::new(sample_run::manifest());
    let mut tick = Tick::default();
    for (number, (name, kind)) in
        [("<hits>|", MetricKind::Counter), ("wait", MetricKind::Trend)].into_iter().enumerate()
    {
        let id = MetricId(number as u32);
        let tags = BTreeMap::from([("page".into(), "a".into())]);
        tick.metrics.new.push((id, MetricKey { kind, name: name.into(), tags }));
        (1..=3).for_each(|n| tick.metrics.add(MetricHandle { id, kind }, f64::from(n), Instant::EPOCH));
    }
    run.tick(&tick).expect("memory");
    run
}

#[test]
fn every_report_has_a_table_of_the_metrics() {
    let summary = summary(&run());
    let page = report::html(&summary);
    let row = "<td>&#60;hits&#62;|{page=a}</td><td>counter</td><td class=\"n\">3</td><td>sum 6.00</td>";
    assert!(page.contains(row) && page.contains("href=\"#metrics\""), "{page}");
    assert!(page.contains("<td>wait{page=a}</td><td>trend</td>"), "{page}");
    let markdown = report::markdown(&summary);
    assert!(markdown.contains("| &lt;hits&gt;\\|{page=a} | counter | 3 | sum 6.00 |"), "{markdown}");
    let terminal = report::terminal(&summary, Style::Plain, 100);
    assert!(terminal.contains("<hits>|{page=a}"), "{terminal}");
}

#[test]
fn checks_of_iterations_are_beside_those_of_endpoints() {
    let mut run = run();
    run.add(&Key::of(Metric::CheckPassed).scenario("play").phase("ramp").tag("check", "basket"), 0, 3);
    let page = report::html(&summary(&run));
    assert!(page.contains("<td>(whole iteration)</td><td>basket</td>"), "{page}");
}

#[test]
fn a_run_without_a_script_has_no_such_table() {
    let summary = summary(&MemoryRun::new(sample_run::manifest()));
    assert!(!report::html(&summary).contains("Metrics of the script"));
    assert!(!report::markdown(&summary).contains("Metrics of the script"));
}
