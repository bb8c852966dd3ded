//! What k6's metrics say of requests: of the whole run, and of the scenarios and endpoints that thresholds made metrics
//! of their own, such as `http_req_duration{name:list}`.

use std::collections::BTreeSet;

use evidence::manifest::RequestSummary;
use evidence::{UnknownBasis, UnknownRecords, UnknownSubject};

use crate::figure::StatedFigures;
use crate::totals::StatedTotal;

/// The tags of a metric, as far as they select requests.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct SelectedRequests {
    scenario: String,
    endpoint: String,
}

impl SelectedRequests {
    /// The requests of a metric's tags, such as `name:list,scenario:browse`; none for tags that select otherwise.
    fn from_tags(tags: &str) -> Option<SelectedRequests> {
        let mut selected = SelectedRequests::default();
        for tag in tags.split(',').filter(|tag| !tag.is_empty()) {
            match tag.split_once(':')? {
                ("scenario", scenario) => selected.scenario = scenario.trim().to_owned(),
                ("name", endpoint) => selected.endpoint = endpoint.trim().to_owned(),
                ("expected_response", "true") => {}
                _ => return None,
            }
        }
        Some(selected)
    }
}

/// The base of a metric's name, and its tags.
fn parts(metric: &str) -> (&str, &str) {
    match metric.split_once('{') {
        Some((base, tags)) => (base, tags.strip_suffix('}').unwrap_or(tags)),
        None => (metric, ""),
    }
}

/// What is said of the whole run, and of each scenario and endpoint with metrics of its own.
pub(super) fn summaries(figures: &StatedFigures) -> Vec<RequestSummary> {
    let metrics = figures.subjects().filter(|metric| parts(metric).0.starts_with("http_req"));
    let selected: BTreeSet<SelectedRequests> =
        metrics.filter_map(|metric| SelectedRequests::from_tags(parts(metric).1)).collect();
    let is_all_http = figures.subjects().all(|metric| parts(metric).0 != "grpc_req_duration");
    let is_known = |selected: &SelectedRequests| is_all_http || *selected != SelectedRequests::default();
    selected.into_iter().filter(is_known).map(|selected| summary(figures, selected)).collect()
}

/// Each count of the requests of a metric: of their number, of those that have an outcome, of those that have a time, and
/// the share of failures.
pub(super) fn totals(figures: &StatedFigures) -> Vec<StatedTotal> {
    let total = |metric: &str| {
        let (base, tags) = parts(metric);
        let selected = SelectedRequests::from_tags(tags)?;
        let is_all = !tags.contains("expected_response");
        let (requests, failed) = match base {
            "http_reqs" | "http_req_duration" if is_all => (Some(figures.count(metric, "count")?), None),
            "http_req_failed" => {
                let (failed, others) = (figures.count(metric, "passes")?, figures.count(metric, "fails")?);
                let share = figures.get(metric, "rate").or(figures.get(metric, "value"));
                let all = failed + others;
                (Some(all), Some(share.map_or(failed, |share| (share * all as f64).round() as u64)))
            }
            _ => return None,
        };
        let what = format!("`{metric}`");
        let SelectedRequests { scenario, endpoint } = selected;
        Some(StatedTotal { what, scenario, endpoint, requests, failed, is_lower_limit: false })
    };
    figures.subjects().filter_map(total).collect()
}

/// The share of checks that passed beside their counts.
pub(super) fn checks(figures: &StatedFigures) -> Option<UnknownRecords> {
    let count = |name| figures.count("checks", name);
    let (passed, failed) = (count("passes")?, count("fails")?);
    let share = figures.get("checks", "rate").or(figures.get("checks", "value"))?;
    let by_share = (share * (passed + failed) as f64).round() as u64;
    (by_share != passed).then(|| UnknownRecords {
        of: UnknownSubject::Checks,
        basis: UnknownBasis::Totals,
        scenario: String::new(),
        endpoint: String::new(),
        more: Some(0),
        doubtful: by_share.abs_diff(passed),
        why: format!("{passed} of {} checks passed, and their share is {share}.", passed + failed),
    })
}

fn summary(figures: &StatedFigures, selected: SelectedRequests) -> RequestSummary {
    let find = |base: &str, is_of_successes: bool| {
        figures.subjects().find(|metric| {
            let (of, tags) = parts(metric);
            let has_successes = tags.split(',').any(|tag| tag == "expected_response:true");
            of == base
                && has_successes == is_of_successes
                && SelectedRequests::from_tags(tags).is_some_and(|tags| tags == selected)
        })
    };
    let whole = find("http_req_failed", false);
    // `http_req_failed` is a share of requests that are true: those that failed.
    let failed = whole.and_then(|metric| figures.count(metric, "passes"));
    let others = whole.and_then(|metric| figures.count(metric, "fails"));
    let count_of = |base: &str| find(base, false).and_then(|metric| figures.count(metric, "count"));
    // A trend has a count where the script asks for it.
    let counted = count_of("http_reqs").or_else(|| count_of("http_req_duration"));
    let requests = failed.zip(others).map(|(failed, others)| failed + others).or(counted);
    let failed = failed.filter(|_| others.is_some());
    let times = requests.and_then(|count| figures.times(find("http_req_duration", false)?, count, failed));
    let successes = requests.zip(failed).and_then(|(requests, failed)| {
        figures.times(find("http_req_duration", true)?, requests - failed, Some(0))
    });
    RequestSummary {
        requests,
        failed,
        // Where those of a tag are not counted, no more of them came in a second than of all.
        per_s: find("http_reqs", false)
            .and_then(|metric| figures.get(metric, "rate"))
            .or_else(|| figures.get("http_reqs", "rate")),
        dropped: requests.map_or(0, |requests| dropped(figures, requests)),
        times: times.into_iter().chain(successes).collect(),
        checks_passed: figures.count("checks", "passes").filter(|_| selected == SelectedRequests::default()),
        checks_failed: figures.count("checks", "fails").filter(|_| selected == SelectedRequests::default()),
        scenario: selected.scenario,
        endpoint: selected.endpoint,
    }
}

/// How many requests the dropped iterations would have sent, if each were like those that ran.
fn dropped(figures: &StatedFigures, requests: u64) -> u64 {
    let iterations = figures.get("iterations", "count").filter(|count| *count > 0.0);
    let dropped = figures.get("dropped_iterations", "count").unwrap_or(0.0);
    (dropped * requests as f64 / iterations.unwrap_or(requests.max(1) as f64)).ceil() as u64
}
