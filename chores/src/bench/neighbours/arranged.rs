//! What is run, and what its verdict has to be.

use crate::bench::run_report::{Claim, RunReport};

/// One arranged truth.
pub(super) struct ArrangedRun {
    pub(super) name: &'static str,
    /// What is run, for the table.
    pub(super) text: &'static str,
    pub(super) target: TargetKind,
    pub(super) neighbours: Neighbours,
    pub(super) expected: Expected,
    /// A long run is carried out once.
    pub(super) most_runs: u64,
}

/// What answers the load.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TargetKind {
    /// The challenge service, with these injected faults.
    Service { faults: &'static str },
    /// Two targets that answer every request alike.
    Failing { status: &'static str, grpc_code: &'static str },
    /// A target that freezes once in a long run.
    Outage,
}

/// Who else uses the machine.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Neighbours {
    None,
    /// One process a processor that takes half of it.
    Half,
}

/// What the verdicts must be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// Every objective on latency is met, and none is violated or invalid.
    Passes,
    /// The run violates an objective.
    Fails,
    /// None of these objectives is met.
    NoneMet(&'static [&'static str]),
}

const SLOW: TargetKind = TargetKind::Service { faults: "sleep=75" };
const FAST: TargetKind = TargetKind::Service { faults: "" };
const UNAVAILABLE: TargetKind = TargetKind::Failing { status: "503", grpc_code: "14" };
const ERROR: TargetKind = TargetKind::Failing { status: "500", grpc_code: "13" };
/// The objective of the demo's plan whose bound is 50 ms.
const SLOW_OBJECTIVE: &[&str] = &["later_start"];
const ANY_NUMBER: u64 = u64::MAX;

pub(super) const ARRANGED: [ArrangedRun; 9] = [
    ArrangedRun {
        name: "quiet",
        text: "the service, quiet",
        target: FAST,
        neighbours: Neighbours::None,
        expected: Expected::Passes,
        most_runs: ANY_NUMBER,
    },
    ArrangedRun {
        name: "beside",
        text: "the service, beside neighbours",
        target: FAST,
        neighbours: Neighbours::Half,
        expected: Expected::Passes,
        most_runs: ANY_NUMBER,
    },
    ArrangedRun {
        name: "slow",
        text: "75 ms slower, 50 ms allowed to one endpoint; quiet",
        target: SLOW,
        neighbours: Neighbours::None,
        expected: Expected::Fails,
        most_runs: ANY_NUMBER,
    },
    ArrangedRun {
        name: "slow-beside",
        text: "75 ms slower, 50 ms allowed to one endpoint; beside neighbours",
        target: SLOW,
        neighbours: Neighbours::Half,
        expected: Expected::NoneMet(SLOW_OBJECTIVE),
        most_runs: ANY_NUMBER,
    },
    ArrangedRun {
        name: "500",
        text: "every response 500 or INTERNAL, quiet",
        target: ERROR,
        neighbours: Neighbours::None,
        expected: Expected::Fails,
        most_runs: ANY_NUMBER,
    },
    ArrangedRun {
        name: "500-beside",
        text: "every response 500 or INTERNAL, beside neighbours",
        target: ERROR,
        neighbours: Neighbours::Half,
        expected: Expected::Fails,
        most_runs: ANY_NUMBER,
    },
    ArrangedRun {
        name: "503",
        text: "every response 503 or UNAVAILABLE, quiet",
        target: UNAVAILABLE,
        neighbours: Neighbours::None,
        expected: Expected::Fails,
        most_runs: ANY_NUMBER,
    },
    ArrangedRun {
        name: "503-beside",
        text: "every response 503 or UNAVAILABLE, beside neighbours",
        target: UNAVAILABLE,
        neighbours: Neighbours::Half,
        expected: Expected::Fails,
        most_runs: ANY_NUMBER,
    },
    ArrangedRun {
        name: "outage",
        text: "frozen for 1.5 % of a long run, `p96 < 50ms` and `error_rate < 0.05%`",
        target: TargetKind::Outage,
        neighbours: Neighbours::None,
        expected: Expected::NoneMet(&["fast", "few_errors"]),
        most_runs: 1,
    },
];

impl Expected {
    /// For the table.
    pub(super) fn text(self) -> String {
        match self {
            Expected::Passes => "every objective on latency PASS, none FAIL or INVALID".to_owned(),
            Expected::Fails => "FAIL".to_owned(),
            Expected::NoneMet(names) => format!("never PASS: `{}`", names.join("`, `")),
        }
    }

    /// How many of so many runs must be as expected.
    pub(super) fn required(self, runs: u64) -> u64 {
        match self {
            Expected::Passes | Expected::Fails => (runs * 19).div_ceil(20),
            Expected::NoneMet(_) => runs,
        }
    }

    /// Whether a run is as expected.
    pub(super) fn is_met_by(self, report: &RunReport) -> bool {
        let claims = report.claims();
        match self {
            Expected::Passes => {
                let is_wrong = |claim: &Claim| match &*claim.verdict {
                    "PASS" => false,
                    "INCONCLUSIVE" => claim.is_on_latency(),
                    _ => true,
                };
                !claims.is_empty() && !claims.iter().any(is_wrong)
            }
            Expected::Fails => report.verdict() == "FAIL",
            Expected::NoneMet(names) => {
                let is_unmet =
                    |name: &&str| claims.iter().any(|one| one.name == **name && one.verdict != "PASS");
                report.verdict() != "PASS" && names.iter().all(is_unmet)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn is_met(expected: Expected, verdict: &str, claims: [&str; 2]) -> bool {
        let mut report = crate::bench::run_report::tests::report();
        report["verdict"] = verdict.into();
        let claim = |name: &str, unit: &str, verdict: &str| -> Value {
            json!({ "name": name, "verdict": verdict, "observed": { "value": 1.0, "unit": unit } })
        };
        report["claims"] = json!([claim("fast", "ms", claims[0]), claim("few_errors", "1", claims[1])]);
        expected.is_met_by(&RunReport::new(report).expect("a sound report"))
    }

    #[test]
    fn a_sound_target_may_leave_undecided_what_is_not_on_latency() {
        let passes = |verdict, claims| is_met(Expected::Passes, verdict, claims);
        assert!(passes("PASS", ["PASS", "PASS"]) && passes("INCONCLUSIVE", ["PASS", "INCONCLUSIVE"]));
        assert!(!passes("INCONCLUSIVE", ["INCONCLUSIVE", "PASS"]) && !passes("FAIL", ["PASS", "FAIL"]));
        assert!(!passes("INVALID", ["PASS", "INVALID"]));
    }

    #[test]
    fn a_violation_is_one_of_the_whole_run() {
        assert!(is_met(Expected::Fails, "FAIL", ["FAIL", "INVALID"]));
        assert!(!is_met(Expected::Fails, "INVALID", ["INVALID", "INVALID"]));
    }

    #[test]
    fn an_objective_that_must_not_be_met_has_to_be_there() {
        let never = |names, claims| is_met(Expected::NoneMet(names), "INCONCLUSIVE", claims);
        assert!(never(&["fast"], ["INVALID", "PASS"]));
        assert!(!never(&["fast", "few_errors"], ["INVALID", "PASS"]) && !never(&["slow"], ["FAIL", "FAIL"]));
    }

    #[test]
    fn nineteen_of_twenty_are_enough_unless_none_may_be_met() {
        assert_eq!([1, 2, 20, 40].map(|runs| Expected::Fails.required(runs)), [1, 2, 19, 38]);
        assert_eq!(Expected::NoneMet(&[]).required(20), 20);
    }
}
