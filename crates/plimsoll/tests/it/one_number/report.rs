//! The numbers of the JSON report, by what they are about: what every other form and the run file must give.

use std::collections::BTreeMap;

use ::report::number::{length, span};
use serde_json::Value;

use super::shown::{Expected, Numbers};

/// The numbers of the JSON report.
pub(crate) fn numbers(report: &Value) -> Numbers {
    let mut all = Numbers::new();
    run(&mut all, report);
    accounting(&mut all, report);
    headline(&mut all, report);
    for row in array(&report["endpoints"]) {
        endpoint(&mut all, &label(report, row), row);
    }
    for total in array(&report["totals"]) {
        endpoint(&mut all, ALL_REQUESTS, total);
    }
    for scenario in array(&report["scenarios"]) {
        scenario_total(&mut all, scenario);
    }
    checks(&mut all, report);
    generator(&mut all, report);
    for series in array(&report["series"]) {
        observed(&mut all, series);
    }
    for claim in array(&report["claims"]) {
        judged(&mut all, claim);
    }
    for finding in array(&report["findings"]) {
        figures(&mut all, &format!("finding/{}", text(&finding["what"])), &finding["figures"]);
    }
    for figure in array(&report["run"]["source"]["figures"]) {
        figures(&mut all, &format!("source/{}", text(&figure["of"])), &Value::from(vec![figure.clone()]));
    }
    environment(&mut all, &report["run"]);
    all
}

fn figures(all: &mut Numbers, of: &str, figures: &Value) {
    for figure in array(figures) {
        all.insert(format!("{of}/{}", text(&figure["name"])), base(&figure["value"], text(&figure["unit"])));
    }
}

fn environment(all: &mut Numbers, run: &Value) {
    let groups = [("Machine".to_owned(), &run["environment"]), ("Generator".to_owned(), &run["generator"])];
    let targets = run["targets"].as_object().into_iter().flatten();
    for (group, facts) in targets.map(|(name, facts)| (format!("Target {name}"), facts)).chain(groups) {
        for (name, value) in facts.as_object().into_iter().flatten() {
            let (name, expected) = match name.strip_suffix("_bytes") {
                Some(name) => (name, Expected::of(text(value).parse().ok())),
                None => (name.as_str(), words(text(value))),
            };
            all.insert(format!("environment/{group}/{name}"), expected);
        }
    }
}

pub(crate) fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

pub(crate) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is not text"))
}

fn number(value: &Value) -> Expected {
    Expected::of(value.as_f64())
}

fn share(part: &Value, whole: &Value) -> Expected {
    let (Some(part), Some(whole)) = (part.as_f64(), whole.as_f64()) else { return Expected::Missing };
    Expected::of((whole > 0.0).then(|| part / whole))
}

fn words(text: impl Into<String>) -> Expected {
    Expected::Text(text.into())
}

fn run(all: &mut Numbers, report: &Value) {
    let run = &report["run"];
    let mut add = |name: &str, expected| all.insert(format!("run/{name}"), expected);
    add("started", words(text(&run["started_at"])));
    add("elapsed", words(length(run["elapsed_s"].as_f64().unwrap())));
    add("seconds", number(&run["seconds"]));
    if !run["stopped_at_s"].is_null() {
        add("stopped at", number(&run["stopped_at_s"]));
    }
    add("planned seconds", number(&run["planned_seconds"]));
    add("seed", words(run["seed"].to_string()));
    add("workload SHA-256", words(text(&run["workload_digest"])));
    add("evidence SHA-256", words(run["digest"].as_str().unwrap_or("none: the file has no seal")));
    add("rules", words(format!("version {}", report["rules_version"])));
    for phase in array(&report["phases"]) {
        let name = text(&phase["name"]);
        let [start_s, covered_s] = ["start_s", "covered_s"].map(|key| phase[key].as_f64().unwrap());
        all.insert(format!("phase/{name}/when"), words(span(start_s, start_s + covered_s)));
        all.insert(format!("phase/{name}/planned end"), number(&phase["end_s"]));
        let requests = &phase["requests"];
        for count in ["begun", "completed", "cancelled"] {
            all.insert(format!("phase/{name}/{count}"), number(&requests[count]));
        }
        if let [Some(begun), Some(earlier), Some(after)] =
            ["begun", "begun_by_earlier", "begun_after"].map(|key| requests[key].as_f64())
        {
            all.insert(format!("phase/{name}/in the table"), Expected::Number(begun + after - earlier));
            all.insert(format!("phase/{name}/begun by earlier"), Expected::Number(earlier));
            all.insert(format!("phase/{name}/begun after"), Expected::Number(after));
        }
        let in_flight = ["in_flight_at_begin", "in_flight_at_end"].map(|key| requests[key].as_i64());
        if let [Some(begin), Some(end)] = in_flight {
            all.insert(format!("phase/{name}/growth"), Expected::Number(begin.abs_diff(end) as f64));
        }
    }
}

fn headline(all: &mut Numbers, report: &Value) {
    let headline = &report["headline"];
    if headline.is_null() {
        return;
    }
    let mut add = |name: &str, expected| all.insert(format!("headline/{name}"), expected);
    add("phase", words(text(&headline["phase"])));
    add("throughput", number(&headline["throughput_per_s"]));
    times(&headline["response_time"], &mut add);
    // Of all its endpoints together, or of the only one.
    let its = |rows: &Value| array(rows).iter().find(|row| row["phase"] == headline["phase"]).cloned();
    let all_of_phase = its(&report["totals"]).or_else(|| its(&report["endpoints"])).unwrap_or_default();
    let failed = failures(&all_of_phase);
    add("failed", Expected::of(failed.map(|n| n as f64)));
    add("failed share", share(&failed.map_or(Value::Null, Value::from), &all_of_phase["completed"]));
}

fn failures(outcomes: &Value) -> Option<u64> {
    let by_outcome = outcomes["by_outcome"].as_object()?;
    outcomes["completed"].as_u64()?;
    let failed = by_outcome.iter().filter(|(outcome, _)| !matches!(outcome.as_str(), "ok" | "cancelled"));
    Some(failed.map(|(_, n)| n.as_u64().unwrap()).sum())
}

fn accounting(all: &mut Numbers, report: &Value) {
    let accounting = &report["accounting"];
    let mut add = |name: &str, expected| all.insert(format!("all/{name}"), expected);
    arrivals(&accounting["arrivals"], &mut add);
    for (name, key) in [("ended", "completed"), ("failed", "failed"), ("cancelled", "cancelled")] {
        add(name, number(&accounting[key]));
    }
    add("in flight", number(&accounting["requests_in_flight"]));
    add("failed share", share(&accounting["failed"], &accounting["completed"]));
    add("ok share", share(&accounting["ok"], &accounting["completed"]));
    for (outcome, n) in accounting["by_outcome"].as_object().into_iter().flatten() {
        add(&format!("outcome {outcome}"), number(n));
        add(&format!("outcome {outcome} share"), share(n, &accounting["completed"]));
    }
    kinds(report, &accounting["by_outcome"], &accounting["completed"], &mut add);
    for of in array(&report["failures"]) {
        let kind = kind(text(&of["outcome"]), of["status"].as_str());
        let endpoints = array(&of["endpoints"]);
        for its in endpoints {
            add(&format!("kind {kind}/of {}", label(report, its)), number(&its["count"]));
        }
        // A terminal lists five.
        if let Some(more @ [_, ..]) = endpoints.get(5..) {
            let count = more.iter().map(|its| its["count"].as_f64().unwrap()).sum();
            add(&format!("kind {kind}/of {} more", more.len()), Expected::Number(count));
        }
        for why in array(&of["reasons"]) {
            let reason = why["reason"].as_str().unwrap_or("other reasons");
            add(&format!("kind {kind}/reason {reason}"), number(&why["count"]));
        }
    }
    add("outcomes", words(if accounting["by_outcome"].is_null() { "not recorded" } else { "recorded" }));
}

/// What requests of one outcome and status are called.
pub(crate) fn kind(outcome: &str, status: Option<&str>) -> String {
    match status {
        None => outcome.to_owned(),
        Some(status) if outcome.starts_with("http_") || outcome.starts_with("grpc:") => {
            format!("status {status}")
        }
        Some(status) => format!("{outcome}, status {status}"),
    }
}

/// What requests of one status are called together.
pub(crate) fn status_text<'a>(outcome: &str, status: Option<&'a str>) -> &'a str {
    let is_answer = ["ok", "check", "http_", "grpc:"].iter().any(|start| outcome.starts_with(start));
    status.unwrap_or(if is_answer { "other" } else { "no response" })
}

/// The requests of a row, or of the run, by outcome and status; by outcome where statuses were not counted.
fn kinds(
    of: &Value,
    by_outcome: &Value,
    completed: &Value,
    add: &mut impl FnMut(&str, Expected) -> Option<Expected>,
) {
    let statuses = array(&of["statuses"]);
    let mut sums = BTreeMap::<&str, f64>::new();
    for of in statuses {
        let (outcome, status) = (text(&of["outcome"]), of["status"].as_str());
        let kind = kind(outcome, status);
        add(&format!("kind {kind}"), number(&of["count"]));
        add(&format!("kind {kind} share"), share(&of["count"], completed));
        *sums.entry(status_text(outcome, status)).or_default() += of["count"].as_f64().unwrap();
    }
    for (status, n) in sums {
        add(&format!("status {status}"), Expected::Number(n));
    }
    if statuses.is_empty() {
        for (outcome, n) in by_outcome.as_object().into_iter().flatten() {
            add(&format!("kind {outcome}"), number(n));
            add(&format!("kind {outcome} share"), share(n, completed));
        }
    }
}

fn arrivals(arrivals: &Value, add: &mut impl FnMut(&str, Expected) -> Option<Expected>) {
    let count = |name: &str| arrivals[name].as_f64();
    let dropped = count("dropped_cap").zip(count("dropped_late")).map(|(cap, late)| cap + late);
    add("due", Expected::of(count("scheduled")));
    add("started", Expected::of(count("started")));
    add("dropped", Expected::of(dropped));
    add("dropped: VU limit", Expected::of(count("dropped_cap")));
    add("dropped: generator late", Expected::of(count("dropped_late")));
}

/// The label of a row: with its scenario where several scenarios have an endpoint of its name.
fn label(report: &Value, row: &Value) -> String {
    label_of(report, text(&row["scenario"]), text(&row["endpoint"]))
}

/// Whether the whole iterations of a scenario have no row, because they are one request each: its endpoint.
pub(super) fn only_step<'r>(report: &'r Value, scenario: &str) -> Option<&'r str> {
    let its = || array(&report["endpoints"]).iter().filter(|row| row["scenario"] == scenario);
    let mut names: Vec<&str> = its().map(|row| text(&row["endpoint"])).collect();
    names.dedup();
    let [name] = names[..] else { return None };
    let scenarios = array(&report["scenarios"]).iter().filter(|of| of["name"] == scenario);
    let has_iterations = scenarios.clone().any(|of| !of["iterations_done"].is_null());
    (has_iterations && !name.is_empty()).then_some(name)
}

pub(super) fn label_of(report: &Value, scenario: &str, endpoint: &str) -> String {
    if let Some(step) = only_step(report, scenario).filter(|_| endpoint.is_empty()) {
        return label_of(report, scenario, step);
    }
    let name = if endpoint.is_empty() { "(whole iteration)" } else { endpoint };
    // Whole iterations are named after their scenario as soon as there are two.
    let has_its_name = |other: &Value| endpoint.is_empty() || other["endpoint"] == endpoint;
    let is_other = |other: &&Value| has_its_name(other) && other["scenario"] != scenario;
    match ["endpoints", "checks"].iter().flat_map(|list| array(&report[list])).any(|other| is_other(&other)) {
        true => format!("{scenario} / {name}"),
        false => name.to_owned(),
    }
}

/// The row of all requests of a phase, where several endpoints have one.
pub(crate) const ALL_REQUESTS: &str = "(all requests)";

fn endpoint(all: &mut Numbers, label: &str, row: &Value) {
    let phase = text(&row["phase"]);
    let mut add = |name: &str, expected| all.insert(format!("row/{phase}/{label}/{name}"), expected);
    arrivals(&row["arrivals"], &mut add);
    let failed = failures(row).map(|n| n as f64);
    add("requests", number(&row["requests"]));
    add("throughput", number(&row["throughput_per_s"]));
    add("received", number(&row["bytes_in"]));
    add("sent", number(&row["bytes_out"]));
    add("failed", Expected::of(failed));
    add("failed share", share(&failed.into(), &row["completed"]));
    let is_of_requests = !row["completed"].is_null();
    let shown = if is_of_requests { "response_time" } else { "iteration_time" };
    times(&row[shown], &mut |name, expected| add(name, expected));
    times(&row["service_time"], &mut |name, expected| add(&format!("svc {name}"), expected));
    for part in array(&row["request_phases"]) {
        let name = text(&part["name"]);
        add(&format!("{name} mean"), number(&part["avg_ms"]));
        add(&format!("{name} share"), number(&part["share"]));
    }
    kinds(row, &row["by_outcome"], &row["completed"], &mut add);
    for (outcome, n) in row["by_outcome"].as_object().into_iter().flatten() {
        add(&format!("outcome {outcome}"), number(n));
        add(&format!("outcome {outcome} share"), share(n, &row["completed"]));
    }
}

/// A set of times; quantiles with fewer than 20 samples above them are rough.
fn times(times: &Value, add: &mut impl FnMut(&str, Expected) -> Option<Expected>) {
    let count = times["count"].as_f64().unwrap();
    for (name, tail) in
        [("avg", None), ("p50", None), ("p90", Some(0.1)), ("p95", Some(0.05)), ("p99", Some(0.01))]
    {
        let is_rough = tail.is_some_and(|tail| count * tail < 20.0 - 1e-9);
        add(
            name,
            match times[format!("{name}_ms")].as_f64() {
                None => Expected::Missing,
                Some(ms) if is_rough => Expected::Rough(ms),
                Some(ms) => Expected::Number(ms),
            },
        );
    }
    add("max", number(&times["max_ms"]));
}

fn scenario_total(all: &mut Numbers, scenario: &Value) {
    let name = text(&scenario["name"]);
    let mut add = |key: &str, expected| all.insert(format!("scenario/{name}/{key}"), expected);
    arrivals(&scenario["arrivals"], &mut add);
    let failed = failures(scenario).map(|n| n as f64);
    add("iterations done", number(&scenario["iterations_done"]));
    add("iterations cancelled", number(&scenario["iterations_cancelled"]));
    add("ended", number(&scenario["completed"]));
    add("failed", Expected::of(failed));
    add("failed share", share(&failed.into(), &scenario["completed"]));
    let users = &scenario["virtual_users"];
    for key in ["needed", "used_at_most", "cap"] {
        add(key, number(&users[key]));
    }
}

fn checks(all: &mut Numbers, report: &Value) {
    for check in array(&report["checks"]) {
        let label = label(report, check);
        let passed = check["passed"].as_f64().unwrap();
        let made = passed + check["failed"].as_f64().unwrap();
        let mut add =
            |name: &str, value| all.insert(format!("check/{label}/{}/{name}", text(&check["name"])), value);
        add("passed", number(&check["passed"]));
        add("failed", number(&check["failed"]));
        add("share", share(&passed.into(), &made.into()));
    }
}

/// `seconds 0 to 3`.
fn ranges(seconds: &Value, run_s: &Value) -> String {
    if *seconds == serde_json::json!([[0, run_s]]) {
        return "whole run".to_owned();
    }
    let range = |range: &Value| format!("{} to {}", range[0], range[1]);
    format!("seconds {}", array(seconds).iter().map(range).collect::<Vec<_>>().join(", "))
}

fn generator(all: &mut Numbers, report: &Value) {
    for cpu in array(&report["cpu"]) {
        let target = text(&cpu["target"]);
        let mut add = |name: &str, expected| all.insert(format!("cpu/{target}/{name}"), expected);
        add("CPU-seconds", number(&cpu["cpu_seconds"]));
        add("mean cores", number(&cpu["mean_cores"]));
        add("per 1,000 requests", number(&cpu["per_1000_requests_s"]));
        let has_cost = !cpu["per_1000_requests_s"].is_null();
        add(
            "of",
            if has_cost {
                words(ranges(&cpu["seconds"], &report["run"]["seconds"]))
            } else {
                Expected::Missing
            },
        );
        add("note", words(text(&cpu["note"])));
    }
    let generator = &report["generator"];
    let mut add = |name: &str, expected| all.insert(format!("generator/{name}"), expected);
    for (key, name) in [("start_lag", "start lag"), ("loop_stall", "loop stall")] {
        times(&generator[key], &mut |of, expected| add(&format!("{name} {of}"), expected));
    }
    add("bytes received", number(&generator["bytes_in"]));
    add("bytes sent", number(&generator["bytes_out"]));
    add("requests during stalls", number(&generator["perturbed_requests"]));
    add("ticks merged", number(&generator["folded_ticks"]));
    add("endpoints counted as one", number(&generator["folded_endpoints"]));
}

/// What a number in this unit is in the base unit of its dimension.
fn base(value: &Value, unit: &str) -> Expected {
    let scale = match unit {
        "us" | "µs" | "microseconds" => 1e-3,
        "s" | "seconds" => 1e3,
        "nanoseconds" => 1e-6,
        "%" => 0.01,
        _ => 1.0,
    };
    Expected::of(value.as_f64().map(|value| value * scale))
}

fn observed(all: &mut Numbers, series: &Value) {
    let name = match (text(&series["name"]), text(&series["part"])) {
        (name, "") => name.to_owned(),
        (name, part) => format!("{name} ({part})"),
    };
    let unit = text(&series["unit"]);
    let target = text(&series["target"]);
    for key in ["mean", "min", "max", "last"] {
        all.insert(format!("series/{target}/{name}/{key}"), base(&series[key], unit));
    }
    all.insert(format!("series/{target}/{name}/samples"), number(&series["samples"]));
}

fn judged(all: &mut Numbers, claim: &Value) {
    let mut add = |key: &str, expected| all.insert(format!("claim/{}/{key}", text(&claim["name"])), expected);
    let figure = |figure: &Value| base(&figure["value"], text(&figure["unit"]));
    let unit = text(&claim["observed"]["unit"]);
    add("observed", figure(&claim["observed"]));
    add("limit", figure(&claim["bound"]));
    let share = &claim["share"];
    match claim["interval"].is_null() && unit == "1" && !share.is_null() {
        // Of a share the limits are those that decide it, of what is on the wrong side of the bound.
        true if text(&claim["text"]).contains('>') => {
            add("low", Expected::Number(1.0 - share["upper"].as_f64().unwrap()));
            add("high", Expected::Number(1.0 - share["lower"].as_f64().unwrap()));
        }
        true => {
            add("low", base(&share["lower"], unit));
            add("high", base(&share["upper"], unit));
        }
        false => {
            add("low", base(&claim["interval"][0], unit));
            add("high", base(&claim["interval"][1], unit));
        }
    }
    add("n", number(&claim["samples"]));
}
