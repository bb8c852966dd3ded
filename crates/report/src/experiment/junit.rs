//! An experiment as JUnit XML: one case per metric and one for the whole.
//!
//! REGRESSED is a `failure`; INCONCLUSIVE and INVALID are an `error`: the test has no result.

use std::iter;

use evidence::{MetricAnswer, visible};

use super::{ExperimentSummary, format};
use crate::test_suite::{Mishap, TestCase, TestSuite};

/// The experiment as JUnit XML.
pub fn junit(experiment: &ExperimentSummary) -> String {
    let judgement = &experiment.judgement;
    let lines: Vec<String> =
        judgement.findings.iter().map(|f| format!("{} {}: {}", f.severity, f.name, f.what)).collect();
    let verdict = judgement.verdict;
    let whole = TestCase {
        name: "(the whole experiment)".to_owned(),
        mishap: Mishap::of(verdict, &verdict.to_string(), &judgement.because, &lines),
        output: None,
    };
    let suite = TestSuite {
        name: visible(&experiment.name).into_owned(),
        time: None,
        properties: vec![("verdict", verdict.to_string()), ("pairs", judgement.pairs.to_string())],
        cases: iter::once(whole).chain(judgement.metrics.iter().map(case)).collect(),
    };
    suite.xml()
}

fn case(metric: &MetricAnswer) -> TestCase {
    let numbers = format!(
        "{}: {}, 95 % interval {}, margin {}, {} pairs",
        metric.of,
        format::effect_or_none(metric),
        format::interval(metric),
        format::margin(metric),
        metric.pairs
    );
    let name = metric.verdict.to_string();
    let lines = std::slice::from_ref(&metric.because);
    TestCase {
        name: visible(&metric.name).into_owned(),
        mishap: Mishap::of(metric.verdict.verdict(), &name, &numbers, lines),
        output: Some(visible(&format!("{name}: {numbers}")).into_owned()),
    }
}
