//! The rules: each a small pure function from facts to findings, one file each (`imported.rs` has those of imported
//! runs).
//!
//! A rule returns findings and their severity. Which claims they affect is decided in `claims`, by the rule's row in the
//! table (`crate::rule`). Add a rule as a file here and a row there.

pub(crate) mod a1;
mod imported;
mod l1;
mod l2;
mod l3;
mod l4;
mod l5;
mod l6;
mod l7;
mod m4;
pub(crate) mod m6;
mod o1;
mod q1;
mod q2;
mod q3;
mod q4;
mod q5;
mod q7;
mod q9;
mod s4;
mod s9;
mod t1;
mod t2;
mod t4;
mod t5;

use evidence::Finding;

use crate::facts::Facts;

/// Every rule on the evidence. M6 is a rule on the claims.
const EVIDENCE_RULES: [fn(&Facts<'_>) -> Vec<Finding>; 24] = [
    a1::rule,
    imported::rule,
    l1::rule,
    l2::rule,
    l3::rule,
    l4::rule,
    l5::rule,
    l6::rule,
    l7::rule,
    q1::rule,
    q2::rule,
    q3::rule,
    q4::rule,
    q5::rule,
    q7::rule,
    q9::rule,
    s4::rule,
    s9::rule,
    t1::rule,
    t2::rule,
    t4::rule,
    t5::rule,
    m4::rule,
    o1::rule,
];

/// The findings of all rules on the evidence.
pub(crate) fn findings(facts: &Facts<'_>) -> Vec<Finding> {
    EVIDENCE_RULES.iter().flat_map(|rule| rule(facts)).collect()
}
