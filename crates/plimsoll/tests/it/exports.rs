//! What `plimsoll export` writes is what the run file has, and what other tools read.

use std::collections::BTreeMap;
use std::fs;

use archive::Stored;
use base64::Engine as _;
use evidence::run::{Run as _, select};
use evidence::{Metric, Outcome};
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use observe::exposition::{ExpositionLine, lines};
use testbed::{Behaviour, Site};

use crate::command::{TestFolder, open};

/// A run whose requests fail one time in five, with its exports.
fn exported() -> (TestFolder, Stored) {
    let target =
        testbed::http(Site::new().at("/x", Behaviour::error_rate(5, 500)).otherwise(Behaviour::ok()))
            .unwrap();
    let folder = TestFolder::new(&open(target.addr(), 2));
    folder.plimsoll(&["run", "plan.toml", "--quiet", "-o", "run.plimsoll"]);
    let asked = ["export", "run.plimsoll", "--csv", "tables", "--openmetrics", "run.om", "--hdr", "run.hlog"];
    folder.plimsoll(&asked).exits_with(0).stderr_contains(&["tables/summary.csv", "run.om", "run.hlog"]);
    let run = Stored::open(&folder.path("run.plimsoll")).unwrap();
    (folder, run)
}

/// How many requests of the run ended so, by the run file.
fn responses(run: &Stored) -> BTreeMap<Outcome, u64> {
    let mut counts = BTreeMap::new();
    for (id, key) in select(run.keys(), Metric::ResponseTime, |_| true) {
        *counts.entry(key.outcome.unwrap()).or_default() += run.histogram(id, run.whole()).unwrap().count();
    }
    counts.retain(|_, count| *count > 0);
    counts
}

#[test]
fn tables_have_the_counts_of_the_run() {
    let (folder, run) = exported();
    for table in ["tables/summary.csv", "tables/seconds.csv"] {
        let text = folder.read(table);
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let head = reader.headers().unwrap().clone();
        let column = |name: &str| head.iter().position(|known| known == name).unwrap();
        let (metric, outcome) = (column("metric"), column("outcome"));
        let count = head.iter().position(|name| name == "count" || name == "total").unwrap();
        let mut counts: BTreeMap<Outcome, u64> = BTreeMap::new();
        for row in reader.records().map(Result::unwrap).filter(|row| &row[metric] == "response_time") {
            *counts.entry(row[outcome].parse().unwrap()).or_default() += row[count].parse::<u64>().unwrap();
        }
        counts.retain(|_, count| *count > 0);
        assert_eq!(counts, responses(&run), "{table}");
    }
    let counts = folder.read("tables/counts.csv");
    let scheduled = counts.lines().filter(|line| line.contains(",scheduled,"));
    let scheduled: u64 = scheduled.map(|line| line.rsplit(',').next().unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!(scheduled, 100);
    assert!(folder.read("tables/series.csv").lines().any(|line| line.contains(",host,host_cpu,")));
}

#[test]
fn openmetrics_add_up_to_the_counts_of_the_run() {
    let (folder, run) = exported();
    let text = folder.read("run.om");
    assert!(text.ends_with("\n# EOF\n") && text.matches("# EOF").count() == 1);
    let mut last: BTreeMap<Outcome, u64> = BTreeMap::new();
    for (number, line) in lines(&text) {
        let line = line.unwrap_or_else(|why| panic!("line {number}: {why}"));
        let ExpositionLine::Sample(sample) = line else { continue };
        let (labels, value) = sample.read().unwrap_or_else(|why| panic!("line {number}: {why}"));
        if sample.name != "plimsoll_response_time_seconds_count" {
            continue;
        }
        let outcome = labels.iter().find(|(name, _)| *name == "outcome").unwrap().1.parse().unwrap();
        let before = last.insert(outcome, value as u64).unwrap_or(0);
        assert!(before <= value as u64, "{outcome} falls");
    }
    assert_eq!(last, responses(&run));
    for family in
        ["# TYPE plimsoll_response_time_seconds histogram", "# UNIT plimsoll_response_time_seconds seconds"]
    {
        assert_eq!(text.matches(family).count(), 1, "{family}");
    }
}

#[test]
fn histogram_logs_are_read_by_another_library_and_by_import() {
    let (folder, run) = exported();
    let text = folder.read("run.hlog");
    let (mut ok, mut failed) = (0, 0);
    for entry in IntervalLogIterator::new(text.as_bytes()) {
        let LogEntry::Interval(interval) = entry.unwrap() else { continue };
        let bytes = base64::engine::general_purpose::STANDARD.decode(interval.encoded_histogram()).unwrap();
        let histogram: hdrhistogram::Histogram<u64> =
            Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
        assert_eq!(interval.duration().as_secs(), 1);
        assert!((interval.max() * 1e3 - histogram.max() as f64).abs() <= histogram.max() as f64 / 500.0);
        match interval.tag().unwrap().as_str() {
            "load/get" => ok += histogram.len(),
            "load/get!http_5xx" => failed += histogram.len(),
            tag => panic!("{tag}"),
        }
    }
    assert_eq!(responses(&run), [(Outcome::Ok, ok), (Outcome::Http5xx, failed)].into());
    folder
        .plimsoll(&["import", "run.hlog", "-o", "again.plimsoll", "--json", "again.json"])
        .stdout_contains(&["load/get"]);
    let again = folder.json("again.json");
    assert_eq!(again["run"]["started_at"].as_str().unwrap()[..19], run.manifest().started_at[..19]);
}

#[test]
fn an_export_needs_something_to_write_and_a_place_for_it() {
    let folder = TestFolder::new("");
    folder.plimsoll(&["export", "run.plimsoll"]).exits_with(2).stderr_contains(&["--csv", "--openmetrics"]);
    let (folder, _) = exported();
    let nowhere = ["export", "run.plimsoll", "--openmetrics", "none/run.om"];
    folder.plimsoll(&nowhere).exits_with(1).stderr_contains(&["cannot write none/run.om"]);
    let piped = folder.plimsoll(&["export", "run.plimsoll", "--hdr", "-"]);
    assert_eq!(piped.exits_with(0).stdout, folder.read("run.hlog"));
}

#[test]
fn a_chart_of_the_page_is_exported_by_its_name() {
    let (folder, _) = exported();
    let list = folder.plimsoll(&["export", "run.plimsoll", "--chart"]);
    let names: Vec<&str> = list.exits_with(0).stdout.lines().collect();
    assert!(
        names.contains(&"offered-load-and-throughput") && names.contains(&"distribution-run"),
        "{names:?}"
    );
    for name in &names {
        folder.plimsoll(&["export", "run.plimsoll", "--chart", name, "chart.svg", "--dark"]).exits_with(0);
        let svg = folder.read("chart.svg");
        assert!(svg.starts_with("<svg xmlns=") && svg.trim_end().ends_with("</svg>"), "{name}: {svg}");
        folder.plimsoll(&["export", "run.plimsoll", "--chart", name, "chart.png", "--dark"]).exits_with(0);
        let png = fs::read(folder.path("chart.png")).unwrap();
        assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"), "{name}");
        let [width, height] = [16, 20].map(|at| u32::from_be_bytes(png[at..at + 4].try_into().unwrap()));
        let size = format!("width=\"{width}\" height=\"{height}\"");
        assert!(svg[..200].contains(&size), "{name}: {size} in {}", &svg[..200]);
    }
    let refused = |arguments: &[&str], why: &[&str]| {
        let asked = [&["export", "run.plimsoll", "--chart"], arguments].concat();
        folder.plimsoll(&asked).exits_with(2).stderr_contains(why);
    };
    refused(
        &["distribution-rum", "x.svg"],
        &["no chart `distribution-rum`", "did you mean `distribution-run`?", "`requests-in-flight`"],
    );
    assert!(!folder.path("x.svg").exists(), "no file is left of a chart that there is not");
    refused(&["cpu"], &["a chart needs a file: --chart NAME FILE.svg, or FILE.png"]);
    refused(&["cpu", "cpu.jpg"], &["a chart is written as SVG or PNG: --chart cpu FILE.svg, or FILE.png"]);
}
