//! Each figure with its arithmetic, and the comparison with what is shown.

use std::collections::BTreeSet;

use ::report::number::span;
use serde_json::Value;

use super::load::{Arrivals, Dropped, PaperPhase, WitnessedRun};
use super::log::{Bounds, LoggedRequest, TargetLog};
use crate::one_number::forms::terminal;
use crate::one_number::report;
use crate::one_number::shown::{Expected, Numbers, difference, disagreement};

/// Half a step of the histograms, as a share: they have three significant digits.
const RESOLUTION: f64 = 1e-3;
/// One step of their clock, in milliseconds.
const CLOCK_MS: f64 = 1e-3;

/// What no target can know: identities, what the generator measures of itself and of machines, what the judge concludes
/// from a sample, and the parts of a request on the generator's side.
const NOT_IN_A_LOG: [&str; 8] =
    ["run/", "environment/", "cpu/", "generator/", "series/", "finding/", "claim/", "exemplars/"];
const PARTS_OF_A_REQUEST: [&str; 7] =
    ["blocked ", "resolving ", "connecting ", "tls_handshaking ", "sending ", "waiting ", "receiving "];
/// What a log of requests does not have; the engine's tests compare them with what a socket got.
const BYTES: [&str; 2] = ["received", "sent"];

/// A number that is shown is what the log and the schedule on paper say, or is of a kind that no log has.
#[track_caller]
pub(super) fn assert_witnessed(name: &str, run: &WitnessedRun) {
    let found = disagreements(run);
    assert!(found.is_empty(), "{name}: {} disagreements with the log:\n{}", found.len(), found.join("\n"));
}

pub(super) fn disagreements(run: &WitnessedRun) -> Vec<String> {
    let table = table(run);
    let mut found = Vec::new();
    let reported = report::numbers(&run.report);
    for (what, reported) in &reported {
        let wrong = match (table.get(what), reported) {
            (Some(witnessed), Expected::Text(text)) => disagreement(text, witnessed),
            (Some(witnessed), reported) => difference(reported, witnessed),
            (None, Expected::Missing) => None,
            (None, _) => is_unknown(what).then(|| format!("{reported:?} has no row in the table")),
        };
        found.extend(wrong.map(|why| format!("JSON: {what}: {why}")));
    }
    let scenarios: Vec<&str> =
        report::array(&run.report["scenarios"]).iter().map(|of| report::text(&of["name"])).collect();
    for (what, text) in terminal::form(&run.terminal, &scenarios).shown {
        let wrong = match table.get(&what) {
            Some(witnessed) => disagreement(&text, witnessed),
            None if text == "–" => None,
            None => is_unknown(&what).then(|| format!("`{text}` has no row in the table")),
        };
        found.extend(wrong.map(|why| format!("terminal: {what}: {why}")));
    }
    let missing = table.iter().filter(|(what, witnessed)| {
        !reported.contains_key(*what) && **witnessed != Expected::Missing && !what.starts_with("workers/")
    });
    found.extend(missing.map(|(what, _)| format!("JSON: {what} is missing")));
    found
}

/// The rate of each phase is within 2 % of the responses that the target wrote in it.
#[track_caller]
pub(super) fn assert_throughput_of_log(run: &WitnessedRun) {
    for phase in &run.paper.phases {
        let rows = match run.paper.steps {
            [_] => report::array(&run.report["endpoints"]),
            _ => report::array(&run.report["totals"]),
        };
        let row = rows.iter().find(|row| row["phase"] == phase.name);
        let shown = row.unwrap()["throughput_per_s"].as_f64().unwrap();
        let Bounds { low, high } = Row::of(run, phase).throughput();
        assert!(
            (low * 0.98..=high * 1.02).contains(&shown),
            "{}: {shown}/s, and the target wrote {low}/s to {high}/s",
            phase.name
        );
    }
}

fn is_unknown(what: &str) -> bool {
    let figure = what.rsplit('/').next().unwrap();
    !NOT_IN_A_LOG.iter().any(|start| what.starts_with(start))
        && !PARTS_OF_A_REQUEST.iter().any(|start| figure.starts_with(start))
        && !BYTES.contains(&figure)
}

/// Figures of which the log and the paper give the value.
fn table(run: &WitnessedRun) -> Numbers {
    let mut all = Numbers::new();
    whole(&mut all, run);
    status_check(&mut all, run);
    workers(&mut all, run);
    for phase in &run.paper.phases {
        rows(&mut all, run, phase);
        let when = span(phase.from_ms as f64 / 1e3, phase.to_ms as f64 / 1e3);
        all.insert(format!("phase/{}/when", phase.name), Expected::Text(when));
        identity(&mut all, run, phase);
    }
    for claim in report::array(&run.report["claims"]) {
        claimed(&mut all, run, claim);
    }
    all
}

fn exactly(count: u64) -> Expected {
    Expected::Number(count as f64)
}

fn between(bounds: Bounds) -> Expected {
    Expected::Between(bounds.low, bounds.high)
}

fn share(part: u64, whole: u64) -> Expected {
    Expected::of((whole > 0).then(|| part as f64 / whole as f64))
}

/// The check that every step has by default: its status is 200 to 399.
fn status_check(all: &mut Numbers, run: &WitnessedRun) {
    for step in run.paper.steps {
        let log = run.log.select(|request| run.paper.is_of(step, request));
        let ended = log.count(|request| request.served.status.is_some());
        let passed = log.count(LoggedRequest::is_ok);
        let mut add = |name: &str, expected| {
            all.insert(format!("check/{step}/status/{name}"), expected);
        };
        add("passed", exactly(passed));
        add("failed", exactly(ended - passed));
        add("share", share(passed, ended));
    }
    for status in run.log.requests.iter().filter_map(|request| request.served.status) {
        let n = run.log.count(|request| request.served.status == Some(status));
        if status >= 400 {
            let kind = format!("all/kind status {status}");
            all.insert(format!("{kind}/reason status {status}, expected 200 to 399"), exactly(n));
        }
    }
    // A failure without a status is a connection that was closed instead of a response.
    for failed in run.log.requests.iter().filter(|request| request.has_failed()) {
        let status = failed.served.status;
        let kind = status.map_or("reset".to_owned(), |status| format!("status {status}"));
        for step in run.paper.steps {
            let is_its = |other: &LoggedRequest| {
                run.paper.is_of(step, other) && other.has_failed() && other.served.status == status
            };
            match run.log.count(is_its) {
                0 => continue,
                n => all.insert(format!("all/kind {kind}/of {step}"), exactly(n)),
            };
        }
    }
}

/// begun = completed + cancelled + growth of what is in flight, of requests in a phase's window, whatever they were due in.
fn identity(all: &mut Numbers, run: &WitnessedRun, phase: &PaperPhase) {
    let (from_ns, to_ns) = (phase.from_ms * 1_000_000, phase.to_ms * 1_000_000);
    let begun = run.log.begun_within(from_ns, to_ns);
    let completed = run.log.ended_within(from_ns, to_ns, |_| true);
    let growth = [begun.low - completed.high, begun.high - completed.low];
    let (least, most) = (growth[0].abs().min(growth[1].abs()), growth[0].abs().max(growth[1].abs()));
    let has_sign = growth[0] * growth[1] > 0.0;
    let growth = Bounds { low: if has_sign { least } else { 0.0 }, high: most };
    let mut add = |name: &str, expected| all.insert(format!("phase/{}/{name}", phase.name), expected);
    add("begun", between(begun));
    // Its own requests, and which of them began in it: the others of each began elsewhere.
    let its = run.log_of(phase);
    let (count, own) = (its.requests.len() as f64, its.begun_within(from_ns, to_ns));
    add("in the table", Expected::Number(count));
    add("begun after", Expected::Between(count - own.high, count - own.low));
    add("begun by earlier", Expected::Between((begun.low - own.high).max(0.0), begun.high - own.low));
    add("planned end", Expected::Number(phase.to_ms as f64 / 1e3));
    add("completed", between(completed));
    add("cancelled", exactly(0));
    add("growth", between(growth));
}

/// The line on the workers, each of which has every nth arrival.
fn workers(all: &mut Numbers, run: &WitnessedRun) {
    let Some(workers) = run.report["workers"].as_array() else { return };
    let Arrivals::At(due_ns) = &run.paper.arrivals else { return };
    let number = |request: &LoggedRequest| due_ns.binary_search(&request.due_ns.unwrap()).unwrap();
    let began: Vec<u64> = (0..workers.len())
        .map(|nth| run.log.count(|request| number(request) % workers.len() == nth))
        .collect();
    let (least, most) = (began.iter().min().unwrap(), began.iter().max().unwrap());
    let each = (due_ns.len() / workers.len()) as u64;
    let mut add = |name: &str, expected| all.insert(format!("workers/{name}"), expected);
    add("number", exactly(workers.len() as u64));
    add("began least", between(run.mean_rate(*least)));
    add("began most", between(run.mean_rate(*most)));
    add("dropped late least", exactly(each - most));
    add("dropped late most", exactly(each - least - run.paper.lost));
}

/// The figures of the whole run.
fn whole(all: &mut Numbers, run: &WitnessedRun) {
    let log = &run.log;
    let due: Option<u64> = run.paper.phases.iter().map(|phase| run.paper.due_in(phase)).sum();
    let ended = log.count(|request| request.served.answered_ns.is_some());
    let failed = log.count(LoggedRequest::has_failed);
    let elapsed_ms = log.elapsed_ms();
    let mut add = |name: &str, expected| all.insert(name.to_owned(), expected);
    arrivals(&mut |name, expected| add(&format!("all/{name}"), expected), due, log.len(), run.paper.dropped);
    add("all/ended", exactly(ended));
    add("all/failed", exactly(failed));
    add("all/cancelled", exactly(0));
    add("all/in flight", exactly(log.len() - ended));
    add("all/failed share", share(failed, ended));
    add("all/ok share", share(ended - failed, ended));
    outcomes(&mut |name, expected| add(&format!("all/{name}"), expected), log);
    add("all/outcomes", Expected::Text("recorded".to_owned()));
    add("run/elapsed", between(elapsed_ms));
    let scenario = run.paper.scenario;
    let mut of_scenario = |name: &str, expected| add(&format!("scenario/{scenario}/{name}"), expected);
    arrivals(&mut of_scenario, due, log.len(), run.paper.dropped);
    of_scenario("iterations done", exactly(ended));
    of_scenario("iterations cancelled", Expected::Missing);
    of_scenario("ended", exactly(ended));
    of_scenario("failed", exactly(failed));
    of_scenario("failed share", share(failed, ended));
    if due.is_some() {
        of_scenario("cap", exactly(run.paper.virtual_users));
        of_scenario("used_at_most", between(log.most_in_flight()));
        let mean_s = log.in_flight_s().per(ended as f64);
        of_scenario("needed", between(mean_s.per(1.0 / run.paper.highest_rate)));
    }
    if run.report["workers"].is_null() {
        let elapsed_s = Bounds { low: elapsed_ms.low / 1e3, high: elapsed_ms.high / 1e3 };
        let Bounds { low, high } = log.in_flight_s();
        let in_flight = Bounds { low: low / elapsed_s.high, high: high / elapsed_s.low };
        add("series/generator/in_flight (loop 0)/mean", between(in_flight));
        add(&format!("series/generator/active ({scenario})/mean"), between(in_flight));
    }
    let longest = run.paper.phases.iter().max_by(|a, b| busiest(run, a).total_cmp(&busiest(run, b)));
    if let Some(phase) = longest {
        let row = Row::of(run, phase);
        add("headline/phase", Expected::Text(phase.name.to_owned()));
        add("headline/throughput", between(row.throughput()));
        times(&mut |name, expected| add(&format!("headline/{name}"), expected), row.response_times());
        let its = run.log_of(phase);
        let failed = its.count(LoggedRequest::has_failed);
        add("headline/failed", exactly(failed));
        add(
            "headline/failed share",
            share(failed, its.count(|request| request.served.answered_ns.is_some())),
        );
    }
}

fn busiest(run: &WitnessedRun, phase: &PaperPhase) -> f64 {
    let Bounds { low, high } =
        run.log.ended_within(phase.from_ms * 1_000_000, phase.to_ms * 1_000_000, |_| true);
    low + high
}

fn arrivals(
    add: &mut dyn FnMut(&str, Expected) -> Option<Expected>,
    due: Option<u64>,
    started: u64,
    cause: Dropped,
) {
    let due = due.unwrap_or(started);
    let dropped = due - started;
    let of = |of| if of == cause { dropped } else { 0 };
    add("due", exactly(due));
    add("started", exactly(started));
    add("dropped", exactly(dropped));
    add("dropped: VU limit", exactly(of(Dropped::VuLimit)));
    add("dropped: generator late", exactly(of(Dropped::GeneratorLate)));
}

/// Requests by what became of them.
fn outcomes(add: &mut dyn FnMut(&str, Expected) -> Option<Expected>, log: &TargetLog) {
    let ended = log.count(|request| request.served.answered_ns.is_some());
    let statuses: BTreeSet<Option<u16>> = log.requests.iter().map(|request| request.served.status).collect();
    for status in statuses {
        let n = log.count(|request| request.served.status == status);
        let (outcome, status) = match status {
            None => ("reset", None),
            Some(429) => ("http_429", status),
            Some(503) => ("http_503", status),
            Some(400..500) => ("http_4xx", status),
            Some(500..) => ("http_5xx", status),
            Some(_) => ("ok", status),
        };
        let status = status.map(|status| status.to_string());
        let kind = report::kind(outcome, status.as_deref());
        for name in [format!("outcome {outcome}"), format!("kind {kind}")] {
            add(&name, exactly(n));
            add(&format!("{name} share"), share(n, ended));
        }
        add(&format!("status {}", report::status_text(outcome, status.as_deref())), exactly(n));
    }
}

/// Times: each quantile is between that of the lowest and that of the highest possible times.
fn times(add: &mut dyn FnMut(&str, Expected) -> Option<Expected>, all: Vec<Bounds>) {
    let sorted = |of: fn(&Bounds) -> f64| {
        let mut times: Vec<f64> = all.iter().map(of).collect();
        times.sort_by(f64::total_cmp);
        times
    };
    let (low, high) = (sorted(|time| time.low), sorted(|time| time.high));
    let range = |low: f64, high: f64| {
        Expected::Between(low * (1.0 - RESOLUTION) - CLOCK_MS, high * (1.0 + RESOLUTION) + CLOCK_MS)
    };
    let n = all.len();
    if n == 0 {
        return;
    }
    let mean = |times: &[f64]| times.iter().sum::<f64>() / n as f64;
    add("avg", range(mean(&low), mean(&high)));
    for percent in [50, 90, 95, 99] {
        // The smallest time that so many are not above; the next where that is a matter of rounding.
        let rank = n * percent;
        let (first, last) = (rank.div_ceil(100).max(1) - 1, (rank / 100).min(n - 1));
        add(&format!("p{percent}"), range(low[first.min(last)], high[first.max(last)]));
    }
    add("max", range(low[n - 1], high[n - 1]));
}

/// The rows of one phase: one for each endpoint, and one for all requests where there are several.
fn rows(all: &mut Numbers, run: &WitnessedRun, phase: &PaperPhase) {
    let due = run.paper.due_in(phase);
    if let [step] = run.paper.steps {
        return Row::of(run, phase).add(all, step, due);
    }
    Row::of(run, phase).add(all, report::ALL_REQUESTS, due);
    for step in run.paper.steps {
        // Which of them an arrival becomes is not on paper, and none is dropped in these runs.
        Row::of_step(run, phase, step).add(all, step, None);
    }
}

/// The requests of one phase, or of one endpoint in it.
struct Row<'r> {
    run: &'r WitnessedRun,
    phase: &'r PaperPhase,
    log: TargetLog,
    step: Option<&'static str>,
}

impl<'r> Row<'r> {
    fn of(run: &'r WitnessedRun, phase: &'r PaperPhase) -> Row<'r> {
        Row { run, phase, log: run.log_of(phase), step: None }
    }

    fn of_step(run: &'r WitnessedRun, phase: &'r PaperPhase, step: &'static str) -> Row<'r> {
        let log = run.log_of(phase).select(|request| run.paper.is_of(step, request));
        Row { run, phase, log, step: Some(step) }
    }

    /// Those that ended in the phase, whatever they were due in, a second.
    fn throughput(&self) -> Bounds {
        let (from_ns, to_ns) = (self.phase.from_ms * 1_000_000, self.phase.to_ms * 1_000_000);
        let is_its =
            |request: &LoggedRequest| self.step.is_none_or(|step| self.run.paper.is_of(step, request));
        self.run.log.ended_within(from_ns, to_ns, is_its).per(self.phase.length_s())
    }

    fn response_times(&self) -> Vec<Bounds> {
        let ok = self.log.requests.iter().filter(|request| request.is_ok());
        ok.filter_map(|request| self.log.response_ms(request)).collect()
    }

    fn add(&self, all: &mut Numbers, label: &str, due: Option<u64>) {
        let prefix = format!("row/{}/{label}", self.phase.name);
        let mut add = |name: &str, expected| all.insert(format!("{prefix}/{name}"), expected);
        let log = &self.log;
        let failed = log.count(LoggedRequest::has_failed);
        arrivals(&mut add, due, log.len(), self.run.paper.dropped);
        add("requests", exactly(log.len()));
        add("throughput", between(self.throughput()));
        add("failed", exactly(failed));
        add("failed share", share(failed, log.len()));
        outcomes(&mut add, log);
        times(&mut add, self.response_times());
        let ok = log.requests.iter().filter(|request| request.is_ok());
        let service = ok.filter_map(|request| log.service_ms(request)).collect();
        times(&mut |name, expected| add(&format!("svc {name}"), expected), service);
    }
}

/// An objective on the rate of one phase or of the run: `throughput(all) >= 230/s`, `goodput(phase = late, within = 50ms) …`.
fn claimed(all: &mut Numbers, run: &WitnessedRun, claim: &Value) {
    let text = report::text(&claim["text"]);
    let (of, rest) = text.split_once('(').unwrap();
    let (arguments, bound) = rest.split_once(')').unwrap();
    let named = |key: &str| {
        arguments.split(", ").find_map(|argument| argument.strip_prefix(key)?.trim().strip_prefix("= "))
    };
    let is_its = |phase: &&PaperPhase| named("phase").is_none_or(|name| name == phase.name);
    let phases: Vec<&PaperPhase> = run.paper.phases.iter().filter(is_its).collect();
    let length_s: f64 = phases.iter().map(|phase| phase.length_s()).sum();
    let (from_ms, to_ms) = (phases[0].from_ms, phases[phases.len() - 1].to_ms);
    let ended = |is_its: &dyn Fn(&LoggedRequest) -> bool| {
        run.log.ended_within(from_ms * 1_000_000, to_ms * 1_000_000, is_its)
    };
    let within_ms = named("within").map_or(f64::INFINITY, |text| {
        text.strip_suffix("ms").and_then(|ms| ms.parse().ok()).expect("objectives of a witness are in ms")
    });
    let is_in_time = |of: fn(&Bounds) -> f64| {
        move |request: &LoggedRequest| {
            let time = run.log.response_ms(request).filter(|_| request.is_ok());
            time.is_some_and(|time| of(&time) <= within_ms)
        }
    };
    let count = match of {
        "throughput" => ended(&|_| true),
        "goodput" => Bounds {
            low: ended(&is_in_time(|time| time.high)).low,
            high: ended(&is_in_time(|time| time.low)).high,
        },
        _ => return,
    };
    let limit: f64 = bound.trim().trim_start_matches(">= ").trim_end_matches("/s").parse().unwrap();
    let name = report::text(&claim["name"]);
    all.insert(format!("claim/{name}/observed"), between(count.per(length_s)));
    all.insert(format!("claim/{name}/limit"), Expected::Number(limit));
}
