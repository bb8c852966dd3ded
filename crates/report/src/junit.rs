//! The report as JUnit XML: one case per claim and one for the whole run.
//!
//! FAIL is a `failure`: the target violated an objective. INVALID and INCONCLUSIVE are an `error`: the test has no result.
//! Both fail a CI job. The whole run has a case of its own because it can be invalid without any claim.

use std::iter;
use std::time::Duration;

use evidence::{Reason, Verdict, visible};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::number;
use crate::summary::{ClaimSummary, Summary};

/// The report as JUnit XML.
pub fn junit(summary: &Summary) -> String {
    let elapsed = Duration::from_secs(u64::from(summary.header.seconds));
    let mut suite = TestSuite::new(visible(&summary.header.name));
    suite.set_time(elapsed);
    suite.add_property(("workload_digest", visible(&summary.header.workload_digest).as_ref()));
    suite.add_property(("started_at", visible(&summary.header.started_at).as_ref()));
    suite.add_property(("verdict", summary.judgement.verdict.to_string().as_str()));
    suite.add_test_case(whole(summary));
    for shown in &summary.claims {
        suite.add_test_case(case(summary, shown));
    }
    let mut report = Report::new("plimsoll");
    report.set_time(elapsed);
    report.add_test_suite(suite);
    report.to_string().expect("writing XML to memory cannot fail")
}

fn whole(summary: &Summary) -> TestCase {
    let findings = summary.judgement.findings.iter();
    let lines: Vec<String> =
        findings.map(|f| format!("{} {} {}: {}", f.severity, f.rule, f.title, f.what)).collect();
    let status = status(summary.judgement.verdict, &summary.judgement.because, &lines);
    let mut case = TestCase::new("(the whole run)", status);
    case.set_classname(visible(&summary.header.name));
    case
}

fn case(summary: &Summary, shown: &ClaimSummary) -> TestCase {
    let claim = &shown.claim;
    let mut numbers = format!("observed {}, limit {}", shown.observed(), shown.bound());
    if let Some(interval) = shown.interval() {
        numbers.push_str(&format!(", 95 % interval {interval}"));
    }
    numbers.push_str(&format!(", n = {}", number::count(claim.samples)));
    if let Some(holds) = claim.holds_in_k6 {
        numbers.push_str(if holds { ", met in k6" } else { ", not met in k6" });
    }
    let mut description = vec![claim.text.clone(), numbers.clone()];
    description.extend(claim.reasons.iter().map(Reason::to_string));
    let mut case = TestCase::new(visible(&claim.name), status(claim.verdict, &numbers, &description));
    case.set_classname(visible(&summary.header.name));
    let share = claim.share.iter().map(|share| share.sentence.as_str());
    let out: Vec<String> = iter::once(format!("{}: {numbers}", claim.text).as_str())
        .chain(share)
        .map(|line| visible(line).into_owned())
        .collect();
    case.set_system_out(out.join("\n"));
    case
}

fn status(verdict: Verdict, message: &str, description: &[String]) -> TestCaseStatus {
    let kind = match verdict {
        Verdict::Pass | Verdict::Measured => return TestCaseStatus::success(),
        Verdict::Fail => NonSuccessKind::Failure,
        Verdict::Inconclusive | Verdict::Invalid => NonSuccessKind::Error,
    };
    let mut status = TestCaseStatus::non_success(kind);
    status.set_type(verdict.to_string());
    status.set_message(visible(message));
    let description: Vec<_> = description.iter().map(|line| visible(line)).collect();
    status.set_description(description.join("\n"));
    status
}
