//! k6 scripts: iterations that work on after their last request, and requests of setup and teardown.

use std::time::Duration;

use serde_json::Value;
use testbed::{Behaviour, Served, Site, Target, now_ns};

use super::load::FILE;
use super::log::{LoggedRequest, TargetLog};
use crate::command::TestFolder;

/// A script's run, and what its target saw.
struct ScriptRun {
    log: TargetLog,
    /// The report by our own rules.
    report: Value,
    /// k6's summary.
    summary: Value,
    /// The same as text.
    stdout: String,
}

fn run(target: &Target, script: &str, due_ns: impl Fn(&Served) -> Option<u64>) -> ScriptRun {
    let folder = TestFolder::new("");
    folder.write("script.js", script);
    let base = format!("BASE=http://{}", target.addr());
    let outputs = ["--evidence", FILE, "--summary-export", "summary.json", "--json", "run.json"];
    let ran = folder.plimsoll(&[&["run", "script.js", "--quiet", "-e", &base], &outputs[..]].concat());
    let ended_ns = now_ns();
    assert!(ran.code.is_some_and(|code| [0, 3, 5, 99].contains(&code)), "{ran:?}");
    ScriptRun {
        log: TargetLog::of(target, ended_ns, due_ns),
        report: folder.json("run.json"),
        summary: folder.json("summary.json"),
        stdout: ran.stdout,
    }
}

impl ScriptRun {
    #[track_caller]
    fn number(&self, metric: &str, of: &str) -> f64 {
        let metric = &self.summary["metrics"][metric];
        metric[of].as_f64().unwrap_or_else(|| panic!("no {of} in {metric}"))
    }

    /// The text of the summary has these numbers of a metric.
    #[track_caller]
    fn assert_shown(&self, metric: &str, count: u64) {
        let lines = self.stdout.lines().map(str::trim_start);
        let line = lines.clone().find(|line| line.starts_with(&format!("{metric}.")));
        let line = line.unwrap_or_else(|| panic!("no {metric} in:\n{}", self.stdout));
        let shown = line.split_once(": ").unwrap().1.split_whitespace().next();
        assert_eq!(shown, Some(count.to_string().as_str()), "{line}");
    }
}

/// Works after its response without calling anything of ours, in one call that nothing interrupts, and says in the next
/// request how long that took.
const WORKING: &str = "
    import http from 'k6/http';
    import exec from 'k6/execution';
    export const options = { scenarios: { load: {
        executor: 'constant-arrival-rate', rate: 4, duration: '3s', preAllocatedVUs: 1, maxVUs: 1,
    } } };
    const text = JSON.stringify(Array.from({ length: 40000 }, (_, n) => ({ n, text: `number ${n}` })));
    let worked = 0;
    export default function () {
        const query = `n=${exec.scenario.iterationInTest}&worked=${worked}`;
        http.get(`${__ENV.BASE}/x?${query}`, { tags: { name: 'get' } });
        const from = Date.now();
        JSON.parse(text);
        worked = Date.now() - from;
    }";

fn number(served: &Served, key: &str) -> f64 {
    let found = served.query.split('&').find_map(|part| part.strip_prefix(key)?.strip_prefix('='));
    found.unwrap().parse().unwrap()
}

/// The least that each iteration took, ascending, in milliseconds: what it took to its response, and its work by a clock in
/// whole milliseconds. How long the last one worked is not known.
fn least_times(log: &TargetLog, to_response: impl Fn(&LoggedRequest) -> f64) -> Vec<f64> {
    let worked = log.requests.iter().skip(1).map(|next| (number(&next.served, "worked") - 1.0).max(0.0));
    let requests = log.requests.iter().zip(worked.chain([0.0]));
    let mut times: Vec<f64> = requests.map(|(request, worked)| to_response(request) + worked).collect();
    times.sort_by(f64::total_cmp);
    times
}

#[test]
fn an_iteration_that_works_after_its_last_request_lasts_until_its_work_is_done() {
    let target = testbed::http(Behaviour::after(Duration::from_millis(5))).unwrap();
    let due_ns = |served: &Served| Some(number(served, "n") as u64 * 250_000_000);
    let run = run(&target, WORKING, due_ns);
    let (log, iterations) = (&run.log, run.log.len());
    for metric in ["http_reqs", "iterations"] {
        assert_eq!(run.number(metric, "count"), iterations as f64);
        run.assert_shown(metric, iterations);
    }
    let of_k6 = least_times(log, |request| request.served.held().unwrap().as_secs_f64() * 1e3);
    let from_due = least_times(log, |request| log.response_ms(request).unwrap().low);
    assert!(of_k6[of_k6.len() - 1] > 10.0, "it did not work: {of_k6:?}");
    let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
    let (middle, last) = (of_k6.len().div_ceil(2) - 1, of_k6.len() - 1);
    let rows = run.report["endpoints"].as_array().unwrap();
    let row = rows.iter().find(|row| row["iteration_time"]["count"] == iterations).unwrap();
    let of_report = |of: &str| row["iteration_time"][of].as_f64().unwrap();
    for (name, shown, least) in [
        ("med of k6", run.number("iteration_duration", "med"), of_k6[middle]),
        ("avg of k6", run.number("iteration_duration", "avg"), mean(&of_k6)),
        ("max of k6", run.number("iteration_duration", "max"), of_k6[last]),
        ("p50 of the report", of_report("p50_ms"), from_due[middle]),
        ("avg of the report", of_report("avg_ms"), mean(&from_due)),
        ("max of the report", of_report("max_ms"), from_due[last]),
    ] {
        assert!(shown >= least * 0.999, "{name}: {shown} ms, and they took {least} ms at least");
    }
    let is_active = |of: &&Value| of["name"] == "active" && of["part"] == "load";
    let active = run.report["series"].as_array().unwrap().iter().find(is_active).unwrap();
    let seconds = log.elapsed_ms().high / 1e3;
    let least = of_k6.iter().sum::<f64>() / 1e3 / seconds;
    let shown = active["mean"].as_f64().unwrap();
    assert!(shown >= least * 0.999, "{shown} iterations at a time, and {least} at least");
}

const TORN_DOWN: &str = "
    import http from 'k6/http';
    import { check } from 'k6';
    import { Counter } from 'k6/metrics';
    const calls = new Counter('calls');
    const call = (path) => {
        calls.add(1);
        check(http.get(`${__ENV.BASE}${path}`), { 'is 200': (r) => r.status === 200 });
    };
    export const options = {
        scenarios: { load: { executor: 'shared-iterations', vus: 2, iterations: 10 } },
        thresholds: { http_reqs: ['count==14'], checks: ['rate==1'], http_req_failed: ['rate==0'] },
    };
    export function setup() { call('/setup'); }
    export default function () { call('/x'); }
    export function teardown() { call('/left'); call('/broken'); call('/broken'); }";

#[test]
fn requests_checks_and_metrics_of_setup_and_teardown_count_as_the_target_saw_them() {
    let site = Site::new().at("/broken", Behaviour::status(500)).otherwise(Behaviour::ok());
    let target = testbed::http(site).unwrap();
    let run = run(&target, TORN_DOWN, |_| None);
    let (all, failed) = (run.log.len(), run.log.count(LoggedRequest::has_failed));
    assert_eq!((all, failed), (14, 2));
    for metric in ["http_reqs", "calls"] {
        assert_eq!(run.number(metric, "count"), all as f64, "{metric}");
        run.assert_shown(metric, all);
    }
    assert_eq!(run.number("iterations", "count"), 10.0);
    assert_eq!(run.number("checks", "passes"), (all - failed) as f64);
    assert_eq!(run.number("checks", "fails"), failed as f64);
    assert_eq!(run.number("http_req_failed", "value"), failed as f64 / all as f64);
    let accounting = &run.report["accounting"];
    assert_eq!((&accounting["requests"], &accounting["failed"]), (&all.into(), &failed.into()));
    let claims = run.report["claims"].as_array().unwrap();
    for (name, holds) in
        [("http_reqs count==14", true), ("checks rate==1", false), ("http_req_failed rate==0", false)]
    {
        let claim = claims.iter().find(|claim| claim["name"] == name).unwrap();
        assert_eq!(claim["holds_in_k6"], holds, "{claim:#}");
    }
}
