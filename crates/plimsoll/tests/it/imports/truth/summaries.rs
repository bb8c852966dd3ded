//! Formats with figures of the whole run alone.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::edit::{with, without};
use super::known_run::KnownRun;
use super::{Damage, Files};

pub(super) const INTACT: &[Damage] = &[
    ("k6-summary", |run| file("a.json", k6_summary(run))),
    ("k6-summary, machine-readable", |run| file("a.json", machine_readable(run))),
    ("ghz-text", |run| vec![("a.txt".to_owned(), ghz_text(run))]),
    ("vegeta-report", |run| file("a.json", vegeta_report(run))),
    ("oha-json", |run| file("a.json", oha(run))),
    ("fortio-json", |run| file("a.json", fortio(run))),
    ("locust", locust),
];

pub(super) const DAMAGES: &[Damage] = &[
    ("k6-summary, failures missing", |run| {
        let mut summary = k6_summary(run);
        summary["metrics"]["http_req_failed"]["values"] =
            json!({"rate": 0.0, "passes": 0, "fails": run.requests.len() as u64 - run.failed()});
        file("a.json", summary)
    }),
    ("k6-summary, failures as successes", |run| {
        let mut summary = k6_summary(run);
        let values = &mut summary["metrics"]["http_req_failed"]["values"];
        (values["passes"], values["fails"]) = (json!(0), json!(run.requests.len()));
        file("a.json", summary)
    }),
    ("k6-summary, successes as failures", |run| {
        let mut summary = k6_summary(run);
        let values = &mut summary["metrics"]["http_req_failed"]["values"];
        (values["passes"], values["fails"]) = (json!(run.requests.len() / 2), json!(run.requests.len() / 2));
        file("a.json", summary)
    }),
    ("k6-summary, half of the requests", |run| {
        let mut summary = k6_summary(run);
        summary["metrics"]["http_req_failed"]["values"] =
            json!({"rate": 0.0, "passes": 0, "fails": run.requests.len() / 2});
        file("a.json", summary)
    }),
    ("k6-summary, machine-readable, failures missing", |run| {
        let mut summary = machine_readable(run);
        let ok = run.requests.len() as u64 - run.failed();
        *failed_of(&mut summary) = json!({"matches": 0, "rate": 0.0, "total": ok});
        file("a.json", summary)
    }),
    ("k6-summary, machine-readable, failures as successes", |run| {
        let mut summary = machine_readable(run);
        failed_of(&mut summary)["matches"] = json!(0);
        file("a.json", summary)
    }),
    ("k6-summary, machine-readable, half of the requests", |run| {
        let mut summary = machine_readable(run);
        *failed_of(&mut summary) = json!({"matches": 0, "rate": 0.0, "total": run.requests.len() / 2});
        file("a.json", summary)
    }),
    ("ghz-text, status line of failures missing", |run| {
        vec![("a.txt".to_owned(), without(&ghz_text(run), |line| line.contains("[Internal]")))]
    }),
    ("ghz-text, failures as successes", |run| {
        let text = without(&ghz_text(run), |line| line.contains("[Internal]"));
        let (all, ok) = (run.requests.len() as u64, run.requests.len() as u64 - run.failed());
        vec![("a.txt".to_owned(), with(&text, &format!("[OK]   {ok}"), &format!("[OK]   {all}")))]
    }),
    ("ghz-text, more calls than it has", |run| {
        let count = format!("Count:\t{}", run.requests.len());
        vec![("a.txt".to_owned(), with(&ghz_text(run), &count, &format!("{count}0")))]
    }),
    ("vegeta-report, failures as successes", |run| {
        let mut report = vegeta_report(run);
        report["status_codes"] = json!({"200": run.requests.len()});
        file("a.json", report)
    }),
    ("vegeta-report, failures missing", |run| {
        let mut report = vegeta_report(run);
        let ok = run.requests.len() as u64 - run.failed();
        report["status_codes"] = json!({"200": ok});
        (report["requests"], report["success"]) = (json!(ok), json!(1.0));
        file("a.json", report)
    }),
    ("vegeta-report, successes as failures", |run| {
        let mut report = vegeta_report(run);
        let half = run.requests.len() / 2;
        report["status_codes"] = json!({"200": half, "500": half});
        file("a.json", report)
    }),
    ("oha-json, failures missing", |run| {
        let mut document = oha(run);
        document["statusCodeDistribution"] = json!({"200": run.requests.len() as u64 - run.failed()});
        file("a.json", document)
    }),
    ("oha-json, errors missing", |run| {
        let mut document = oha(run);
        // Half of the failures had no response.
        document["errorDistribution"] = json!({});
        file("a.json", document)
    }),
    ("fortio-json, failures as successes", |run| {
        let mut document = fortio(run);
        document["RetCodes"] = json!({"200": run.requests.len()});
        file("a.json", document)
    }),
    ("fortio-json, an interval missing", |run| {
        let mut document = fortio(run);
        document["DurationHistogram"]["Data"].as_array_mut().unwrap().pop();
        file("a.json", document)
    }),
    ("locust, no failures in the row of all", |run| {
        let aggregated = format!(",Aggregated,{},", run.requests.len());
        let old = format!("{aggregated}{},", run.failed());
        edited(locust(run), 0, |text| with(text, &old, &format!("{aggregated}0,")))
    }),
    ("locust, no failures in its statistics", |run| {
        let failed = run.failed();
        edited(locust(run), 0, |text| text.replace(&format!(",{failed},"), ",0,"))
    }),
    ("locust, a row missing", |run| {
        edited(locust(run), 0, |text| without(text, |line| line.starts_with("GET,list")))
    }),
    ("locust, the row of all cut off", |run| {
        edited(locust(run), 0, |text| text[..text.len() - 30].to_owned())
    }),
];

fn file(name: &str, document: Value) -> Files {
    vec![(name.to_owned(), document.to_string())]
}

fn edited(mut files: Files, at: usize, edit: impl Fn(&str) -> String) -> Files {
    files[at].1 = edit(&files[at].1);
    files
}

pub(super) fn k6_summary(run: &KnownRun) -> Value {
    let (all, failed) = (run.requests.len() as u64, run.failed());
    let times = |is_of_all: bool| {
        let ms = |q: f64| run.quantile(q, is_of_all);
        json!({"min": ms(0.0), "med": ms(0.5), "p(90)": ms(0.9), "p(95)": ms(0.95), "p(99)": ms(0.99), "max": ms(1.0)})
    };
    json!({"root_group": {}, "metrics": {
        "http_reqs": {"type": "counter", "contains": "default", "values": {"count": all, "rate": 10.0}},
        "http_req_failed": {
            "type": "rate", "contains": "default",
            "values": {"rate": failed as f64 / all as f64, "passes": failed, "fails": all - failed},
        },
        "http_req_duration": {"type": "trend", "contains": "time", "values": times(true)},
        "http_req_duration{expected_response:true}": {"type": "trend", "contains": "time", "values": times(false)},
    }})
}

/// The summary of `--new-machine-readable-summary`: without a p99 and without rates of counters.
fn machine_readable(run: &KnownRun) -> Value {
    let (all, failed) = (run.requests.len() as u64, run.failed());
    let metric = |name: &str, kind: &str, contains: &str, values: Value| json!({"name": name, "type": kind, "contains": contains, "values": values});
    let times = |is_of_all: bool| {
        let ms = |q: f64| run.quantile(q, is_of_all);
        json!({"avg": 12.0, "min": ms(0.0), "med": ms(0.5), "p(90)": ms(0.9), "p(95)": ms(0.95), "max": ms(1.0)})
    };
    let failures = json!({"matches": failed, "rate": failed as f64 / all as f64, "total": all});
    json!({
        "config": {"duration": all as f64 / 10.0, "execution": "local"},
        "metadata": {"generatedAt": "2026-11-29T09:00:00Z", "k6Version": "1.5.0"},
        "results": {"checks": {}, "metrics": [
            metric("http_req_failed", "rate", "default", failures),
            metric("http_reqs", "counter", "default", json!({"count": all})),
            metric("http_req_duration", "trend", "time", times(true)),
            metric("http_req_duration{expected_response:true}", "trend", "time", times(false)),
        ]},
        "version": "1.0.0",
    })
}

/// The counts of failures in a machine-readable summary.
fn failed_of(summary: &mut Value) -> &mut Value {
    &mut summary["results"]["metrics"][0]["values"]
}

fn ghz_text(run: &KnownRun) -> String {
    let (all, failed) = (run.requests.len() as u64, run.failed());
    let ms = |q: f64| run.quantile(q, false);
    let mut text = format!(
        "\nSummary:\n  Count:\t{all}\n  Total:\t180.00 s\n  Slowest:\t{}.00 ms\n  Fastest:\t{}.00 ms\n  Average:\t12.00 ms\n  \
         Requests/sec:\t10.00\n\nResponse time histogram:\n  10.000 [{}]\t|\n\nLatency distribution:\n",
        ms(1.0),
        ms(0.0),
        all - failed
    );
    for p in [50, 90, 95, 99] {
        let _ = writeln!(text, "  {p} % in {}.00 ms ", ms(f64::from(p) / 100.0));
    }
    let _ = writeln!(text, "\nStatus code distribution:\n  [OK]   {} responses   ", all - failed);
    if failed > 0 {
        let _ = writeln!(
            text,
            "  [Internal]   {failed} responses   \n\nError distribution:\n  [{failed}]   rpc error   "
        );
    }
    text
}

fn vegeta_report(run: &KnownRun) -> Value {
    let (all, failed) = (run.requests.len() as u64, run.failed());
    let ns = |q: f64| run.quantile(q, true) * 1_000_000;
    let total: u64 = run.requests.iter().map(|request| request.ms * 1_000_000).sum();
    let mut statuses = json!({"200": all - failed});
    if failed > 0 {
        statuses["500"] = json!(failed);
    }
    json!({
        "latencies": {
            "total": total, "mean": total / all, "50th": ns(0.5), "90th": ns(0.9), "95th": ns(0.95), "99th": ns(0.99),
            "max": ns(1.0), "min": ns(0.0),
        },
        "duration": 180_000_000_000u64, "wait": 10_000_000, "requests": all, "rate": 10.0,
        "throughput": (all - failed) as f64 / 180.01, "success": (all - failed) as f64 / all as f64,
        "status_codes": statuses, "errors": [],
    })
}

/// Half of the failures had a response.
fn oha(run: &KnownRun) -> Value {
    let (all, failed) = (run.requests.len() as u64, run.failed());
    let (refused, lost) = (failed / 2, failed - failed / 2);
    let s = |q: f64| run.quantile(q, false) as f64 / 1e3;
    let percentiles = json!({"p50": s(0.5), "p90": s(0.9), "p95": s(0.95), "p99": s(0.99)});
    let mut statuses = json!({"200": all - failed});
    let mut errors = json!({});
    if failed > 0 {
        statuses["500"] = json!(refused);
        errors["connection reset"] = json!(lost);
    }
    json!({
        "summary": {
            "successRate": (all - lost) as f64 / all as f64, "total": 180.0, "slowest": s(1.0), "fastest": s(0.0),
            "average": 0.012, "requestsPerSec": all as f64 / 180.0,
        },
        "responseTimeHistogram": {"0.01": all - lost}, "latencyPercentiles": percentiles,
        "latencyPercentilesSuccessful": percentiles, "statusCodeDistribution": statuses, "errorDistribution": errors,
    })
}

/// With percentiles as fortio interpolates them: of an interval, all may have taken as long as its end.
fn fortio(run: &KnownRun) -> Value {
    let (all, failed) = (run.requests.len() as u64, run.failed());
    let ends = [5, 10, 20, 50, 75, 100, 150, 200, 250];
    let interval = |at: usize| {
        let (start, end) = (if at == 0 { 0 } else { ends[at - 1] }, ends[at]);
        let count = run.requests.iter().filter(|request| request.ms > start && request.ms <= end).count();
        (count > 0).then(|| json!({"Start": start as f64 / 1e3, "End": end as f64 / 1e3, "Count": count}))
    };
    let s = |q: f64| run.quantile(q, true) as f64 / 1e3;
    let data: Vec<Value> = (0..ends.len()).filter_map(interval).collect();
    json!({
        "RunType": "HTTP", "StartTime": "2026-11-29T09:00:00Z", "ActualQPS": 10.0,
        "DurationHistogram": {
            "Count": all, "Min": s(0.0), "Max": s(1.0), "Avg": 0.012, "Data": data,
            "Percentiles": [{"Percentile": 90, "Value": s(0.9) * 0.9}, {"Percentile": 99, "Value": s(0.99) * 0.9}],
        },
        "ErrorsDurationHistogram": {"Count": failed},
        "RetCodes": if failed > 0 { json!({"200": all - failed, "503": failed}) } else { json!({"200": all}) },
    })
}

/// Statistics, history and failures.
fn locust(run: &KnownRun) -> Files {
    let (all, failed) = (run.requests.len() as u64, run.failed());
    let ms = |q: f64| run.quantile(q, true);
    let times = format!("{},{},{},{},{},{}", ms(0.0), ms(1.0), ms(0.5), ms(0.9), ms(0.99), ms(1.0));
    let mut stats =
        "Type,Name,Request Count,Failure Count,Min Response Time,Max Response Time,50%,90%,99%,100%,Requests/s\n"
            .to_owned();
    let half = all / 2;
    let _ = writeln!(stats, "GET,list,{half},{failed},{times},5.0\nPOST,buy,{},0,{times},5.0", all - half);
    let _ = writeln!(stats, ",Aggregated,{all},{failed},{times},10.0");
    let mut history =
        "Timestamp,User Count,Type,Name,Requests/s,Failures/s,Total Request Count,Total Failure Count\n"
            .to_owned();
    let _ = writeln!(history, "1769000000,4,,Aggregated,0.0,0.0,0,0");
    let _ = writeln!(history, "1769000180,4,,Aggregated,10.0,1.0,{all},{failed}");
    let mut failures = "Method,Name,Error,Occurrences\n".to_owned();
    if failed > 0 {
        let _ = writeln!(failures, "GET,list,\"HTTPError('500, x')\",{failed}");
    }
    vec![
        ("a_stats.csv".to_owned(), stats),
        ("a_stats_history.csv".to_owned(), history),
        ("a_failures.csv".to_owned(), failures),
    ]
}
