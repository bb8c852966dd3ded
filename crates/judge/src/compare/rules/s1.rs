//! S1: one run each. A run compared with itself is reported by C8.

use evidence::{Finding, Scope, Severity};

use crate::compare::judged_run::Pair;
use crate::rule::rule_by_id;

use super::c8::is_same_run;

pub(crate) fn rule(pair: &Pair<'_, '_>) -> Vec<Finding> {
    if is_same_run(pair.base, pair.new) {
        return Vec::new();
    }
    let what = "One run each cannot show more than this host's run-to-run spread, and that was not measured: any \
                difference here may be the difference between two starts of one program.";
    vec![rule_by_id("S1").finding(Severity::Inconclusive, Scope::default(), what.to_owned())]
}
