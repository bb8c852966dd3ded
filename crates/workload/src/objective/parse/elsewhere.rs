//! What other load generators call a measure, and how k6 writes a threshold.

use super::{FORM, statistic};
use crate::nearest::nearest;

/// Names of measures elsewhere, and the name here.
const NAMES: [(&[&str], &str); 4] = [
    (
        &[
            "errors",
            "error",
            "failures",
            "failed",
            "fail_rate",
            "failure_rate",
            "failed_rate",
            "success",
            "success_rate",
            "http_req_failed",
        ],
        "error_rate",
    ),
    (&["rps", "qps", "rate", "tps", "requests", "http_reqs"], "throughput"),
    (&["checks"], "check_rate"),
    (&["latency", "latencies", "duration", "response_time", "http_req_duration"], "p95"),
];

/// How an objective on a measure is written.
const EXAMPLES: [(&str, &str); 5] = [
    ("error_rate", "error_rate < 1%"),
    ("throughput", "throughput >= 100/s"),
    ("goodput", "goodput(within = 50ms) >= 100/s"),
    ("check_rate", "check_rate > 99%"),
    ("median", "median < 50ms"),
];

/// Series of targets that are asked for as if they were measures.
const SERIES: [(&str, &str); 4] = [
    ("cpu", "mean(cpu, target = NAME) < 0.8"),
    ("rss", "max(rss, target = NAME) < 500MB"),
    ("memory", "max(rss, target = NAME) < 500MB"),
    ("mem", "max(rss, target = NAME) < 500MB"),
];

const KNOWN: [&str; 15] = [
    "avg",
    "mean",
    "min",
    "max",
    "median",
    "p50",
    "p90",
    "p95",
    "p99",
    "error_rate",
    "goodput",
    "throughput",
    "check_rate",
    "service_p95",
    "iteration_p95",
];

/// The message about a measure that there is not.
pub(super) fn unknown_measure(text: &str) -> String {
    if let Some(wrong) = wrong_percentile(text) {
        return wrong;
    }
    if let Some((_, series)) = SERIES.iter().find(|(name, _)| *name == text) {
        return format!("`{text}` is a series of a target: write it like `{series}`");
    }
    let elsewhere = NAMES.iter().find(|(names, _)| names.contains(&text)).map(|(_, ours)| *ours);
    match elsewhere.or_else(|| nearest(text, KNOWN)) {
        Some(near) => {
            let example =
                EXAMPLES.iter().find(|(name, _)| *name == near).map(|(_, example)| (*example).to_owned());
            let example = example.unwrap_or_else(|| format!("{near} < 50ms"));
            format!("there is no measure `{text}`; did you mean `{near}`? Write it like `{example}`")
        }
        None => format!("there is no measure `{text}`; {FORM}"),
    }
}

/// Of `p101`, `p0`, `p0.95`, and `95` without its letter.
fn wrong_percentile(text: &str) -> Option<String> {
    let digits = text.strip_prefix('p').unwrap_or(text);
    let percent: f64 = digits.parse().ok()?;
    if let Some(decimals) = digits.strip_prefix("0.").filter(|_| percent > 0.0) {
        let percent = format!("0.{decimals}e2").parse::<f64>().ok()?;
        return Some(format!(
            "there is no measure `{text}`: percentiles are in per cent; did you mean `p{percent}`?"
        ));
    }
    Some(match percent > 0.0 && percent <= 100.0 {
        true => format!("there is no measure `{text}`; did you mean `p{digits}`?"),
        false => {
            format!("there is no measure `{text}`: a percentile is above 0 and at most 100, such as `p99.9`")
        }
    })
}

/// The objective that a threshold of k6 is, such as `http_req_duration: p(95)<500`, with the colon or without; none if it is not
/// one.
pub(super) fn k6_threshold(text: &str) -> Option<String> {
    let (metric, threshold) = text.split_once(':').or_else(|| text.trim().split_once(' '))?;
    let unquote = |text: &str| text.trim().trim_matches(['"', '\'', '[', ']']).trim().to_owned();
    let (metric, threshold) = (unquote(metric), unquote(threshold));
    let sign_at = threshold.find(['<', '>'])?;
    let (aggregate, rest) = threshold.split_at(sign_at);
    let number_at = rest.find(|c: char| c.is_ascii_digit())?;
    let (sign, bound) = rest.split_at(number_at);
    let (aggregate, sign, bound) = (aggregate.trim(), sign.trim(), bound.trim());
    // Times of k6 are milliseconds; whoever writes a unit or `%` means it.
    let with_unit = |unit: &str| match bound.parse::<f64>() {
        Ok(_) => format!("{bound}{unit}"),
        Err(_) => bound.to_owned(),
    };
    let percent = aggregate.strip_prefix("p(").and_then(|rest| rest.strip_suffix(')'));
    let of_times = match (percent, aggregate) {
        (Some(percent), _) => format!("p{percent}"),
        (None, "med") => "median".to_owned(),
        (None, other) => other.to_owned(),
    };
    statistic(&of_times).filter(|_| metric.ends_with("_duration")).map_or_else(
        || match (metric.as_str(), aggregate) {
            ("http_req_failed", "rate") => Some(format!("error_rate {sign} {bound}")),
            ("http_reqs" | "iterations", "rate") => Some(format!("throughput {sign} {}", with_unit("/s"))),
            ("checks", "rate") => Some(format!("check_rate {sign} {bound}")),
            _ => None,
        },
        |_| {
            let prefix = if metric == "iteration_duration" { "iteration_" } else { "" };
            Some(format!("{prefix}{of_times} {sign} {}", with_unit("ms")))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds_of_k6_are_translated() {
        for (threshold, objective) in [
            ("http_req_duration: p(95)<500", Some("p95 < 500ms")),
            ("'http_req_duration': ['med < 200']", Some("median < 200ms")),
            ("http_req_failed: rate<0.01", Some("error_rate < 0.01")),
            ("http_req_duration p(95)<50", Some("p95 < 50ms")),
            ("http_req_duration p(99) < 1.5s", Some("p99 < 1.5s")),
            ("http_req_failed rate<1%", Some("error_rate < 1%")),
            ("http_reqs rate>100", Some("throughput > 100/s")),
            ("checks rate>0.9", Some("check_rate > 0.9")),
            ("http_reqs: rate>100", Some("throughput > 100/s")),
            ("checks: rate>=0.99", Some("check_rate >= 0.99")),
            ("iteration_duration: avg<900", Some("iteration_avg < 900ms")),
            ("p95(\"GET http://h:1/\") < 50ms", None),
            ("p95 < 50ms", None),
            ("p95 50ms", None),
            ("http_req_duration < 50ms", None),
        ] {
            assert_eq!(k6_threshold(threshold).as_deref(), objective, "{threshold}");
        }
        for objective in ["p95 < 500ms", "error_rate < 0.01", "throughput > 100/s", "check_rate >= 0.99"] {
            assert!(super::super::parse("o", objective).is_ok(), "{objective}");
        }
    }
}
