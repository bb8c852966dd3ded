//! T2: an endpoint that does not settle within its phase.
//!
//! It leaves open what differences between runs mean, and touches no objective of a run by itself: an objective is about
//! what users of that phase had, steady or not. Phases whose load changes on purpose have no steady state to look for,
//! and those too short to show one are told of in comparisons alone.

use evidence::{Finding, Severity};
use stats::NotSteady;

use crate::facts::{Course, Facts, Unsettled};
use crate::rule::named;
use crate::words;

pub(crate) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    facts.courses.iter().filter_map(finding).collect()
}

fn finding(course: &Course) -> Option<Finding> {
    let place = course.place.words();
    let what = match course.state.as_ref().err()? {
        Unsettled::Untested | Unsettled::Series(_, NotSteady::TooShort { steady_s: 0 }) => return None,
        Unsettled::Series("", NotSteady::TooShort { .. }) => return None,
        Unsettled::Series(name, why) => format!("{place}: {name} {}.", said(*why, course)),
        Unsettled::Burst { at_s, share, mean } => format!(
            "{place}: around {} s of its phase {} failed, against {} in all of its steady part.",
            at_s - course.seconds.start,
            words::percent(*share),
            words::percent(*mean)
        ),
    };
    Some(named("T2").finding(Severity::Inconclusive, course.place.scope(), what))
}

fn said(why: NotSteady, course: &Course) -> String {
    let (moved, length) = (|change: f64| if change > 0.0 { "rose" } else { "fell" }, course.seconds.len());
    let share = |change: f64| words::percent(change.exp_m1().abs());
    match why {
        NotSteady::TooShort { steady_s } => format!("is steady for its last {steady_s} s alone"),
        NotSteady::Drift { change } => {
            format!("{} by {} over {length} s, and did not settle", moved(change), share(change))
        }
        NotSteady::RegimeChange { at_s, change } => format!(
            "{} by {} at {at_s} s of {length} s and stayed there, which is too late for a warm-up",
            moved(change),
            share(change)
        ),
        NotSteady::Oscillation { changes } => {
            format!("went up and down: {changes} changes of its level in {length} s")
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Bench, Load, minutes};

    fn of(us: impl Fn(u32) -> u64) -> String {
        minutes(|second| Load { us: us(second), ..Load::of(50) }).findings(super::rule)
    }

    #[test]
    fn what_never_settles_says_how() {
        insta::assert_snapshot!(of(|second| 10_000 + 10 * u64::from(second)), @"inconclusive [steady/play/list] `list` in `steady`: p50 rose by 26.6 % over 300 s, and did not settle.");
        insta::assert_snapshot!(of(|second| if second < 220 { 10_000 } else { 13_000 }), @"inconclusive [steady/play/list] `list` in `steady`: p50 rose by 30 % at 220 s of 300 s and stayed there, which is too late for a warm-up.");
        insta::assert_snapshot!(of(|second| if second / 65 % 2 == 0 { 10_000 } else { 15_000 }), @"inconclusive [steady/play/list] `list` in `steady`: p50 went up and down: 4 changes of its level in 300 s.");
    }

    #[test]
    fn a_burst_of_failures_is_not_steady() {
        let burst = |second| if (200..205).contains(&second) { 25 } else { 0 };
        let bench = minutes(|second| Load { failed: burst(second), ..Load::of(50 - burst(second)) });
        insta::assert_snapshot!(bench.findings(super::rule), @"inconclusive [steady/play/list] `list` in `steady`: around 200 s of its phase 50 % failed, against 0.833 % in all of its steady part.");
    }

    #[test]
    fn what_settles_has_nothing_to_tell_and_neither_has_a_ramp_or_a_short_phase() {
        assert_eq!(of(|_| 10_000), "nothing");
        assert_eq!(of(|second| if second < 30 { 30_000 } else { 10_000 }), "nothing");
        let mut ramp = minutes(|second| Load::of(50 + u64::from(second)));
        assert!(
            ramp.findings(super::rule).contains("the rate of successes rose"),
            "{}",
            ramp.findings(super::rule)
        );
        let stages = vec![workload::Stage { to: 350.0, over: std::time::Duration::from_secs(300) }];
        ramp.workload.scenarios[0].executor =
            workload::Executor::RampingArrivalRate { start_rate: 50.0, stages };
        assert_eq!(ramp.findings(super::rule), "nothing");
        let mut short = Bench::new();
        (0..10).for_each(|s| short.offer_once(s, "list", Load { us: 1_000 << s, ..Load::of(50) }));
        assert_eq!(short.findings(super::rule), "nothing");
        let few = minutes(|second| Load { us: 10_000 + 10 * u64::from(second), ..Load::of(5) });
        assert_eq!(few.findings(super::rule), "nothing");
    }
}
