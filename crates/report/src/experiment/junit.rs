//! An experiment as JUnit XML: one case per metric and one for the whole.
//!
//! REGRESSED is a `failure`; INCONCLUSIVE and INVALID are an `error`: the test has no result.

use evidence::{MetricAnswer, Verdict, visible};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::{ExperimentSummary, format};

/// The experiment as JUnit XML.
pub fn junit(experiment: &ExperimentSummary) -> String {
    let judgement = &experiment.judgement;
    let mut suite = TestSuite::new(visible(&experiment.name));
    suite.add_property(("verdict", judgement.verdict.to_string().as_str()));
    suite.add_property(("pairs", judgement.pairs.to_string().as_str()));
    let lines: Vec<String> =
        judgement.findings.iter().map(|f| format!("{} {}: {}", f.severity, f.name, f.what)).collect();
    let name = judgement.verdict.to_string();
    let of_whole = Outcome { verdict: judgement.verdict, name: &name, message: &judgement.because };
    let mut whole = TestCase::new("(the whole experiment)", status(&of_whole, &lines));
    whole.set_classname(visible(&experiment.name));
    suite.add_test_case(whole);
    for metric in &judgement.metrics {
        suite.add_test_case(case(experiment, metric));
    }
    let mut report = Report::new("plimsoll");
    report.add_test_suite(suite);
    report.to_string().expect("writing XML to memory cannot fail")
}

fn case(experiment: &ExperimentSummary, metric: &MetricAnswer) -> TestCase {
    let numbers = format!(
        "{}: {}, 95 % interval {}, margin {}, {} pairs",
        metric.of,
        format::effect_or_none(metric),
        format::interval(metric),
        format::margin(metric),
        metric.pairs
    );
    let name = metric.verdict.to_string();
    let of_metric = Outcome { verdict: metric.verdict.verdict(), name: &name, message: &numbers };
    let mut case =
        TestCase::new(visible(&metric.name), status(&of_metric, std::slice::from_ref(&metric.because)));
    case.set_classname(visible(&experiment.name));
    case.set_system_out(visible(&format!("{name}: {numbers}")).into_owned());
    case
}

/// What a case has to say.
struct Outcome<'a> {
    verdict: Verdict,
    name: &'a str,
    message: &'a str,
}

fn status(outcome: &Outcome<'_>, lines: &[String]) -> TestCaseStatus {
    let kind = match outcome.verdict {
        Verdict::Pass | Verdict::Measured => return TestCaseStatus::success(),
        Verdict::Fail => NonSuccessKind::Failure,
        Verdict::Inconclusive | Verdict::Invalid => NonSuccessKind::Error,
    };
    let mut status = TestCaseStatus::non_success(kind);
    status.set_type(outcome.name);
    status.set_message(visible(outcome.message));
    let lines: Vec<_> = lines.iter().map(|line| visible(line)).collect();
    status.set_description(lines.join("\n"));
    status
}
