//! T5: a phase that began with what the one before it had left.
//!
//! What is under way when two phases meet ends within a second, or it is a queue that the second phase has to work off.
//! A short queue is a doubt; one that takes so long that it is in the 95th percentile voids the phase's times.

use evidence::{Finding, Scope, Severity};

use crate::facts::{Backlog, Facts};
use crate::rule::{named, with_figures};
use crate::thresholds::{CARRIED, CARRIED_INVALID};
use crate::words;

pub(crate) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    facts.backlogs.iter().filter(|backlog| backlog.carried >= CARRIED).map(finding).collect()
}

fn finding(backlog: &Backlog) -> Finding {
    let Backlog { phase, drained_s, carried, length_s } = backlog;
    let share = f64::from(*drained_s) / length_s.max(f64::MIN_POSITIVE);
    let severity = if share >= CARRIED_INVALID { Severity::Invalid } else { Severity::Caution };
    let what = format!(
        "`{phase}` began with a backlog: {} requests of the phases before ended in it, and it took {drained_s} s of {} s \
         to work them off.",
        words::whole(*carried),
        words::number(*length_s)
    );
    let figures = [
        ("carried over", *carried as f64, "1"),
        ("worked off after", f64::from(*drained_s), "s"),
        ("share of the phase", share * 100.0, "%"),
        ("threshold", CARRIED_INVALID * 100.0, "%"),
    ];
    let scope = Scope { phase: Some(phase.clone()), ..Scope::default() };
    with_figures(named("T5").finding(severity, scope, what), &figures)
}

#[cfg(test)]
mod tests {
    use crate::testing::{Bench, Load};

    /// Requests of the warm-up that end in these many seconds of what follows.
    fn late(seconds: u32, each: u64) -> Bench {
        let mut bench =
            Bench::new().offer("warm-up", "list", Load::of(100)).offer("steady", "list", Load::of(100));
        (10..10 + seconds).for_each(|second| bench.end_late(second, each));
        bench
    }

    #[test]
    fn a_queue_that_the_next_phase_works_off_is_told() {
        insta::assert_snapshot!(late(2, 60).findings(super::rule), @r"
        caution [steady] `steady` began with a backlog: 60 requests of the phases before ended in it, and it took 2 s of 60 s to work them off.
          carried over Some(60.0) 1, worked off after Some(2.0) s, share of the phase Some(3.3333333333333335) %, threshold Some(5.0) %
        ");
        insta::assert_snapshot!(late(5, 60).findings(super::rule), @r"
        invalid [steady] `steady` began with a backlog: 240 requests of the phases before ended in it, and it took 5 s of 60 s to work them off.
          carried over Some(240.0) 1, worked off after Some(5.0) s, share of the phase Some(8.333333333333332) %, threshold Some(5.0) %
        ");
    }

    #[test]
    fn what_is_under_way_when_phases_meet_is_no_backlog() {
        assert_eq!(late(1, 60).findings(super::rule), "nothing");
        assert_eq!(late(5, 5).findings(super::rule), "nothing", "a few that hang are no queue");
        assert_eq!(late(0, 0).findings(super::rule), "nothing");
    }
}
