//! What each query of the page should equal in the report.

use rusqlite::types::Value as Cell;
use serde_json::Value;

use super::super::report::{array, kind, label_of, text};
use super::super::runs::ReportedRun;
use super::super::shown::{Expected, Numbers, difference};
use super::Answered;

/// Each query by a part of its text, and what it is compared with.
const QUERIES: [(&str, Compare); 23] = [
    ("SELECT endpoint, outcome, total, p95_us FROM rollups", short_rollups),
    ("SELECT name, substr(value, 1, 80) FROM manifest", manifest),
    ("WHERE name = 'environment'", environment),
    ("SELECT metric, count(*) AS keys", keys),
    ("sum(total) AS ended FROM", ended),
    ("WHERE metric = 'results'", results),
    ("AS ticks, 1 + max(second)", ticks),
    ("FROM ticks JOIN instances", instances),
    ("FROM metric_values JOIN metrics", metrics),
    ("FROM parsed JOIN metrics", values_of_trends),
    ("sum(count) AS answers", answers),
    ("sum(value) AS arrivals", arrivals),
    ("FROM samples JOIN series", samples),
    ("FROM exemplars WHERE kind = 'failed'", failed),
    ("FROM exemplars WHERE kind = 'slowest'", slowest),
    ("round(p95_us / 1000, 2) AS p95_ms", rollups),
    ("SELECT phase, scenario, endpoint, metric, total", totals),
    ("FROM notices", notices),
    ("FROM profiles JOIN histograms", profiles),
    ("FROM run_end", run_end),
    ("SELECT sha256 FROM seal", seal),
    ("SELECT judged_at, rules_version", judgements),
    ("json_each(judgements.findings)", findings),
];

/// Pairs of what the query found and what the report has.
type Compare = fn(&Comparison<'_>, &mut Pairs);

/// The rows of a query, and the run.
struct Comparison<'a> {
    run: &'a ReportedRun,
    numbers: &'a Numbers,
    rows: &'a [Vec<Cell>],
}

/// What is compared: a name, the query's, the report's.
#[derive(Default)]
struct Pairs(Vec<(String, Expected, Expected)>);

impl Pairs {
    fn number(&mut self, name: impl Into<String>, found: f64, reported: &Value) {
        self.0.push((name.into(), Expected::Number(found), Expected::of(reported.as_f64())));
    }

    /// A number that the query rounds to two decimals.
    fn rounded(&mut self, name: impl Into<String>, found: f64, reported: &Value) {
        let range = Expected::Between(found - 0.005, found + 0.005);
        self.0.push((name.into(), Expected::of(reported.as_f64()), range));
    }

    fn text(&mut self, name: impl Into<String>, found: &str, reported: &str) {
        self.0.push((name.into(), Expected::Text(found.to_owned()), Expected::Text(reported.to_owned())));
    }
}

impl Comparison<'_> {
    fn is_sealed(&self) -> bool {
        !self.run.report["run"]["digest"].is_null()
    }

    fn known(&self, pairs: &mut Pairs, name: String, found: Expected) {
        let reported = self.numbers.get(&name).cloned().unwrap_or(Expected::Missing);
        pairs.0.push((name, found, reported));
    }
}

/// Where a query of the page and the report disagree.
pub(in super::super) fn disagreements(run: &ReportedRun, numbers: &Numbers) -> Vec<String> {
    assert_eq!(run.queries.len(), QUERIES.len(), "the page has other queries than this table");
    let mut found = Vec::new();
    for Answered { query, rows } in &run.queries {
        let known = QUERIES.iter().find(|(part, _)| query.contains(part));
        let (_, compare) = known.unwrap_or_else(|| panic!("not in this table: {query}"));
        let mut pairs = Pairs::default();
        compare(&Comparison { run, numbers, rows }, &mut pairs);
        for (name, answer, reported) in pairs.0 {
            let is_different = match (&answer, &reported) {
                (Expected::Number(_), Expected::Rough(ms)) => difference(&answer, &Expected::Number(*ms)),
                _ => difference(&answer, &reported),
            };
            let query = query.lines().next().unwrap();
            found.extend(is_different.map(|why| format!("{}: {name}: {why}: {query}", run.name)));
        }
    }
    found
}

fn number(cell: &Cell) -> f64 {
    match cell {
        Cell::Integer(n) => *n as f64,
        Cell::Real(n) => *n,
        Cell::Null => 0.0,
        other => panic!("{other:?} is not a number"),
    }
}

fn words(cell: &Cell) -> &str {
    match cell {
        Cell::Text(text) => text,
        Cell::Null => "",
        other => panic!("{other:?} is not text"),
    }
}

fn manifest(of: &Comparison<'_>, pairs: &mut Pairs) {
    let run = &of.run.report["run"];
    for row in of.rows {
        let name = words(&row[0]);
        if ["name", "started_at", "workload_digest", "seed"].contains(&name) {
            let reported: String = run[name].to_string().chars().take(80).collect();
            pairs.text(name, words(&row[1]), &reported);
        }
    }
}

fn environment(of: &Comparison<'_>, pairs: &mut Pairs) {
    for row in of.rows {
        pairs.text(
            words(&row[0]),
            words(&row[1]),
            text(&of.run.report["run"]["environment"][words(&row[0])]),
        );
    }
}

/// What ended in the window of each phase, where the report says that.
fn ended(of: &Comparison<'_>, pairs: &mut Pairs) {
    for phase in array(&of.run.report["phases"]).iter().filter(|phase| !phase["requests"].is_null()) {
        let name = text(&phase["name"]);
        let its = of.rows.iter().find(|row| words(&row[0]) == name).filter(|_| of.is_sealed());
        if let Some(row) = its {
            pairs.number(format!("ended in {name}"), number(&row[1]), &phase["requests"]["completed"]);
        }
    }
}

/// A key of scheduled arrivals belongs to one row.
fn keys(of: &Comparison<'_>, pairs: &mut Pairs) {
    let scheduled =
        of.rows.iter().find(|row| words(&row[0]) == "scheduled").map_or(0.0, |row| number(&row[1]));
    let rows = array(&of.run.report["endpoints"]).iter().filter(|row| !row["arrivals"].is_null());
    pairs.number("rows with arrivals", scheduled, &rows.count().into());
}

fn results(of: &Comparison<'_>, pairs: &mut Pairs) {
    for row in of.rows {
        let (outcome, status, reason) = (words(&row[0]), words(&row[1]), words(&row[2]));
        let name = kind(outcome, Some(status).filter(|status| !status.is_empty()));
        let name = match (outcome, reason) {
            ("cancelled", _) => continue,
            ("ok", _) => format!("all/kind {name}"),
            (_, "") => format!("all/kind {name}/reason other reasons"),
            (_, reason) => format!("all/kind {name}/reason {reason}"),
        };
        of.known(pairs, name, Expected::Number(number(&row[3])));
    }
}

fn ticks(of: &Comparison<'_>, pairs: &mut Pairs) {
    let [_, seconds, folded] = &of.rows[0][..] else { panic!() };
    pairs.number("seconds", number(seconds), &of.run.report["run"]["seconds"]);
    let reported = &of.run.report["generator"]["folded_ticks"];
    // A run that was not sealed does not know.
    if !reported.is_null() {
        pairs.number("folded ticks", number(folded), reported);
    }
}

/// A row for each loop; another tool's run does not say how many it had.
fn instances(of: &Comparison<'_>, pairs: &mut Pairs) {
    if let Some(loops) = of.run.report["run"]["generator"]["loops"].as_str() {
        pairs.text("loops", &of.rows.len().to_string(), loops);
    }
}

fn metrics(of: &Comparison<'_>, pairs: &mut Pairs) {
    let phases = |metric: &Value| metric["phases"].as_array().map_or(0, Vec::len).max(1);
    let reported: usize = of.run.report["metrics"].as_array().map_or(0, |all| all.iter().map(phases).sum());
    pairs.number("metrics", of.rows.len() as f64, &Value::from(reported));
}

fn values_of_trends(of: &Comparison<'_>, pairs: &mut Pairs) {
    let found: f64 = of.rows.iter().map(|row| number(&row[4])).sum();
    let metrics = of.run.report["metrics"].as_array().map(Vec::as_slice).unwrap_or_default();
    let trends = metrics.iter().filter(|metric| metric["kind"] == "trend");
    let reported: f64 = trends.map(|metric| metric["count"].as_f64().unwrap_or_default()).sum();
    pairs.number("values of trends", found, &Value::from(reported));
}

fn answers(of: &Comparison<'_>, pairs: &mut Pairs) {
    let accounting = &of.run.report["accounting"];
    let sum = |column: usize| of.rows.iter().map(|row| number(&row[column])).sum();
    if !accounting["completed"].is_null() {
        pairs.number("answers", sum(1), &accounting["completed"]);
    }
    // Where outcomes are not recorded, failures are not known.
    if !accounting["failed"].is_null() {
        pairs.number("failures", sum(2), &accounting["failed"]);
    }
}

fn arrivals(of: &Comparison<'_>, pairs: &mut Pairs) {
    for metric in ["scheduled", "started", "dropped_cap", "dropped_late"] {
        let of_metric = of.rows.iter().filter(|row| words(&row[1]) == metric);
        let reported = &of.run.report["accounting"]["arrivals"][metric];
        if !reported.is_null() {
            pairs.number(metric, of_metric.map(|row| number(&row[2])).sum(), reported);
        }
    }
}

fn samples(of: &Comparison<'_>, pairs: &mut Pairs) {
    pairs.number("series", of.rows.len() as f64, &array(&of.run.report["series"]).len().into());
    for row in of.rows {
        let [target, name, part, unit] = [0, 1, 2, 3].map(|column| words(&row[column]));
        let is_it = |series: &&Value| {
            [&series["target"], &series["name"], &series["part"], &series["unit"]]
                == [target, name, part, unit]
        };
        let reported = array(&of.run.report["series"]).iter().find(is_it).unwrap_or(&Value::Null);
        let what = format!("{name} {part} of {target}");
        pairs.number(format!("samples of {what}"), number(&row[4]), &reported["samples"]);
        for (column, key) in [(5, "mean"), (6, "max")] {
            pairs.number(format!("{key} of {what}"), number(&row[column]), &reported[key]);
        }
    }
}

fn failed(of: &Comparison<'_>, pairs: &mut Pairs) {
    of.known(pairs, "exemplars/failed".to_owned(), Expected::Number(of.rows.len() as f64));
}

fn slowest(of: &Comparison<'_>, pairs: &mut Pairs) {
    of.known(pairs, "exemplars/slowest".to_owned(), Expected::Number(of.rows.len() as f64));
    for (index, row) in of.rows.iter().enumerate() {
        let name = format!("exchange/slowest/{index}/response time");
        of.known(pairs, name, Expected::Number(number(&row[2])));
    }
}

/// Whether quantiles of a row are those of its roll-up: it has one key of successes in the run.
fn reported_row<'a>(of: &'a Comparison<'_>, endpoint: &str, phase: Option<&str>) -> Option<&'a Value> {
    let is_it = |row: &&Value| row["endpoint"] == endpoint && phase.is_none_or(|phase| row["phase"] == phase);
    let mut found = array(&of.run.report["endpoints"]).iter().filter(is_it);
    found.next().filter(|_| found.next().is_none())
}

fn rollup(of: &Comparison<'_>, pairs: &mut Pairs, row: &Value, [outcome, total]: [&Cell; 2]) {
    let (outcome, name) = (words(outcome), text(&row["endpoint"]));
    match &row["by_outcome"] {
        // The outcomes of an import without them are all the same.
        Value::Null => pairs.number(format!("completed by {name}"), number(total), &row["completed"]),
        by_outcome => pairs.number(format!("{outcome} of {name}"), number(total), &by_outcome[outcome]),
    }
    assert!(of.is_sealed(), "only a seal writes roll-ups");
}

fn short_rollups(of: &Comparison<'_>, pairs: &mut Pairs) {
    for cells in of.rows {
        let (endpoint, outcome) = (words(&cells[0]), words(&cells[1]));
        let Some(row) = reported_row(of, endpoint, None) else { continue };
        // A row of several phases has a key in each.
        let is_whole = row["by_outcome"][outcome].as_f64() == Some(number(&cells[2]));
        if outcome == "ok" && is_whole {
            pairs.number(
                format!("p95 of {endpoint}"),
                number(&cells[3]) / 1e3,
                &row["response_time"]["p95_ms"],
            );
        }
    }
}

fn rollups(of: &Comparison<'_>, pairs: &mut Pairs) {
    for cells in of.rows {
        let (endpoint, phase) = (words(&cells[0]), words(&cells[1]));
        let Some(row) = reported_row(of, endpoint, Some(phase)) else { continue };
        rollup(of, pairs, row, [&cells[2], &cells[3]]);
        if words(&cells[2]) == "ok" {
            let times = &row["response_time"];
            for (column, key) in [(4, "p50_ms"), (5, "p95_ms"), (6, "p99_ms")] {
                pairs.rounded(format!("{key} of {endpoint} in {phase}"), number(&cells[column]), &times[key]);
            }
            pairs.rounded(format!("max of {endpoint} in {phase}"), number(&cells[7]), &times["max_ms"]);
        }
    }
}

fn totals(of: &Comparison<'_>, pairs: &mut Pairs) {
    for row in of.rows {
        let [phase, scenario, endpoint, metric] = [0, 1, 2, 3].map(|column| words(&row[column]));
        let label = label_of(&of.run.report, scenario, endpoint);
        let name = match metric {
            "scheduled" => "due",
            "dropped_cap" => "dropped: VU limit",
            "dropped_late" => "dropped: generator late",
            name => name,
        };
        of.known(pairs, format!("row/{phase}/{label}/{name}"), Expected::Number(number(&row[4])));
    }
}

/// Notices are in findings, as sentences.
fn notices(_: &Comparison<'_>, _: &mut Pairs) {}

fn profiles(of: &Comparison<'_>, pairs: &mut Pairs) {
    let reported = array(&of.run.report["profiles"]);
    pairs.number("profiles", of.rows.len() as f64, &reported.len().into());
}

fn run_end(of: &Comparison<'_>, pairs: &mut Pairs) {
    let run = &of.run.report["run"];
    let Some(row) = of.rows.first() else {
        return pairs.text("how it ended", "killed", text(&run["end"]["how"]));
    };
    pairs.text("how it ended", words(&row[0]), text(&run["end"]["how"]));
    pairs.text("why", words(&row[1]), run["end"]["reason"].as_str().unwrap_or(""));
    if run["source"].is_null() {
        pairs.number("seconds", number(&row[2]) + 1.0, &run["seconds"]);
        pairs.number("in flight", number(&row[3]), &run["requests_in_flight"]);
    }
}

fn seal(of: &Comparison<'_>, pairs: &mut Pairs) {
    let digest = of.rows.first().map_or("", |row| words(&row[0]));
    pairs.text("digest", digest, of.run.report["run"]["digest"].as_str().unwrap_or(""));
}

/// The run file has what was judged when it was made: of a file that was changed since, something else.
fn judgements(of: &Comparison<'_>, pairs: &mut Pairs) {
    if let Some(row) = of.rows.last().filter(|_| of.run.name != "changed") {
        pairs.number("rules", number(&row[1]), &of.run.report["rules_version"]);
        pairs.text("verdict", words(&row[2]), text(&of.run.report["verdict"]));
        pairs.text("because", words(&row[3]), text(&of.run.report["because"]));
    }
}

fn findings(of: &Comparison<'_>, pairs: &mut Pairs) {
    let reported = array(&of.run.report["findings"]);
    if !of.is_sealed() || of.run.name == "changed" {
        return;
    }
    pairs.number("findings", of.rows.len() as f64, &reported.len().into());
    for (row, finding) in of.rows.iter().zip(reported) {
        for (cell, key) in row.iter().zip(["severity", "rule", "what"]) {
            pairs.text(key, words(cell), text(&finding[key]));
        }
    }
}
