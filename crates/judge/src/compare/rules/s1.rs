//! S1: one run each.

use evidence::{Finding, Scope, Severity};

use crate::compare::known::Pair;
use crate::rule::named;

pub(crate) fn rule(_: &Pair<'_, '_>) -> Vec<Finding> {
    let what = "One run each cannot show more than this host's run-to-run spread, and that was not measured: any \
                difference here may be the difference between two starts of one program.";
    vec![named("S1").finding(Severity::Inconclusive, Scope::default(), what.to_owned())]
}
