//! The report as JUnit XML: one case per claim and one for the whole run.
//!
//! FAIL is a `failure`: the target violated an objective. INVALID and INCONCLUSIVE are an `error`: the test has no result.
//! Both fail a CI job. The whole run has a case of its own because it can be invalid without any claim.

use std::iter;
use std::time::Duration;

use evidence::{Reason, visible};

use crate::number;
use crate::summary::{ClaimSummary, Summary};
use crate::test_suite::{Mishap, TestCase, TestSuite};

/// The report as JUnit XML.
pub fn junit(summary: &Summary) -> String {
    let header = &summary.header;
    let suite = TestSuite {
        name: visible(&header.name).into_owned(),
        time: Some(Duration::from_secs(u64::from(header.seconds))),
        properties: vec![
            ("workload_digest", visible(&header.workload_digest).into_owned()),
            ("started_at", visible(&header.started_at).into_owned()),
            ("verdict", summary.judgement.verdict.to_string()),
        ],
        cases: iter::once(whole(summary)).chain(summary.claims.iter().map(case)).collect(),
    };
    suite.xml()
}

fn whole(summary: &Summary) -> TestCase {
    let judgement = &summary.judgement;
    let findings = judgement.findings.iter();
    let lines: Vec<String> =
        findings.map(|f| format!("{} {} {}: {}", f.severity, f.rule, f.title, f.what)).collect();
    let verdict = judgement.verdict;
    TestCase {
        name: "(the whole run)".to_owned(),
        mishap: Mishap::of(verdict, &verdict.to_string(), &judgement.because, &lines),
        output: None,
    }
}

fn case(shown: &ClaimSummary) -> TestCase {
    let claim = &shown.claim;
    let mut numbers = format!("observed {}, limit {}", shown.observed(), shown.bound());
    if let Some(interval) = shown.interval() {
        numbers.push_str(&format!(", between {interval}, each end at 95 %"));
    }
    numbers.push_str(&format!(", n = {}", number::count(claim.samples)));
    if let Some(holds) = claim.holds_in_k6 {
        numbers.push_str(if holds { ", met in k6" } else { ", not met in k6" });
    }
    let mut description = vec![claim.text.clone(), numbers.clone()];
    description.extend(claim.reasons.iter().map(Reason::to_string));
    let share = claim.share.iter().map(|share| share.sentence.as_str());
    let out: Vec<String> = iter::once(format!("{}: {numbers}", claim.text).as_str())
        .chain(share)
        .map(|line| visible(line).into_owned())
        .collect();
    TestCase {
        name: visible(&claim.name).into_owned(),
        mishap: Mishap::of(claim.verdict, &claim.verdict.to_string(), &numbers, &description),
        output: Some(out.join("\n")),
    }
}
