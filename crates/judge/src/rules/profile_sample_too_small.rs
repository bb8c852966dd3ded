//! Q8: functions of a profile that rest on a few samples.
//!
//! The test is where profiles are read: in the crate `profile`.

use evidence::{RuleId, Severity};

use crate::rule::{AffectedClaims, Check, Rule};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::Q8,
    title: "profile-sample-too-small",
    severity: Severity::Inconclusive,
    tests: "Functions of a profile with fewer than 25 samples of CPU or of waiting, or fewer than 20 of the heap \
            (about 10 MiB at one sample in 512 KiB). They are marked in tables of functions, and their difference \
            between two profiles is not tested. Where a profile does not contain how it was sampled, that is \
            reported instead.",
    affects: "statements about that function",
    why: "The number of samples is random: two samples may as well have been five, or none.",
    next: "Profile for longer, or under more load.",
    affected: AffectedClaims::Named,
    check: Check::Elsewhere,
};
