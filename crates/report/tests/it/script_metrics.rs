//! What scripts count is in every report for people.

use std::collections::BTreeMap;

use evidence::memory::MemoryRun;
use evidence::metric::{MetricHandle, MetricId, MetricKey, MetricKind};
use evidence::sink::Sink;
use evidence::{Instant, Key, Metric, Tick};
use report::summary::Summary;
use report::{Detail, Style};

use crate::{forms, judgements, sample_run};

fn summary(run: &MemoryRun) -> Summary {
    Summary::of(run, &sample_run::workload(), &judgements::measured()).expect("memory")
}

fn run() -> MemoryRun {
    let mut run = MemoryRun::new(sample_run::manifest());
    let mut tick = Tick::default();
    let made = [
        ("<hits>|", MetricKind::Counter, "ramp"),
        ("wait", MetricKind::Trend, "ramp"),
        ("wait", MetricKind::Trend, "gameplay"),
        ("http_reqs", MetricKind::Counter, "ramp"),
    ];
    for (number, (name, kind, phase)) in made.into_iter().enumerate() {
        let id = MetricId(number as u32);
        let tags = BTreeMap::from([("page".into(), "a".into())]);
        tick.metrics.new.push((id, MetricKey { kind, name: name.into(), tags, phase: phase.into() }));
        (1..=3).for_each(|n| tick.metrics.add(MetricHandle { id, kind }, f64::from(n), Instant::EPOCH));
    }
    run.tick(&tick).expect("memory");
    run
}

#[test]
fn every_report_has_a_table_of_the_metrics() {
    let summary = summary(&run());
    let page = forms::html(&summary).replace("<wbr>", "");
    let row = "&lt;hits&gt;|{page=a}</th><td class=\"w\">counter</td><td class=\"n\">3</td><td class=\"n\">6.00</td>";
    assert!(page.contains(row) && page.contains("href=\"#metrics\""), "{page}");
    assert!(page.contains("wait{page=a}</th><td class=\"w\">trend</td>"), "{page}");
    let markdown = forms::markdown(&summary);
    assert!(markdown.contains("| &lt;hits&gt;\\|{page=a} | counter | 3 | 6.00 |"), "{markdown}");
    for label in
        ["wait{page=a}</th><td class=\"w\">trend</td><td class=\"n\">6", "wait{page=a} in gameplay</th>"]
    {
        assert!(page.contains(label), "{page}");
    }
    assert!(markdown.contains("| wait{page=a} in ramp | trend | 3 |"), "{markdown}");
    assert!(!page.contains("{page=a} in ramp</th><td class=\"w\">counter"), "one phase is the whole: {page}");
    let terminal = forms::terminal(&summary, Style::Plain, 100, Detail::Full);
    assert!(terminal.contains("<hits>|{page=a}") && terminal.contains("http_reqs{page=a}"), "{terminal}");
    let brief = forms::terminal(&summary, Style::Plain, 80, Detail::Brief);
    let table = brief.split("Metrics of the script").nth(1).expect("it has the table");
    insta::assert_snapshot!(table.split("\n\n").next().unwrap_or_default(), @r"
      over the whole run
    metric                    sum, last or share   avg   p50   p95   p99   max
    <hits>|{page=a}                         6.00     –     –     –     –     –
    wait{page=a}                               –  2.00  2.00  3.00  3.00  3.00
    wait{page=a} in ramp                       –  2.00  2.00  3.00  3.00  3.00
    wait{page=a} in gameplay                   –  2.00  2.00  3.00  3.00  3.00
    ");
    assert!(!brief.contains("http_reqs") && brief.contains("-v shows also: Metrics of k6"), "{brief}");
}

#[test]
fn json_has_the_whole_and_each_phase() {
    let json: serde_json::Value = serde_json::from_str(&forms::json(&summary(&run()))).expect("JSON");
    let metric = &json["metrics"][2];
    assert_eq!((metric["name"].as_str(), metric["count"].as_u64()), (Some("wait"), Some(6)));
    let phases: Vec<_> =
        metric["phases"].as_array().expect("an array").iter().map(|p| (&p["phase"], &p["count"])).collect();
    assert_eq!(serde_json::json!(phases), serde_json::json!([["ramp", 3], ["gameplay", 3]]));
}

#[test]
fn checks_of_iterations_are_beside_those_of_endpoints() {
    let mut run = run();
    run.add(&Key::of(Metric::CheckPassed).scenario("play").phase("ramp").tag("check", "basket"), 0, 3);
    let page = forms::html(&summary(&run));
    assert!(page.contains("(whole iteration)</th><td class=\"w\">basket</td>"), "{page}");
}

#[test]
fn a_run_without_a_script_has_no_such_table() {
    let summary = summary(&MemoryRun::new(sample_run::manifest()));
    assert!(!forms::html(&summary).contains("Metrics of the script"));
    assert!(!forms::markdown(&summary).contains("Metrics of the script"));
}
