//! S9: a machine that other processes slowed down, or whose frequency changed.

mod pairs;

use evidence::{Finding, RuleId, Scope, Severity};

use crate::facts::WINDOW_S;
use crate::facts::{Facts, FrequencyRange, Host, OtherProcesses, StealShares};
use crate::numbers;
use crate::rule::{AffectedClaims, Check, Rule, with_figures};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::S9,
    title: "noisy-host",
    severity: Severity::Inconclusive,
    tests: "The generator's machine: steal above 1 % in the mean or above 5 % in any 10 s; mean frequencies of 10 \
            s more than 5 % apart; a process waiting for memory for more than 5 % of any 10 s; processes other \
            than the generator and the observed targets using more than 0.25 cores while a process waits for a \
            processor for more than 5 % of 10 s. A caution, also in a comparison if in both runs; inconclusive if in one run alone, unknown \
            if a machine was not observed. Steps of the system clock change no time here, since times are taken \
            from a monotonic clock.",
    affects: "a caution for objectives on times; differences between runs",
    why: "Load of neighbours in one run and not in the other looks like a change of the target.",
    next: "Pin processors and frequency, use a dedicated machine, or run again.",
    affected: AffectedClaims::Times,
    check: Check::Both { run: check, pair: pairs::check },
};

/// The largest share of the processors that neighbours may take, in the mean …
pub(crate) const STEAL_MEAN: f64 = 0.01;
/// … and in any window of [`WINDOW_S`].
pub(crate) const STEAL_WINDOW: f64 = 0.05;
/// The largest difference of frequencies, as a share.
pub(crate) const FREQUENCY_APART: f64 = 0.05;
/// The largest share of [`WINDOW_S`] in which a process may wait for memory or a processor.
pub(crate) const PRESSURE: f64 = 0.05;
/// The most cores that other processes may use while a process waits for a processor.
pub(crate) const OTHERS_CORES: f64 = 0.25;

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(host) = &facts.host else { return Vec::new() };
    [steal(host), frequency(host), memory(host), others(host)].into_iter().flatten().collect()
}

fn caution(what: String, figures: &[(&str, f64, &str)]) -> Finding {
    with_figures(RULE.finding(Severity::Caution, Scope::default(), what), figures)
}

fn steal(host: &Host) -> Option<Finding> {
    let StealShares { mean, worst } =
        host.steal.filter(|steal| steal.mean > STEAL_MEAN || steal.worst > STEAL_WINDOW)?;
    let what = format!(
        "Neighbours took {} of the machine's processors in the mean, and {} in the worst {WINDOW_S} s.",
        numbers::percent(mean),
        numbers::percent(worst)
    );
    Some(caution(what, &[("steal", mean * 100.0, "%"), ("threshold", STEAL_MEAN * 100.0, "%")]))
}

fn frequency(host: &Host) -> Option<Finding> {
    let is_unsteady = |range: &FrequencyRange| range.lowest < range.highest * (1.0 - FREQUENCY_APART);
    let range = host.frequency.filter(is_unsteady)?;
    let (low, high) = (range.lowest / 1e9, range.highest / 1e9);
    let what = format!(
        "The processors' frequency was {} GHz at times and {} GHz at others.",
        numbers::significant(low),
        numbers::significant(high)
    );
    Some(caution(what, &[("lowest", low, "GHz"), ("highest", high, "GHz")]))
}

fn memory(host: &Host) -> Option<Finding> {
    let worst = host.memory_pressure.filter(|worst| *worst > PRESSURE)?;
    let what = format!(
        "Memory was short: in the worst {WINDOW_S} s a process waited for it {} of the time.",
        numbers::percent(worst)
    );
    Some(caution(what, &[("waiting", worst * 100.0, "%"), ("threshold", PRESSURE * 100.0, "%")]))
}

fn others(host: &Host) -> Option<Finding> {
    let OtherProcesses { cores, waited } =
        host.others.filter(|others| others.cores > OTHERS_CORES && others.waited > PRESSURE)?;
    let what = format!(
        "Processes other than the generator and the observed targets used {} cores in {WINDOW_S} s in which a process \
         waited for a processor {} of the time.",
        numbers::significant(cores),
        numbers::percent(waited)
    );
    Some(caution(what, &[("cores of others", cores, "cores"), ("waiting", waited * 100.0, "%")]))
}

#[cfg(test)]
mod tests {
    use evidence::SeriesKey;

    use crate::testing::{Load, TestRun};

    fn observed(series: &[(&str, &str, f64, f64)]) -> TestRun {
        let mut test_run = TestRun::new().offer("steady", "list", Load::of(100));
        for (name, target, usual, then) in series {
            let key = SeriesKey::new(name, target, "1");
            test_run.observe(&key, 0..40, *usual);
            test_run.observe(&key, 40..70, *then);
        }
        test_run
    }

    #[test]
    fn a_machine_slowed_down_by_other_processes_is_a_caution() {
        let noisy = [
            ("host_steal", "host", 0.0, 0.06),
            ("host_frequency", "host", 3.0e9, 2.4e9),
            ("host_pressure_memory", "host", 0.0, 0.2),
            ("host_cpu", "host", 1.0, 1.9),
            ("host_pressure_cpu", "host", 0.0, 0.3),
            ("cpu", "web", 0.6, 0.6),
        ];
        insta::assert_snapshot!(observed(&noisy).findings(super::check), @r"
        caution [] Neighbours took 2.57 % of the machine's processors in the mean, and 6 % in the worst 10 s.
          steal Some(2.571428571428571) %, threshold Some(1.0) %
        caution [] The processors' frequency was 2.4 GHz at times and 3 GHz at others.
          lowest Some(2.4) GHz, highest Some(3.0) GHz
        caution [] Memory was short: in the worst 10 s a process waited for it 20 % of the time.
          waiting Some(20.0) %, threshold Some(5.0) %
        caution [] Processes other than the generator and the observed targets used 1.1 cores in 10 s in which a process waited for a processor 30 % of the time.
          cores of others Some(1.0999999999999999) cores, waiting Some(30.0) %
        ");
    }

    #[test]
    fn a_dedicated_machine_gives_no_finding() {
        let calm = [
            ("host_steal", "host", 0.005, 0.01),
            ("host_frequency", "host", 3.0e9, 2.95e9),
            ("host_pressure_memory", "host", 0.0, 0.01),
            ("host_cpu", "host", 1.0, 1.9),
            ("host_pressure_cpu", "host", 0.0, 0.3),
            ("cpu", "web", 0.8, 1.65),
        ];
        assert_eq!(observed(&calm).findings(super::check), "nothing");
        assert_eq!(
            observed(&calm[3..5]).findings(super::check),
            "nothing",
            "the targets' own use is not known"
        );
        assert_eq!(observed(&[]).findings(super::check), "nothing");
    }

    #[test]
    fn a_target_that_was_observed_later_is_compared_in_the_same_window() {
        let mut test_run = observed(&[("host_pressure_cpu", "host", 0.3, 0.3)]);
        let (all, target) = (SeriesKey::new("host_cpu", "host", "1"), SeriesKey::new("cpu", "web", "1"));
        for (seconds, host_cores, web_cores) in
            [(0..20, 0.5, None), (20..30, 2.0, Some(1.7)), (30..70, 0.5, Some(0.2))]
        {
            test_run.observe(&all, seconds.clone(), host_cores);
            if let Some(cores) = web_cores {
                test_run.observe(&target, seconds, cores);
            }
        }
        assert_eq!(test_run.findings(super::check), "nothing");
    }

    #[test]
    fn a_window_in_which_a_target_was_not_observed_has_no_use_by_others() {
        let mut test_run =
            observed(&[("host_pressure_cpu", "host", 0.3, 0.3), ("host_cpu", "host", 1.0, 2.0)]);
        test_run.observe(&SeriesKey::new("cpu", "web", "1"), 0..70, 0.8);
        // The other target is busy from second 40 on, when its observer is gone.
        test_run.observe(&SeriesKey::new("cpu", "db", "1"), 0..40, 0.1);
        assert_eq!(test_run.findings(super::check), "nothing");
    }
}
