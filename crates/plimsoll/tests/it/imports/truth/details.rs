//! Formats with figures beside the requests, and logs of intervals.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};
use serde_json::{Value, json};

use super::edit::{cut_off, without};
use super::known_run::{KnownRequest, KnownRun, rfc3339};
use super::{Damage, Files};

pub(super) const INTACT: &[Damage] =
    &[("ghz-json", |run| file(ghz(run))), ("hdr-log", |run| vec![("a.hlog".to_owned(), hdr_log(run))])];

pub(super) const DAMAGES: &[Damage] = &[
    ("ghz-json, failures missing", |run| file(of_details(ghz(run), |detail| detail["status"] == "OK"))),
    ("ghz-json, slow ones missing", |run| {
        file(of_details(ghz(run), |detail| detail["latency"].as_u64().unwrap() < 50_000_000))
    }),
    ("ghz-json, a third of the calls, without failures and slow ones", |run| {
        let mut kept = 0;
        let limit = run.requests.len() / 3;
        let is_kept = |detail: &Value| {
            let is_good = detail["status"] == "OK" && detail["latency"].as_u64().unwrap() < 50_000_000;
            kept += usize::from(is_good);
            is_good && kept <= limit
        };
        file(of_details(ghz(run), is_kept))
    }),
    ("ghz-json, failures as successes", |run| {
        file(with_details(ghz(run), |detail| detail["status"] = json!("OK")))
    }),
    ("ghz-json, slow ones as fast ones", |run| {
        file(with_details(ghz(run), |detail| detail["latency"] = json!(10_000_000)))
    }),
    ("ghz-json, durations of failures below zero", |run| {
        let negative = |detail: &mut Value| {
            if detail["status"] != "OK" {
                detail["latency"] = json!(-1);
            }
        };
        file(with_details(ghz(run), negative))
    }),
    ("ghz-json, more calls than it has", |run| {
        let mut document = ghz(run);
        document["count"] = json!(run.requests.len() * 3);
        file(document)
    }),
    ("ghz-json, cut off", |run| {
        let text = ghz(run).to_string();
        vec![("a.json".to_owned(), text[..text.len() * (40 + run.number(50) as usize) / 100].to_owned())]
    }),
    ("hdr-log, intervals missing", |run| {
        let text = hdr_log(run);
        let kept = text.lines().enumerate().filter(|(at, _)| *at < 10 || at % 7 == 0 || *at > 70);
        vec![("a.hlog".to_owned(), kept.map(|(_, line)| format!("{line}\n")).collect())]
    }),
    ("hdr-log, intervals not readable", |run| {
        let text = hdr_log(run).replace(",HIST", ",HOST");
        vec![("a.hlog".to_owned(), text.replacen(",HOST", ",HIST", 20))]
    }),
    ("hdr-log, cut off", |run| vec![("a.hlog".to_owned(), cut_off(run, &hdr_log(run)))]),
];

fn file(document: Value) -> Files {
    vec![("a.json".to_owned(), document.to_string())]
}

fn of_details(mut document: Value, is_kept: impl FnMut(&Value) -> bool) -> Value {
    document["details"].as_array_mut().unwrap().retain(is_kept);
    document
}

fn with_details(mut document: Value, change: impl FnMut(&mut Value)) -> Value {
    document["details"].as_array_mut().unwrap().iter_mut().for_each(change);
    document
}

/// The report of ghz, in the order in which it writes.
fn ghz(run: &KnownRun) -> Value {
    let (all, failed) = (run.requests.len() as u64, run.failed());
    let mut statuses = json!({"OK": all - failed});
    let mut errors = json!({});
    if failed > 0 {
        statuses["Internal"] = json!(failed);
        errors["rpc error: code = Internal"] = json!(failed);
    }
    let ns = |q: f64| run.quantile(q, false) * 1_000_000;
    let percentiles = [50, 90, 95, 99].map(|p| json!({"percentage": p, "latency": ns(f64::from(p) / 100.0)}));
    let detail = |request: &KnownRequest| {
        let (error, status) = if request.has_failed { ("rpc error", "Internal") } else { ("", "OK") };
        json!({
            "timestamp": rfc3339(request.start), "latency": request.ms * 1_000_000, "error": error, "status": status,
        })
    };
    json!({
        "date": "x", "endReason": "normal", "options": {"call": "a.B.C"}, "count": all, "rps": 10.0,
        "fastest": ns(0.0), "slowest": ns(1.0), "errorDistribution": errors, "statusCodeDistribution": statuses,
        "latencyDistribution": percentiles, "histogram": [{"mark": 1.0, "count": all - failed}],
        "details": run.requests.iter().map(detail).collect::<Vec<Value>>(),
    })
}

/// An interval a second; the log does not say how requests ended.
fn hdr_log(run: &KnownRun) -> String {
    let mut text = "#[StartTime: 1769000000.000 (seconds since epoch), x]\n".to_owned();
    for (second, requests) in run.requests.chunks(10).enumerate() {
        let mut times: Histogram<u64> = Histogram::new(3).unwrap();
        requests.iter().for_each(|request| times.record(request.ms * 1_000_000).unwrap());
        let mut bytes = Vec::new();
        V2DeflateSerializer::new().serialize(&times, &mut bytes).unwrap();
        let (highest, encoded) = (times.max() as f64 / 1e6, STANDARD.encode(bytes));
        let _ = writeln!(text, "{second}.000,1.000,{highest:.3},{encoded}");
    }
    text
}

/// That lines are removed at all is checked here.
#[test]
fn the_log_has_an_interval_for_each_second() {
    let text = hdr_log(&KnownRun::new(0));
    assert_eq!(without(&text, |line| line.contains(",HIST")).lines().count(), 1);
    assert_eq!(text.lines().count(), 181);
}
