//! Texts, against those that k6 wrote to standard output.

use std::collections::BTreeMap;

use evidence::metric::MetricKind;
use k6::summary::{
    Colours, Contains, Section, SummaryData, SummaryMetric, SummaryMode, handle_summary, summary_text,
    text_summary,
};
use proptest::prelude::*;

use crate::recording::{Recording, file, names};

/// What the recording's name says of how it was made: `SCRIPT-MODE` or `SCRIPT-MODE-colours`.
fn shown(recording: &Recording) -> String {
    let colours = if recording.name.ends_with("-colours") { Colours::On } else { Colours::Off };
    let mode = recording.name.split('-').nth(1).and_then(SummaryMode::from_name);
    summary_text(&recording.summary(), mode.unwrap_or_default(), colours)
}

fn check(name: &str) {
    let shown = shown(&Recording::read(name));
    let expected = file(&format!("{name}/stdout.txt"));
    let mut lines = shown.lines().zip(expected.lines()).enumerate();
    if let Some((number, (ours, theirs))) = lines.find(|(_, (ours, theirs))| ours != theirs) {
        panic!("{name}, line {}:\n ours: {ours:?}\n k6's: {theirs:?}", number + 1);
    }
    assert_eq!(shown, expected, "{name}");
}

#[test]
fn every_summary_is_that_of_k6_byte_for_byte() {
    names().iter().for_each(|name| check(name));
}

#[test]
fn a_disabled_summary_is_empty() {
    let summary = Recording::read("shop-compact").summary();
    assert_eq!(summary_text(&summary, SummaryMode::from_name("disabled").unwrap(), Colours::On), "");
    assert_eq!(SummaryMode::from_name("brief"), None);
}

/// A metric of each kind and each contents, all of whose values are this one.
fn metrics_of(value: f64) -> BTreeMap<String, SummaryMetric> {
    let kinds = [MetricKind::Counter, MetricKind::Gauge, MetricKind::Rate, MetricKind::Trend];
    let contents = [Contains::Default, Contains::Time, Contains::Data];
    let names = ["count", "rate", "value", "min", "max", "passes", "fails", "avg", "med", "p(90)", "p(95)"];
    let metric = |kind: MetricKind, contains: Contains| {
        let values = names.map(|name| (name.to_owned(), value)).into();
        let metric = SummaryMetric { kind, contains, values, thresholds: Vec::new() };
        (format!("{kind}_{}", contains.name()), metric)
    };
    kinds.iter().flat_map(|kind| contents.map(|contains| metric(*kind, contains))).collect()
}

proptest! {
    #[test]
    fn a_summary_of_any_finite_numbers_has_a_line_for_each_metric(bits: u64) {
        let value = f64::from_bits(bits);
        prop_assume!(value.is_finite());
        let total = Section { metrics: metrics_of(value), ..Section::default() };
        let data = SummaryData { total, ..SummaryData::default() };
        for mode in [SummaryMode::Compact, SummaryMode::Legacy] {
            let text = summary_text(&data, mode, Colours::Off);
            let values = text.lines().filter(|line| line.contains("...: "));
            prop_assert_eq!(values.count(), data.total.metrics.len());
        }
        prop_assert!(text_summary(&handle_summary(&data), "", Colours::On).is_ok());
    }
}
