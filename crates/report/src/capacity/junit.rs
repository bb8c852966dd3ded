//! A capacity search as JUnit XML: one case for the answer, one for its hold, one for what happens beyond it.
//!
//! FAIL is a `failure`; INCONCLUSIVE and INVALID are an `error`: the test has no result.

use evidence::capacity::Recovery;
use evidence::{Verdict, visible};
use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::{CapacitySummary, format};

/// The search as JUnit XML.
pub fn junit(search: &CapacitySummary) -> String {
    let judgement = &search.judgement;
    let mut suite = TestSuite::new(visible(&search.name));
    suite.add_property(("verdict", judgement.verdict.to_string().as_str()));
    suite.add_property(("answer", format::answer(judgement).as_str()));
    let lines: Vec<String> =
        judgement.findings.iter().map(|f| format!("{} {}: {}", f.severity, f.name, f.what)).collect();
    let case = |name: &str, outcome: &Outcome<'_>| {
        let mut case = TestCase::new(visible(name), outcome.status());
        case.set_classname(visible(&search.name));
        case.set_system_out(visible(outcome.message).into_owned());
        case
    };
    let answer = format::answer(judgement);
    let message = format!("{answer}. {}", judgement.because);
    suite.add_test_case(case(
        "capacity",
        &Outcome { verdict: judgement.verdict, message: &message, lines: &lines },
    ));
    if let (Some(hold), Some(text)) = (&judgement.hold, format::hold(judgement)) {
        suite.add_test_case(case("hold", &Outcome { verdict: hold.verdict, message: &text, lines: &[] }));
    }
    if let (Some(overload), Some(text)) = (&judgement.overload, format::recovery(judgement)) {
        // What happens beyond the capacity was not promised: it is shown, and fails nothing.
        let verdict = match overload.recovery {
            Recovery::Recovered => Verdict::Pass,
            _ => Verdict::Measured,
        };
        suite.add_test_case(case("overload", &Outcome { verdict, message: &text, lines: &[] }));
    }
    let mut report = Report::new("plimsoll");
    report.add_test_suite(suite);
    report.to_string().expect("writing XML to memory cannot fail")
}

/// What a case has to say.
struct Outcome<'a> {
    verdict: Verdict,
    message: &'a str,
    lines: &'a [String],
}

impl Outcome<'_> {
    fn status(&self) -> TestCaseStatus {
        let kind = match self.verdict {
            Verdict::Pass | Verdict::Measured => return TestCaseStatus::success(),
            Verdict::Fail => NonSuccessKind::Failure,
            Verdict::Inconclusive | Verdict::Invalid => NonSuccessKind::Error,
        };
        let mut status = TestCaseStatus::non_success(kind);
        status.set_type(self.verdict.to_string());
        status.set_message(visible(self.message));
        let lines: Vec<_> = self.lines.iter().map(|line| visible(line)).collect();
        status.set_description(lines.join("\n"));
        status
    }
}
