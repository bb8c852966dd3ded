//! The report as JUnit XML: a case for each claim and one for the run as a whole.
//!
//! FAIL is a `failure`: the target missed what was asked. INVALID and INCONCLUSIVE are an `error`: the
//! test itself did not answer. Both make a CI job red, and a reader can tell which it was. The whole run
//! has a case of its own because it can be invalid without a single claim.

use std::time::Duration;

use evidence::Verdict;
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::number;
use crate::summary::{Asked, Summary};

/// The report as JUnit XML.
pub fn junit(summary: &Summary) -> String {
    let elapsed = Duration::from_secs(u64::from(summary.header.seconds));
    let mut suite = TestSuite::new(summary.header.name.as_str());
    suite.set_time(elapsed);
    suite.add_property(("workload_digest", summary.header.workload_digest.as_str()));
    suite.add_property(("started_at", summary.header.started_at.as_str()));
    suite.add_property(("verdict", summary.judgement.verdict.to_string().as_str()));
    suite.add_test_case(whole(summary));
    for asked in &summary.claims {
        suite.add_test_case(case(summary, asked));
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
    let status = status(summary.judgement.verdict, (&summary.judgement.because, &lines.join("\n")));
    let mut case = TestCase::new("(the whole run)", status);
    case.set_classname(summary.header.name.as_str());
    case
}

fn case(summary: &Summary, asked: &Asked) -> TestCase {
    let claim = &asked.claim;
    let mut seen = format!("observed {}, bound {}", asked.observed(), asked.bound());
    if let Some(interval) = asked.interval() {
        seen.push_str(&format!(", 95 % interval {interval}"));
    }
    seen.push_str(&format!(", n = {}", number::count(claim.samples)));
    let description = format!("{}\n{seen}\n{}", claim.text, claim.reasons.join("\n"));
    let mut case = TestCase::new(claim.name.as_str(), status(claim.verdict, (&seen, &description)));
    case.set_classname(summary.header.name.as_str());
    case.set_system_out(format!("{}: {seen}", claim.text));
    case
}

fn status(verdict: Verdict, (message, description): (&str, &str)) -> TestCaseStatus {
    let kind = match verdict {
        Verdict::Pass | Verdict::Measured => return TestCaseStatus::success(),
        Verdict::Fail => NonSuccessKind::Failure,
        Verdict::Inconclusive | Verdict::Invalid => NonSuccessKind::Error,
    };
    let mut status = TestCaseStatus::non_success(kind);
    status.set_type(verdict.to_string());
    status.set_message(message);
    status.set_description(description);
    status
}
