//! Q1: one number for two populations.

use evidence::{Finding, Severity};

use crate::facts::{Asked, Facts, Group};
use crate::rule::{named, with_figures};
use crate::thresholds::{POOLED_FAILURES, POOLED_GROUP, POOLED_MEDIANS};
use crate::words;

pub(crate) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    facts.asked.iter().filter_map(|asked| pooled(asked, &asked.groups(&facts.tables))).collect()
}

fn pooled(asked: &Asked<'_>, groups: &[Group<'_>]) -> Option<Finding> {
    let large: Vec<&Group<'_>> = groups.iter().filter(|group| group.count() >= POOLED_GROUP).collect();
    failure_rates(asked, &large).or_else(|| medians(asked, &large))
}

fn failure_rates(asked: &Asked<'_>, groups: &[&Group<'_>]) -> Option<Finding> {
    let share = |group: &&&Group<'_>| group.missed_share();
    let most = groups.iter().max_by(|a, b| share(a).total_cmp(&share(b)))?;
    let least = groups.iter().min_by(|a, b| share(a).total_cmp(&share(b)))?;
    let difference = most.missed_share() - least.missed_share();
    if difference <= POOLED_FAILURES {
        return None;
    }
    let what = format!(
        "`{}` pools {} ({} failed) with {} ({}): what it says of the tail is the former's.",
        asked.objective.source,
        most.place.words(),
        words::percent(most.missed_share()),
        least.place.words(),
        words::percent(least.missed_share())
    );
    let figures = [
        ("difference of failure rates", difference * 100.0, "%"),
        ("threshold", POOLED_FAILURES * 100.0, "%"),
    ];
    Some(with_figures(named("Q1").finding(Severity::Invalid, asked.scope(), what), &figures))
}

fn medians(asked: &Asked<'_>, groups: &[&Group<'_>]) -> Option<Finding> {
    let median = |group: &Group<'_>| group.times.quantile(0.5).finite_us().filter(|us| *us > 0.0);
    let known: Vec<(f64, &Group<'_>)> = groups.iter().filter_map(|g| Some((median(g)?, *g))).collect();
    let (high, slow) = known.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let (low, fast) = known.iter().min_by(|a, b| a.0.total_cmp(&b.0))?;
    if high / low <= POOLED_MEDIANS {
        return None;
    }
    let what = format!(
        "`{}` pools {} (median {}) with {} (median {}).",
        asked.objective.source,
        slow.place.words(),
        words::ms(high / 1e3),
        fast.place.words(),
        words::ms(low / 1e3)
    );
    let figures = [("ratio of medians", high / low, "1"), ("threshold", POOLED_MEDIANS, "1")];
    Some(with_figures(named("Q1").finding(Severity::Invalid, asked.scope(), what), &figures))
}

#[cfg(test)]
mod tests {
    use crate::testing::{Bench, Load};

    #[test]
    fn phases_that_fail_differently_are_not_pooled() {
        let bench = Bench::new()
            .offer("warm-up", "list", Load { failed: 6, ..Load::of(94) })
            .offer("steady", "list", Load::of(100))
            .asks("fast", "p95(list) < 50ms")
            .asks("few_errors", "error_rate(all) < 5%");
        insta::assert_snapshot!(bench.findings(super::rule), @r#"
        invalid [fast] `p95(list) < 50ms` pools `list` in `warm-up` (6 % failed) with `list` in `steady` (0 %): what it says of the tail is the former's.
          difference of failure rates Some(6.0) %, threshold Some(1.0) %
        "#);
    }

    #[test]
    fn endpoints_of_different_speed_are_not_pooled() {
        let bench = Bench::new()
            .offer("steady", "list", Load::of(100))
            .offer("steady", "claim", Load { us: 31_000, ..Load::of(10) })
            .asks("fast", "p95(all) < 50ms");
        insta::assert_snapshot!(bench.findings(super::rule), @r#"
        invalid [fast] `p95(all) < 50ms` pools `claim` in `steady` (median 31 ms) with `list` in `steady` (median 10 ms).
          ratio of medians Some(3.0988282334647637) 1, threshold Some(2.0) 1
        "#);
    }

    #[test]
    fn one_endpoint_in_one_phase_is_no_pool_and_alike_ones_may_be_pooled() {
        let bench = Bench::new()
            .offer("warm-up", "list", Load { failed: 6, ..Load::of(94) })
            .offer("steady", "list", Load::of(100))
            .offer("steady", "claim", Load { us: 19_000, ..Load::of(10) })
            .asks("fast", "p95(list, phase = steady) < 50ms")
            .asks("alike", "p95(all, phase = steady) < 50ms");
        insta::assert_snapshot!(bench.findings(super::rule), @"nothing");
    }
}
