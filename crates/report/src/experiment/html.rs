//! An experiment as one self-contained HTML file.

use askama::Template;
use evidence::{ExperimentFinding, MetricAnswer, MetricVerdict, PairOrder, Severity};

use super::{ExperimentSummary, PairOfRuns, costs, dots, format};
use crate::html::policy;
use crate::html::view::verdict_class;
use crate::text::{self, visible};

/// The style of this page alone.
const STYLE: &str = include_str!("../../templates/experiment.css");

struct MetricView {
    name: String,
    of: String,
    verdict: String,
    class: &'static str,
    because: String,
    cells: Vec<String>,
    dots: Option<String>,
}

struct FindingView {
    severity: String,
    class: &'static str,
    name: String,
    what: String,
    next: String,
}

struct CostView {
    place: String,
    name: String,
    difference: String,
    sides: [String; 2],
    p: String,
}

struct PairView {
    number: u32,
    order: &'static str,
    changes: Vec<String>,
    files: [String; 2],
}

#[derive(Template)]
#[template(path = "experiment.html")]
struct Page {
    policy: String,
    styles: [&'static str; 2],
    name: String,
    verdict: String,
    class: &'static str,
    because: String,
    arms: [String; 2],
    basis: String,
    metrics: Vec<MetricView>,
    too_coarse: Vec<String>,
    findings: Vec<FindingView>,
    costs_note: &'static str,
    costs: Vec<CostView>,
    also_moved: Vec<(String, String, String)>,
    pairs: Vec<PairView>,
}

/// The experiment as one self-contained HTML file.
pub fn html(experiment: &ExperimentSummary) -> String {
    let judgement = &experiment.judgement;
    let page = Page {
        policy: policy::content_security_policy(&[policy::STYLE, STYLE], &[]),
        styles: [policy::STYLE, STYLE],
        name: visible(&experiment.name),
        verdict: judgement.verdict.to_string(),
        class: verdict_class(judgement.verdict),
        because: visible(&judgement.because),
        arms: [visible(&experiment.arms[0]), visible(&experiment.arms[1])],
        basis: visible(&format::basis(judgement)),
        metrics: judgement.metrics.iter().map(metric).collect(),
        too_coarse: judgement.metrics.iter().filter_map(format::too_coarse).map(|s| visible(&s)).collect(),
        findings: judgement.findings.iter().map(finding).collect(),
        costs_note: costs::NOTE,
        costs: judgement
            .moved_most
            .iter()
            .map(|moved| CostView {
                place: moved.place.to_string(),
                name: visible(&moved.name),
                difference: costs::difference(moved),
                sides: moved.ms.map(costs::time),
                p: format::probability(Some(moved.p)),
            })
            .collect(),
        also_moved: judgement
            .also_moved
            .iter()
            .map(|mover| {
                let effect = format!("{:+.1} %", mover.effect * 100.0);
                (visible(&mover.name), effect, format::probability(Some(mover.p)))
            })
            .collect(),
        pairs: pairs(experiment),
    };
    text::page(&page)
}

fn metric(metric: &MetricAnswer) -> MetricView {
    MetricView {
        name: visible(&metric.name),
        of: visible(&metric.of),
        verdict: metric.verdict.to_string(),
        class: match metric.verdict {
            MetricVerdict::Regressed => "fail",
            MetricVerdict::Improved | MetricVerdict::NoRegression | MetricVerdict::Equivalent => "pass",
            MetricVerdict::Inconclusive => "inconclusive",
            MetricVerdict::Invalid => "invalid",
        },
        because: visible(&metric.because),
        cells: vec![
            format::value(metric, metric.medians[0]),
            format::value(metric, metric.medians[1]),
            format::effect_or_none(metric),
            format::interval(metric),
            format::margin(metric),
            format::probability(metric.p),
            format::deviation(metric),
            format::smallest_visible(metric),
        ],
        dots: dots::svg(metric),
    }
}

fn finding(finding: &ExperimentFinding) -> FindingView {
    FindingView {
        severity: finding.severity.to_string(),
        class: match finding.severity {
            Severity::Invalid => "invalid",
            Severity::Inconclusive => "inconclusive",
            Severity::Fail => "fail",
            Severity::Caution => "caution",
            Severity::Info => "measured",
        },
        name: visible(&finding.name),
        what: visible(&finding.what),
        next: visible(&finding.next),
    }
}

fn pairs(experiment: &ExperimentSummary) -> Vec<PairView> {
    let by_metric: Vec<(&MetricAnswer, Vec<Option<f64>>)> =
        experiment.judgement.metrics.iter().map(|metric| (metric, dots::changes(metric))).collect();
    let view = |(at, pair): (usize, &PairOfRuns)| PairView {
        number: pair.number,
        order: if pair.order == PairOrder::Ab { "A, B" } else { "B, A" },
        changes: by_metric
            .iter()
            .map(|(metric, changes)| {
                let change = changes.get(at).copied().flatten();
                crate::number::or_not_measured(change, |change| format::effect(metric, change))
            })
            .collect(),
        files: [visible(&pair.files[0]), visible(&pair.files[1])],
    };
    experiment.runs.iter().enumerate().map(view).collect()
}
