//! A capacity search as JUnit XML: one case for the answer, one for its hold, one for what happens beyond it.
//!
//! FAIL is a `failure`; INCONCLUSIVE and INVALID are an `error`: the test has no result.

use evidence::capacity::Recovery;
use evidence::{Verdict, visible};

use super::{CapacitySummary, format};
use crate::test_suite::{Mishap, TestCase, TestSuite};

/// The search as JUnit XML.
pub fn junit(search: &CapacitySummary) -> String {
    let judgement = &search.judgement;
    let lines: Vec<String> =
        judgement.findings.iter().map(|f| format!("{} {}: {}", f.severity, f.name, f.what)).collect();
    let answer = format::answer(judgement);
    let message = format!("{answer}. {}", judgement.because);
    let mut cases = vec![case("capacity", judgement.verdict, &message, &lines)];
    if let (Some(hold), Some(text)) = (&judgement.hold, format::hold(judgement)) {
        cases.push(case("hold", hold.verdict, &text, &[]));
    }
    if let (Some(overload), Some(text)) = (&judgement.overload, format::recovery(judgement)) {
        // What happens beyond the capacity was not promised: it is shown, and fails nothing.
        let verdict = match overload.recovery {
            Recovery::Recovered => Verdict::Pass,
            _ => Verdict::Measured,
        };
        cases.push(case("overload", verdict, &text, &[]));
    }
    let suite = TestSuite {
        name: visible(&search.name).into_owned(),
        time: None,
        properties: vec![("verdict", judgement.verdict.to_string()), ("answer", answer)],
        cases,
    };
    suite.xml()
}

fn case(name: &str, verdict: Verdict, message: &str, lines: &[String]) -> TestCase {
    TestCase {
        name: name.to_owned(),
        mishap: Mishap::of(verdict, &verdict.to_string(), message, lines),
        output: Some(visible(message).into_owned()),
    }
}
