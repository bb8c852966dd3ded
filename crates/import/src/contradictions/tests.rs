use evidence::manifest::StatedQuantile;
use evidence::{Metric, Outcome};

use super::*;
use crate::event::{EndpointRef, Event, Receive as _};

/// A file with `ok` requests of 10 ms and `failed` of 30 ms.
fn records(ok: u64, failed: u64) -> Survey {
    let mut survey = Survey::default();
    let each = (0..ok).map(|_| (Outcome::Ok, 10)).chain((0..failed).map(|_| (Outcome::Http5xx, 30)));
    for (outcome, ms) in each {
        let (metric, subject, nanos) = (Metric::ResponseTime, EndpointRef::default(), ms * 1_000_000);
        let outcome = Some(outcome);
        survey.receive(Event::Times { metric, subject, outcome, end: 0, nanos }).unwrap();
    }
    survey
}

/// A file without records.
fn stating(summaries: Vec<RequestSummary>, stated: Vec<StatedTotal>) -> Survey {
    let mut survey = Survey::default();
    (survey.summaries, survey.stated) = (summaries, stated);
    survey
}

fn summary(requests: u64, failed: Option<u64>) -> RequestSummary {
    RequestSummary { requests: Some(requests), failed, ..RequestSummary::default() }
}

/// How many requests more there are, and how many are contradicted, by each contradiction.
fn numbers(files: &[&Survey]) -> Vec<(u64, u64)> {
    let numbers = |unknown: UnknownRecords| (unknown.more.unwrap(), unknown.doubtful);
    contradictions(files, false).into_iter().map(numbers).collect()
}

#[test]
fn a_total_is_compared_with_the_records_of_the_same_run() {
    for (requests, failed, expected) in [
        (100, Some(10), vec![]),
        (100, None, vec![]),
        (160, Some(10), vec![(60, 0)]),
        (160, Some(70), vec![(60, 0)]),
        (160, Some(75), vec![(60, 5)]),
        (90, Some(10), vec![(0, 10)]),
        (100, Some(40), vec![(0, 30)]),
        (100, Some(0), vec![(0, 10)]),
    ] {
        let mut file = records(90, 10);
        file.summaries.push(summary(requests, failed));
        assert_eq!(numbers(&[&file]), expected, "{requests} {failed:?}");
        let beside = stating(file.summaries.clone(), Vec::new());
        assert_eq!(numbers(&[&records(90, 10), &beside]), expected, "in another file");
    }
}

#[test]
fn a_total_of_some_requests_is_a_lower_limit() {
    let mut file = records(90, 10);
    let stated = |requests, failed| StatedTotal {
        requests: Some(requests),
        failed: Some(failed),
        is_lower_limit: true,
        ..StatedTotal::default()
    };
    file.stated = vec![stated(50, 3)];
    assert_eq!(numbers(&[&file]), []);
    file.stated = vec![stated(101, 12)];
    assert_eq!(numbers(&[&file]), [(1, 1)]);
}

#[test]
fn quantiles_that_the_records_do_not_have_make_as_many_of_them_doubtful() {
    let quantile = |q: f64, ms: f64| StatedQuantile { q, ms };
    for (quantiles, failed, expected) in [
        (vec![quantile(0.5, 10.0), quantile(0.9, 10.0), quantile(1.0, 10.0)], Some(0), vec![]),
        // Of 900 at least 90, less one, are 20 ms or longer; none is.
        (vec![quantile(0.9, 20.0)], Some(0), vec![(0, 89)]),
        (vec![quantile(1.0, 20.0)], Some(0), vec![(0, 1)]),
        (vec![quantile(0.5, 5.0)], Some(0), vec![(0, 449)]),
        // With the failures, 100 are.
        (vec![quantile(0.9, 20.0)], Some(100), vec![]),
        (vec![quantile(0.8, 20.0)], Some(100), vec![(0, 99)]),
    ] {
        let count = if failed == Some(0) { 900 } else { 1_000 };
        let times = TimesSummary { count, failed, rounding: 0.0, quantiles };
        let mut file = records(900, 100);
        file.summaries.push(RequestSummary { times: vec![times], ..summary(1_000, Some(100)) });
        assert_eq!(numbers(&[&file]), expected, "{:?}", file.summaries);
    }
}

#[test]
fn totals_without_records_are_compared_with_each_other() {
    let total = |requests, failed| StatedTotal { requests, failed, ..StatedTotal::default() };
    let with = |stated| numbers(&[&stating(vec![summary(100, Some(2))], stated)]);
    assert_eq!(with(vec![total(Some(100), Some(2)), total(None, Some(2))]), []);
    let others = vec![total(Some(150), None), total(None, Some(9)), total(Some(80), Some(0))];
    assert_eq!(with(others), [(50, 0), (0, 7), (0, 20)]);
}

#[test]
fn files_of_several_machines_are_compared_each_with_itself() {
    let machine = |requests| {
        let mut file = records(90, 10);
        file.summaries.push(summary(requests, Some(10)));
        file
    };
    let (a, b) = (machine(100), machine(130));
    assert_eq!(numbers(&[&a, &a]), []);
    assert_eq!(numbers(&[&b, &b]), [(30, 0), (30, 0)], "which add up");
    assert!(contradictions(&[&b, &b], false).iter().all(|own| own.basis == UnknownBasis::Records));
}

#[test]
fn a_total_limits_what_a_cut_file_lacks() {
    let mut file = records(90, 10);
    file.summaries.push(summary(100, Some(10)));
    assert_eq!(contradictions(&[&file], true).len(), 1);
    assert_eq!(contradictions(&[&records(90, 10)], true), []);
}
