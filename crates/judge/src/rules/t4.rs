//! T4: a phase in which the target did not work.

use std::collections::BTreeMap;

use evidence::{Finding, Outcome, Scope, Severity};

use crate::facts::{Cell, Facts, Span};
use crate::rule::{named, with_figures};
use crate::thresholds::WORKING;
use crate::words;

pub(crate) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    facts.tables.spans.iter().flat_map(|span| in_phase(facts, span)).collect()
}

/// One finding for the phase if all of it is broken, else one for each endpoint that is.
fn in_phase(facts: &Facts<'_>, span: &Span) -> Vec<Finding> {
    let cells: Vec<&Cell> = facts.tables.cells.iter().filter(|c| *c.place.phase == *span.name).collect();
    let phase = Scope { phase: Some(span.name.clone()), ..Scope::default() };
    if let Some(finding) = broken(&cells, phase, span) {
        return vec![finding];
    }
    cells.iter().filter_map(|cell| broken(&[*cell], cell.place.scope(), span)).collect()
}

fn broken(cells: &[&Cell], scope: Scope, span: &Span) -> Option<Finding> {
    let asked: u64 = cells.iter().map(|c| c.asked()).sum();
    let ok: u64 = cells.iter().map(|c| c.ok.count()).sum();
    let share = ok as f64 / asked.max(1) as f64;
    if asked == 0 || share >= WORKING {
        return None;
    }
    let of = scope.endpoint.as_ref().map(|endpoint| format!(" of `{endpoint}`")).unwrap_or_default();
    let what = format!(
        "{} success{of} for {} of `{}` ({} of {}): {}. Its latencies are not those of a working target.",
        words::percent(share),
        words::ms(span.length_s() * 1e3),
        span.name,
        words::whole(ok),
        words::whole(asked),
        mostly(cells)
    );
    let figures = [("success", share * 100.0, "%"), ("threshold", WORKING * 100.0, "%")];
    Some(with_figures(named("T4").finding(Severity::Invalid, scope, what), &figures))
}

/// How most of them failed.
fn mostly(cells: &[&Cell]) -> String {
    let mut failures: BTreeMap<Outcome, u64> = BTreeMap::new();
    for (outcome, n) in cells.iter().flat_map(|c| &c.outcomes).filter(|(outcome, _)| outcome.is_failure()) {
        *failures.entry(*outcome).or_default() += n;
    }
    let dropped: u64 = cells.iter().map(|c| c.dropped_cap).sum();
    match failures.into_iter().max_by_key(|(outcome, n)| (*n, std::cmp::Reverse(*outcome))) {
        Some((outcome, n)) if n >= dropped => format!("{} ended in `{outcome}`", words::whole(n)),
        _ => format!("{} were dropped at the cap", words::whole(dropped)),
    }
}

#[cfg(test)]
mod tests {
    use evidence::Outcome;

    use crate::testing::{Bench, Load};

    #[test]
    fn a_dead_target_voids_the_phase() {
        let dead = Load { failed: 100, outcome: Outcome::Refused, ..Load::of(0) };
        let bench = Bench::new().offer("warm-up", "list", Load::of(100)).offer("steady", "list", dead);
        insta::assert_snapshot!(bench.findings(super::rule), @r#"
        invalid [steady] 0 % success for 60 s of `steady` (0 of 6,000): 6,000 ended in `refused`. Its latencies are not those of a working target.
          success Some(0.0) %, threshold Some(50.0) %
        "#);
    }

    #[test]
    fn a_dead_endpoint_voids_itself_alone() {
        let dead = Load { failed: 9, outcome: Outcome::Http5xx, ..Load::of(1) };
        let bench = Bench::new().offer("steady", "list", Load::of(100)).offer("steady", "claim", dead);
        insta::assert_snapshot!(bench.findings(super::rule), @r#"
        invalid [steady/play/claim] 10 % success of `claim` for 60 s of `steady` (60 of 600): 540 ended in `http_5xx`. Its latencies are not those of a working target.
          success Some(10.0) %, threshold Some(50.0) %
        "#);
    }

    #[test]
    fn a_target_that_fails_now_and_then_still_works() {
        let bench = Bench::new().offer("steady", "list", Load { failed: 49, ..Load::of(51) });
        insta::assert_snapshot!(bench.findings(super::rule), @"nothing");
    }
}
