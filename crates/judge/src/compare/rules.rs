//! The rules of pairs: each a small pure function from two runs to findings, one file each.

mod c1;
mod c2;
mod c3;
mod c4;
mod c5;
mod c6;
mod c7;
mod c8;
pub(super) mod m5;
mod s1;
mod s9;
mod t1;
mod t2;

use evidence::Finding;

use super::judged_run::Pair;

/// Every rule on a pair of runs.
const PAIR_RULES: [fn(&Pair<'_, '_>) -> Vec<Finding>; 12] = [
    c1::rule,
    c2::rule,
    c3::rule,
    c4::rule,
    c5::rule,
    c6::rule,
    c7::rule,
    c8::rule,
    s1::rule,
    s9::rule,
    t1::rule,
    t2::rule,
];

/// The findings of all rules on a pair of runs.
pub(super) fn findings(pair: &Pair<'_, '_>) -> Vec<Finding> {
    PAIR_RULES.iter().flat_map(|rule| rule(pair)).collect()
}
