//! The numbers of a report, computed anew by plain SQL over the run file.

mod observed;
mod times;

use std::collections::BTreeMap;

use rusqlite::types::FromSql;
use rusqlite::{Connection, Params, Row};
use serde_json::Value;

use super::report::{ALL_REQUESTS, kind, label_of, only_step, status_text};
use super::shown::{Expected, Numbers};

const ARRIVALS: [&str; 4] = ["scheduled", "started", "dropped_cap", "dropped_late"];

/// Every row that a query finds.
fn rows<T>(
    file: &Connection,
    query: &str,
    parameters: impl Params,
    row: impl FnMut(&Row<'_>) -> T,
) -> Vec<T> {
    let mut row = row;
    let mut statement = file.prepare(query).unwrap_or_else(|error| panic!("{query}: {error}"));
    let found = statement.query_map(parameters, |of| Ok(row(of))).unwrap();
    found.map(|row| row.unwrap_or_else(|error| panic!("{query}: {error}"))).collect()
}

/// The one value that a query finds.
fn one<T: FromSql>(file: &Connection, query: &str) -> Option<T> {
    file.query_row(query, [], |row| row.get(0)).unwrap_or_else(|error| panic!("{query}: {error}"))
}

/// Whether an outcome is a failure of the target.
fn is_failure(outcome: &str) -> bool {
    !matches!(outcome, "ok" | "cancelled" | "unknown")
}

/// What an endpoint did in a phase.
#[derive(Debug, Default)]
struct Counted {
    by_metric: BTreeMap<String, f64>,
    by_outcome: BTreeMap<String, f64>,
    /// By outcome and status.
    by_status: BTreeMap<(String, Option<String>), f64>,
}

impl Counted {
    fn add(&mut self, other: &Counted) {
        for (name, n) in &other.by_metric {
            *self.by_metric.entry(name.clone()).or_default() += n;
        }
        for (name, n) in &other.by_outcome {
            *self.by_outcome.entry(name.clone()).or_default() += n;
        }
        for (of, n) in &other.by_status {
            *self.by_status.entry(of.clone()).or_default() += n;
        }
    }

    fn metric(&self, name: &str) -> Option<f64> {
        self.by_metric.get(name).copied()
    }

    fn has_arrivals(&self) -> bool {
        ARRIVALS.iter().any(|name| self.by_metric.contains_key(*name))
    }

    fn of_outcomes(&self, is_counted: impl Fn(&str) -> bool) -> f64 {
        self.by_outcome.iter().filter(|(outcome, _)| is_counted(outcome)).fold(0.0, |sum, (_, n)| sum + n)
    }
}

/// What is computed of one run file.
struct Reading<'a> {
    file: &'a Connection,
    report: &'a Value,
    /// By phase, scenario and endpoint.
    counted: BTreeMap<(String, String, String), Counted>,
    /// Whether the file records how requests ended.
    has_outcomes: bool,
    is_imported: bool,
}

/// The numbers of the run file, by what they are about.
pub(super) fn numbers(file: &Connection, report: &Value) -> Numbers {
    let mut counted = BTreeMap::<_, Counted>::new();
    let key = |row: &Row<'_>| (row.get_unwrap(0), row.get_unwrap(1), row.get_unwrap(2));
    let sums = "SELECT phase, scenario, endpoint, metric, sum(value) FROM counts JOIN keys USING (key)
         WHERE metric <> 'in_flight_at_end' GROUP BY phase, scenario, endpoint, metric";
    for (key, metric, n) in rows(file, sums, [], |row| (key(row), row.get_unwrap(3), row.get_unwrap(4))) {
        counted.entry(key).or_default().by_metric.insert(metric, n);
    }
    let ended = "SELECT phase, scenario, endpoint, coalesce(outcome, 'unknown'), sum(count) FROM histograms JOIN keys USING (key)
         WHERE metric = 'response_time' GROUP BY phase, scenario, endpoint, outcome";
    for (key, outcome, n) in rows(file, ended, [], |row| (key(row), row.get_unwrap(3), row.get_unwrap(4))) {
        counted.entry(key).or_default().by_outcome.insert(outcome, n);
    }
    let results = "SELECT phase, scenario, endpoint, outcome, tags ->> 'status', sum(value) FROM counts JOIN keys USING (key)
         WHERE metric = 'results' GROUP BY 1, 2, 3, 4, 5";
    for (key, of, n) in
        rows(file, results, [], |row| (key(row), (row.get_unwrap(3), row.get_unwrap(4)), row.get_unwrap(5)))
    {
        counted.entry(key).or_default().by_status.insert(of, n);
    }
    fold_single_steps(&mut counted, report);
    let missing = "SELECT count(*) FROM manifest, json_each(manifest.value, '$.missing') AS missing
         WHERE manifest.name = 'source' AND missing.value = 'outcomes'";
    let reading = Reading {
        file,
        report,
        counted,
        has_outcomes: one::<u32>(file, missing) == Some(0),
        is_imported: one::<u32>(file, "SELECT count(*) FROM manifest WHERE name = 'source'") == Some(1),
    };
    reading.numbers()
}

/// Whole iterations that are one request each are counted in the row of that.
fn fold_single_steps(counted: &mut BTreeMap<(String, String, String), Counted>, report: &Value) {
    let wholes: Vec<_> =
        counted.keys().filter(|key| key.2.is_empty() && !key.1.is_empty()).cloned().collect();
    for whole in wholes {
        if let Some(step) = only_step(report, &whole.1) {
            let (phase, scenario, _) = whole.clone();
            let mut its = counted.remove(&whole).unwrap();
            // k6 counts bytes of scenarios, not of requests.
            its.by_metric.retain(|name, n| !name.starts_with("bytes_") || *n > 0.0);
            counted.entry((phase, scenario, step.to_owned())).or_default().add(&its);
        }
    }
}

impl Reading<'_> {
    fn numbers(&self) -> Numbers {
        let mut all = Numbers::new();
        let mut whole = Counted::default();
        let mut scenarios = BTreeMap::<&str, Counted>::new();
        let mut phases = BTreeMap::<&str, (Counted, f64)>::new();
        for ((phase, scenario, endpoint), counted) in &self.counted {
            let label = label_of(self.report, scenario, endpoint);
            let of_requests = |counted: &Counted| !endpoint.is_empty() && counted.has_arrivals();
            let mut add = |name: &str, n| all.insert(format!("row/{phase}/{label}/{name}"), Expected::of(n));
            self.counts(counted, of_requests(counted), &mut add);
            add("throughput", self.done_per_s([phase, scenario, endpoint], counted));
            self.request_phases(counted, &mut add);
            let (together, ended) = phases.entry(phase).or_default();
            together.add(counted);
            *ended += self.requests_ended_in_window([phase, scenario, endpoint]);
            self.curve(&mut all, [phase, &label], counted);
            whole.add(counted);
            if !scenario.is_empty() {
                scenarios.entry(scenario).or_default().add(counted);
            }
        }
        for (phase, (counted, ended)) in &phases {
            let mut add =
                |name: &str, n| all.insert(format!("row/{phase}/{ALL_REQUESTS}/{name}"), Expected::of(n));
            self.counts(counted, counted.has_arrivals(), &mut add);
            add("throughput", self.length_s(phase).map(|length_s| ended / length_s));
            self.request_phases(counted, &mut add);
        }
        self.counts(&whole, whole.has_arrivals(), &mut |name, n| {
            all.insert(format!("all/{name}"), Expected::of(n))
        });
        for (name, counted) in &scenarios {
            let mut add = |key: &str, n| all.insert(format!("scenario/{name}/{key}"), Expected::of(n));
            self.counts(counted, counted.has_arrivals(), &mut add);
            add("iterations done", counted.metric("iterations_done"));
            add("iterations cancelled", counted.metric("iterations_cancelled"));
        }
        self.reasons(&mut all);
        self.failures_of_endpoints(&mut all);
        self.whole_run(&mut all, &whole);
        self.checks(&mut all);
        times::add(&mut all, self);
        observed::add(&mut all, self);
        self.exchanges(&mut all);
        all
    }

    /// Why requests failed.
    fn reasons(&self, all: &mut Numbers) {
        let query =
            "SELECT outcome, tags ->> 'status', coalesce(tags ->> 'reason', 'other reasons'), sum(value)
             FROM counts JOIN keys USING (key)
             WHERE metric = 'results' AND outcome NOT IN ('ok', 'cancelled') GROUP BY 1, 2, 3";
        let found = rows(self.file, query, [], |row| {
            let of: (String, Option<String>, String) =
                (row.get_unwrap(0), row.get_unwrap(1), row.get_unwrap(2));
            (of, row.get_unwrap::<_, f64>(3))
        });
        for ((outcome, status, reason), n) in found {
            let kind = kind(&outcome, status.as_deref());
            all.insert(format!("all/kind {kind}/reason {reason}"), Expected::Number(n));
        }
    }

    /// How many of the failures of each kind are of each endpoint.
    fn failures_of_endpoints(&self, all: &mut Numbers) {
        for ((_, scenario, endpoint), counted) in &self.counted {
            let label = label_of(self.report, scenario, endpoint);
            let by_status =
                counted.by_status.iter().map(|((outcome, status), n)| (outcome, status.as_deref(), n));
            let by_outcome = counted.by_outcome.iter().map(|(outcome, n)| (outcome, None, n));
            let is_by_outcome = counted.by_status.is_empty();
            let failures = by_status.chain(by_outcome.filter(|_| is_by_outcome));
            for (outcome, status, n) in failures.filter(|(outcome, ..)| is_failure(outcome)) {
                let what = format!("all/kind {}/of {label}", kind(outcome, status));
                let Expected::Number(sum) = all.entry(what).or_insert(Expected::Number(0.0)) else {
                    unreachable!()
                };
                *sum += n;
            }
        }
    }

    /// Arrivals, requests and outcomes. Whatever counts arrivals of requests counts the requests: `is_counted`.
    fn counts(
        &self,
        counted: &Counted,
        is_counted: bool,
        add: &mut impl FnMut(&str, Option<f64>) -> Option<Expected>,
    ) {
        let arrivals = |name: &str| counted.has_arrivals().then(|| counted.metric(name).unwrap_or(0.0));
        let [due, started, cap, late] = ARRIVALS.map(arrivals);
        add("due", due);
        add("started", started);
        add("dropped: VU limit", cap);
        add("dropped: generator late", late);
        add("dropped", cap.zip(late).map(|(cap, late)| cap + late));
        let requests = counted.metric("requests").or(is_counted.then_some(0.0));
        add("requests", requests);
        let is_any = requests.is_some() || !counted.by_outcome.is_empty();
        let ended = counted.of_outcomes(|outcome| outcome != "cancelled");
        add("ended", is_any.then_some(ended));
        let known = |n: f64| (is_any && self.has_outcomes).then_some(n);
        let share = |n: f64| (known(n).is_some() && ended > 0.0).then(|| n / ended);
        let failed = counted.of_outcomes(is_failure);
        let ok = counted.of_outcomes(|outcome| outcome == "ok");
        add("failed", known(failed));
        add("received", counted.metric("bytes_in"));
        add("sent", counted.metric("bytes_out"));
        add("failed share", share(failed));
        add("ok share", share(ok));
        add("cancelled", known(counted.of_outcomes(|outcome| outcome == "cancelled")));
        for (outcome, n) in counted.by_outcome.iter().filter(|_| self.has_outcomes) {
            add(&format!("outcome {outcome}"), Some(*n));
            add(&format!("outcome {outcome} share"), share(*n));
            if counted.by_status.is_empty() {
                add(&format!("kind {outcome}"), Some(*n));
                add(&format!("kind {outcome} share"), share(*n));
            }
        }
        let mut sums = BTreeMap::<&str, f64>::new();
        for ((outcome, status), n) in &counted.by_status {
            let kind = kind(outcome, status.as_deref());
            add(&format!("kind {kind}"), Some(*n));
            add(&format!("kind {kind} share"), share(*n));
            *sums.entry(status_text(outcome, status.as_deref())).or_default() += n;
        }
        for (status, n) in sums {
            add(&format!("status {status}"), Some(n));
        }
    }

    /// How long a phase was offered: as planned, unless the run was stopped before, or was over when its iterations were
    /// done; then to the end of the last tick, without the wait after the last second in which anything was due.
    fn length_s(&self, phase: &str) -> Option<f64> {
        let at =
            |end: &str| format!("(phase.value ->> '$.{end}.secs') + (phase.value ->> '$.{end}.nanos') / 1e9");
        let query = format!(
            "SELECT {}, {} FROM manifest, json_each(manifest.value, '$.phases') AS phase
             WHERE manifest.name = 'workload' AND phase.value ->> '$.name' = ?1",
            at("start"),
            at("end"),
        );
        let planned: Vec<(f64, f64)> =
            rows(self.file, &query, [phase], |row| (row.get_unwrap(0), row.get_unwrap(1)));
        let (start, end) = *planned.first()?;
        let elapsed =
            "SELECT max(covered) / 1e9 FROM (SELECT sum(covered_ns) AS covered FROM ticks GROUP BY instance)";
        let has_iterations =
            "SELECT count(*) FROM manifest, json_each(manifest.value, '$.scenarios') AS scenario
             WHERE manifest.name = 'workload' AND scenario.value ->> '$.executor.iterations' IS NOT NULL";
        let is_complete =
            one::<u32>(self.file, "SELECT count(*) FROM run_end WHERE how = 'completed'") == Some(1);
        let is_whole = self.is_imported || is_complete && one::<u32>(self.file, has_iterations) == Some(0);
        let elapsed: f64 = one(self.file, elapsed).unwrap_or(0.0);
        let last_due = "SELECT max(second) FROM counts JOIN keys USING (key) WHERE metric = 'scheduled'";
        let stopped = "SELECT min(at_ns) / 1e9 FROM notices WHERE kind = 'stopped'";
        let stopped: Option<f64> = one(self.file, stopped).filter(|_| !is_complete);
        let over = match (one::<f64>(self.file, last_due), stopped) {
            (last_due, Some(at)) => at.max(last_due.unwrap_or(0.0)).min(elapsed),
            (Some(second), None) if elapsed > second + 1.0 && is_complete => second + 1.0,
            (Some(second), None) if elapsed > second + 1.0 => second,
            _ => elapsed,
        };
        let end = if is_whole { end } else { end.min(over) };
        Some(end - start).filter(|length| *length > 0.0)
    }

    fn done_per_s(&self, of: [&str; 3], counted: &Counted) -> Option<f64> {
        let [phase, _, endpoint] = of;
        let is_any = counted.metric("requests").is_some() || !counted.by_outcome.is_empty();
        let done = match (is_any, endpoint) {
            (false, "") if counted.metric("iterations_done").is_some() => {
                self.ended_in_window(of, ["counts", "value", "iterations_done"])
            }
            (false, _) => counted.has_arrivals().then_some(0.0)?,
            (true, _) => self.requests_ended_in_window(of),
        };
        Some(done / self.length_s(phase)?)
    }

    fn requests_ended_in_window(&self, of: [&str; 3]) -> f64 {
        self.ended_in_window(of, ["histograms", "count", "response_time"])
    }

    /// What ended in the window of a phase: what was due in it, less what ended elsewhere, plus what was due elsewhere and
    /// ended here. Where a load ended early, only up to its end.
    fn ended_in_window(&self, of: [&str; 3], [table, value, metric]: [&str; 3]) -> f64 {
        let [phase, scenario, endpoint] = of;
        let its = |planned: &&Value| planned["name"] == phase;
        let planned = self.report["phases"].as_array().unwrap().iter().find(its);
        let [start_s, end_s] =
            ["start_s", "end_s"].map(|key| planned.map_or(0.0, |p| p[key].as_f64().unwrap()));
        let over_s = start_s + self.length_s(phase).unwrap_or(0.0);
        let before_s = if over_s < end_s - 1e-9 { over_s } else { f64::MAX };
        let query = format!(
            "SELECT coalesce(sum(CASE
                 WHEN metric = '{metric}' AND phase = ?1 THEN {value}
                 WHEN metric = 'moved_{metric}' AND phase = ?1 AND tags ->> 'window' <> ?1 THEN -{value}
                 WHEN metric = 'moved_{metric}' AND tags ->> 'window' = ?1 THEN {value}
                 ELSE 0 END), 0)
             FROM {table} JOIN keys USING (key)
             WHERE scenario = ?2 AND endpoint = ?3 AND outcome IS NOT 'cancelled' AND second < ?4"
        );
        rows(self.file, &query, (phase, scenario, endpoint, before_s), |row| row.get_unwrap::<_, f64>(0))[0]
    }

    /// Means over requests with a complete response.
    fn request_phases(&self, counted: &Counted, add: &mut impl FnMut(&str, Option<f64>) -> Option<Expected>) {
        const WITHOUT: [&str; 6] = ["timeout", "refused", "reset", "tls", "protocol", "cancelled"];
        const PHASES: [&str; 6] =
            ["blocked", "connecting", "tls_handshaking", "sending", "waiting", "receiving"];
        let answers = counted.of_outcomes(|outcome| !WITHOUT.contains(&outcome));
        let of = |name: &str| counted.metric(&format!("{name}_ns")).unwrap_or(0.0);
        let all: f64 = PHASES.iter().map(|name| of(name)).sum();
        for name in PHASES.iter().filter(|_| all > 0.0 && answers > 0.0) {
            add(&format!("{name} mean"), Some(of(name) / answers / 1e6));
            add(&format!("{name} share"), Some(of(name) / all));
        }
    }

    /// The notes of the plots: of an endpoint over the whole run, and of what was infinitely slow in a phase.
    fn curve(&self, all: &mut Numbers, [phase, label]: [&str; 2], counted: &Counted) {
        let ok = counted.of_outcomes(|outcome| matches!(outcome, "ok" | "unknown"));
        let failed = counted.of_outcomes(is_failure);
        if ok + failed == 0.0 {
            return;
        }
        let dropped = |name: &str| counted.metric(name).unwrap_or(0.0);
        let infinite = failed + dropped("dropped_cap") + dropped("dropped_late");
        all.insert(format!("infinite/{phase}/{label}"), Expected::Number(infinite / (ok + infinite)));
        let mut add = |name: &str, n: f64| {
            let sum = all.entry(format!("curve/{label}/{name}")).or_insert(Expected::Number(0.0));
            let Expected::Number(sum) = sum else { unreachable!() };
            *sum += n;
            *sum
        };
        let failed = add("failed", failed);
        let ended = failed + add("ok", ok);
        all.insert(format!("curve/{label}/ended"), Expected::Number(ended));
        all.insert(format!("curve/{label}/failed share"), Expected::Number(failed / ended));
    }

    fn whole_run(&self, all: &mut Numbers, whole: &Counted) {
        let seconds: Option<f64> = one(self.file, "SELECT 1 + max(second) FROM ticks");
        all.insert("run/seconds".to_owned(), Expected::Number(seconds.unwrap_or(0.0)));
        if let Some(at) = one(self.file, "SELECT min(at_ns) / 1e9 FROM notices WHERE kind = 'stopped'") {
            all.insert("run/stopped at".to_owned(), Expected::Number(at));
        }
        let digest: Option<String> = one(self.file, "SELECT max(sha256) FROM seal");
        let digest = digest.unwrap_or_else(|| "none: the file has no seal".to_owned());
        all.insert("run/evidence SHA-256".to_owned(), Expected::Text(digest));
        let text = |name: &str| -> String {
            let query = format!("SELECT value ->> '$' FROM manifest WHERE name = '{name}'");
            self.file.query_row(&query, [], |row| row.get(0)).unwrap()
        };
        all.insert("run/started".to_owned(), Expected::Text(text("started_at")));
        all.insert("run/workload SHA-256".to_owned(), Expected::Text(text("workload_digest")));
        let outcomes = if self.has_outcomes { "recorded" } else { "not recorded" };
        all.insert("all/outcomes".to_owned(), Expected::Text(outcomes.to_owned()));
        let at_end = |column: &str| one::<f64>(self.file, &format!("SELECT max({column}) FROM run_end"));
        // What was in flight at the end of another tool's run is not in its results.
        let in_flight = at_end("requests_in_flight").filter(|_| !self.is_imported);
        all.insert("all/in flight".to_owned(), Expected::of(in_flight));
        let mut add = |name: &str, n| all.insert(format!("generator/{name}"), Expected::of(n));
        add("ticks merged", at_end("folded_ticks"));
        add("endpoints counted as one", at_end("folded_endpoints"));
        add("bytes received", whole.metric("bytes_in"));
        add("bytes sent", whole.metric("bytes_out"));
        let perturbed = "SELECT coalesce(sum(count), 0) FROM histograms JOIN keys USING (key)
             WHERE metric = 'perturbed_response_time' AND outcome <> 'cancelled'";
        let version: Option<f64> =
            one(self.file, "SELECT CAST(value AS REAL) FROM manifest WHERE name = 'schema_version'");
        let are_counted = !self.is_imported && version >= Some(3.0);
        add("requests during stalls", one::<f64>(self.file, perturbed).filter(|_| are_counted));
    }

    fn checks(&self, all: &mut Numbers) {
        let query = "SELECT scenario, endpoint, tags ->> '$.check', sum(value) FILTER (WHERE metric = 'check_passed'),
                 sum(value) FILTER (WHERE metric = 'check_failed')
             FROM counts JOIN keys USING (key) WHERE metric IN ('check_passed', 'check_failed') GROUP BY 1, 2, 3";
        let found = rows(self.file, query, [], |row| {
            let of: [String; 3] = [0, 1, 2].map(|column| row.get_unwrap(column));
            let [passed, failed]: [Option<f64>; 2] = [3, 4].map(|column| row.get_unwrap(column));
            (of, passed.unwrap_or(0.0), failed.unwrap_or(0.0))
        });
        for ([scenario, endpoint, check], passed, failed) in found {
            let what = format!("check/{}/{check}", label_of(self.report, &scenario, &endpoint));
            all.insert(format!("{what}/passed"), Expected::Number(passed));
            all.insert(format!("{what}/failed"), Expected::Number(failed));
            all.insert(format!("{what}/share"), Expected::Number(passed / (passed + failed)));
        }
    }

    /// Recorded exchanges in the order of the page: failures by endpoint, outcome and time, the slowest first.
    fn exchanges(&self, all: &mut Numbers) {
        for (kind, order) in [("failed", "endpoint, outcome, due_ns"), ("slowest", "response_time_ns DESC")] {
            let query = format!(
                "SELECT outcome, endpoint, phase, due_ns / 1e6, response_time_ns / 1e6,
                     iif(service_time_ns > 0, service_time_ns / 1e6, NULL), scenario
                 FROM exemplars WHERE kind = ?1 ORDER BY {order}"
            );
            let found = rows(self.file, &query, [kind], |row| {
                let mut texts: [String; 3] = [0, 1, 2].map(|column| row.get_unwrap(column));
                texts[1] = label_of(self.report, &row.get_unwrap::<_, String>(6), &texts[1]);
                let times: [Option<f64>; 3] = [3, 4, 5].map(|column| row.get_unwrap(column));
                (texts, times)
            });
            all.insert(format!("exemplars/{kind}"), Expected::Number(found.len() as f64));
            for (index, (texts, times)) in found.into_iter().enumerate() {
                let what = |name: &str| format!("exchange/{kind}/{index}/{name}");
                for (name, text) in ["outcome", "endpoint", "phase"].iter().zip(texts) {
                    all.insert(what(name), Expected::Text(text));
                }
                for (name, ms) in ["due", "response time", "service time"].iter().zip(times) {
                    all.insert(what(name), Expected::of(ms));
                }
            }
        }
    }
}
