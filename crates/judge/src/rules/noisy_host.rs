//! S9: a machine that other processes slowed down, or whose frequency changed.

mod joined;
mod pairs;

use evidence::{Finding, RuleId, Scope, Seconds, Severity};

use crate::facts::WINDOW_S;
use crate::facts::{Facts, FrequencyRange, Host, LoopStalls, OtherProcesses, StealShares};
use crate::rule::{AffectedClaims, Check, Rule, with_figures};
use crate::rules::generator_saturated::{LOOP_CPU, STALLED};
use figures::number::brief;

pub(crate) use joined::{busy_phases, join};

pub(crate) const RULE: Rule = Rule {
    id: RuleId::S9,
    title: "noisy-host",
    severity: Severity::Inconclusive,
    tests: "Whether other work took processor time. Each of three signs shows it. Stalls: the generator paused \
            for more than 1 % of a phase of 1 s or longer, counting pauses of 2 ms or longer without what the \
            code of a script took of them (L3), although its loop used at most 80 % of a core. Steal: the hypervisor took more \
            than 1 % of the processors' time on average, or more than 5 % in any 10 s. Other processes: where a \
            target is observed, processes other than the generator and the observed targets used more than 0.25 \
            cores while a process waited for a processor for more than 5 % of 10 s. All signs together are one \
            finding. A stall of 1 s or longer without any other sign is that of a generator that was stopped, on a machine \
            that was not observed perhaps of one, and the finding says so. It also reports late drops (L2) of the same phase, and busy loops (L3) where steal or other \
            processes were seen. Two more signs are separate findings: the processors' mean frequency \
            differs by more than 5 % between windows of 10 s, and a process waited for memory for more than 5 % \
            of any 10 s. In one run each is a caution. In a comparison it is a caution if both runs show it, \
            inconclusive if only one does, and unknown if a machine was not observed. Steps of the system clock \
            change no time: times are from a monotonic clock.",
    affects: "objectives on times: a caution; a request that a stall disturbed counts with the shortest and the longest time that it could have had. Where L2 or L3 apply too, also what they affect. In a comparison: differences between the runs",
    why: "Other work on the machine delays the generator and the target, in one run and not in the next.",
    next: "Nothing is needed for objectives that are decided. For the others, on your own machine: stop \
           other work, pin the generator and the target to dedicated processors, or run the generator on \
           a second machine. On a shared runner: ask for more cores, lower the rate or run at a quieter \
           time, and observe the target: drops because the generator was late are only a caution where the target used less than 70 % \
           of its limits.",
    affected: AffectedClaims::Times,
    check: Check::Both { run: check, pair: pairs::check },
};

/// Stalls in a shorter phase show no neighbours, in seconds.
pub(crate) const LEAST_PHASE_S: f64 = 1.0;
/// The largest share of the processors that neighbours may take, in the mean …
pub(crate) const STEAL_MEAN: f64 = 0.01;
/// … and in any window of [`WINDOW_S`].
pub(crate) const STEAL_WINDOW: f64 = 0.05;
/// The largest difference of frequencies, as a share.
pub(crate) const FREQUENCY_APART: f64 = 0.05;
/// The largest share of [`WINDOW_S`] in which a process may wait for memory or a processor.
pub(crate) const PRESSURE: f64 = 0.05;
/// A scheduler that divides processors fairly lets a process wait for milliseconds, under heavy load for tenths of a second. A
/// longer stall has another cause than neighbours, in milliseconds.
pub(crate) const STOPPED_MS: f64 = 1_000.0;
/// The most cores that other processes may use while a process waits for a processor.
pub(crate) const OTHERS_CORES: f64 = 0.25;

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let of_host = |rule: fn(&Host) -> Option<Finding>| facts.host.as_ref().and_then(rule);
    let findings = [neighbours(facts), of_host(frequency), of_host(memory)];
    findings.into_iter().flatten().collect()
}

/// Everything that shows that other work took processors, as one finding.
fn neighbours(facts: &Facts<'_>) -> Option<Finding> {
    let signs = signs(facts);
    if let [stall] = &signs[..]
        && worst_stall(facts, |_| true).is_some_and(|worst| worst.other.longest_ms >= STOPPED_MS)
    {
        return Some(stopped(stall, facts.host.is_some()));
    }
    if signs.is_empty() {
        return None;
    }
    let what: Vec<&str> = signs.iter().map(|sign| sign.what.as_str()).collect();
    let figures: Vec<_> = signs.iter().flat_map(|sign| sign.figures.iter().copied()).collect();
    Some(caution(format!("Other work took the processor: {}.", what.join("; ")), &figures))
}

/// That a stall without any other sign is too long for a neighbour's, which an observed machine would have shown.
fn stopped(stall: &Sign, is_observed: bool) -> Finding {
    let stalled = &stall.what;
    let what = if is_observed {
        format!(
            "The generator did not run for longer than other work keeps a process waiting: {stalled}. {LOOKS_LIKE}."
        )
    } else {
        format!(
            "The generator did not run for longer than other work usually keeps a process waiting: {stalled}. {LOOKS_LIKE}; \
             so does a machine with very much other work, and it was not observed."
        )
    };
    let next = "Find out what stopped the generator, and run again.".to_owned();
    Finding { next, ..caution(what, &stall.figures) }
}

const LOOKS_LIKE: &str =
    "A stopped process (Ctrl-Z, a debugger), a frozen container or a paused virtual machine looks like this";

/// What shows it in the run.
fn signs(facts: &Facts<'_>) -> Vec<Sign> {
    let stall = worst_stall(facts, |_| true).map(stalled);
    stall.into_iter().chain(of_machine(facts, &(0..facts.seconds))).collect()
}

/// What the machine shows in these seconds.
fn of_machine(facts: &Facts<'_>, seconds: &Seconds) -> impl Iterator<Item = Sign> {
    let signs = facts.host.as_ref().map(|host| [steal(host, seconds), others(host, seconds)]);
    signs.into_iter().flatten().flatten()
}

/// One thing that shows it.
struct Sign {
    what: String,
    figures: Vec<(&'static str, f64, &'static str)>,
}

/// The loop that was stalled for the largest share of a selected phase, of those that were not busy themselves.
fn worst_stall<'f>(facts: &'f Facts<'_>, is_selected: impl Fn(&str) -> bool) -> Option<&'f LoopStalls> {
    let is_busy = |stalls: &LoopStalls| {
        let mut loops =
            facts.generator.loops.iter().filter(|l| l.phase == stalls.phase && l.cores > LOOP_CPU);
        loops.any(|l| stalls.instance.is_none_or(|instance| instance == l.instance))
    };
    // Of a run of milliseconds a single turn is a large share, and shows nothing.
    let is_long = |name: &str| facts.phase(name).is_some_and(|phase| phase.length_s() >= LEAST_PHASE_S);
    let stalls = facts.generator.stalls.iter();
    let selected = stalls.filter(|stalls| is_selected(&stalls.phase) && is_long(&stalls.phase));
    let others = selected.filter(|stalls| stalls.other.share > STALLED && !is_busy(stalls));
    others.max_by(|a, b| a.other.share.total_cmp(&b.other.share))
}

fn stalled(worst: &LoopStalls) -> Sign {
    let who = worst.instance.map_or_else(|| "the generator".to_owned(), |instance| instance.to_string());
    let what = format!(
        "{who} was stalled for {} of `{}` (longest stall {})",
        brief::percent(worst.other.share),
        worst.phase,
        brief::ms(worst.other.longest_ms)
    );
    let figures = vec![
        ("time stalled", worst.other.share * 100.0, "%"),
        ("longest stall", worst.other.longest_ms, "ms"),
        ("threshold", STALLED * 100.0, "%"),
    ];
    Sign { what, figures }
}

fn caution(what: String, figures: &[(&str, f64, &str)]) -> Finding {
    with_figures(RULE.finding(Severity::Caution, Scope::default(), what), figures)
}

fn steal(host: &Host, seconds: &Seconds) -> Option<Sign> {
    let is_much = |steal: &StealShares| steal.mean > STEAL_MEAN || steal.worst > STEAL_WINDOW;
    let StealShares { mean, worst } = host.steal(seconds).filter(is_much)?;
    let what = format!(
        "other machines on the same hardware took {} of its processor time on average, and {} in the worst {WINDOW_S} s",
        brief::percent(mean),
        brief::percent(worst)
    );
    Some(Sign { what, figures: vec![("steal", mean * 100.0, "%"), ("threshold", STEAL_MEAN * 100.0, "%")] })
}

fn frequency(host: &Host) -> Option<Finding> {
    let is_unsteady = |range: &FrequencyRange| range.lowest < range.highest * (1.0 - FREQUENCY_APART);
    let range = host.frequency.filter(is_unsteady)?;
    let (low, high) = (range.lowest / 1e9, range.highest / 1e9);
    let what = format!(
        "The processors' mean frequency was between {} GHz and {} GHz over windows of {WINDOW_S} s.",
        brief::significant(low),
        brief::significant(high)
    );
    Some(caution(what, &[("lowest", low, "GHz"), ("highest", high, "GHz")]))
}

fn memory(host: &Host) -> Option<Finding> {
    let worst = host.memory_pressure.filter(|worst| *worst > PRESSURE)?;
    let what = format!(
        "Memory was short: in the worst {WINDOW_S} s a process waited for memory during {} of the time.",
        brief::percent(worst)
    );
    Some(caution(what, &[("waiting", worst * 100.0, "%"), ("threshold", PRESSURE * 100.0, "%")]))
}

fn others(host: &Host, seconds: &Seconds) -> Option<Sign> {
    let is_much = |others: &OtherProcesses| others.cores > OTHERS_CORES && others.waited > PRESSURE;
    let product = |others: &OtherProcesses| others.cores * others.waited;
    let windows = host.others(seconds).filter(is_much);
    let OtherProcesses { cores, waited } = windows.max_by(|a, b| product(a).total_cmp(&product(b)))?;
    let what = format!(
        "processes other than the generator and the observed targets used {} cores in {WINDOW_S} s in which a process \
         waited for a processor {} of the time",
        brief::significant(cores),
        brief::percent(waited)
    );
    let figures = vec![
        ("cores of others", cores, "cores"),
        ("waiting", waited * 100.0, "%"),
        ("threshold", PRESSURE * 100.0, "%"),
    ];
    Some(Sign { what, figures })
}

#[cfg(test)]
mod tests {
    use evidence::{Instance, Key, Metric, SeriesKey};

    use crate::testing::{Load, TestRun};

    fn observed(series: &[(&str, &str, f64, f64)]) -> TestRun {
        let mut test_run = TestRun::new().offer("steady", "list", Load::ok(100));
        for (name, target, usual, then) in series {
            let key = SeriesKey::new(name, target, "1");
            test_run.observe(&key, 0..40, *usual);
            test_run.observe(&key, 40..70, *then);
        }
        test_run
    }

    #[test]
    fn stalls_in_a_phase_of_milliseconds_show_no_neighbours() {
        let of_phase = |ms: u64| {
            let mut test_run = TestRun::new();
            test_run.workload.phases[1].end = std::time::Duration::from_millis(10_000 + ms);
            test_run.offer_once(10, "list", Load::ok(100));
            test_run.stall(10..11, 3_000);
            test_run.findings(super::check)
        };
        assert_eq!(of_phase(400), "nothing");
        assert!(of_phase(1_000).contains("stalled for 30 % of `steady`"), "{}", of_phase(1_000));
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
        caution [] Other work took the processor: other machines on the same hardware took 2.57 % of its processor time on average, and 6 % in the worst 10 s; processes other than the generator and the observed targets used 1.1 cores in 10 s in which a process waited for a processor 30 % of the time.
          steal Some(2.571428571428571) %, threshold Some(1.0) %, cores of others Some(1.0999999999999999) cores, waiting Some(30.0) %, threshold Some(5.0) %
        caution [] The processors' mean frequency was between 2.4 GHz and 3 GHz over windows of 10 s.
          lowest Some(2.4) GHz, highest Some(3.0) GHz
        caution [] Memory was short: in the worst 10 s a process waited for memory during 20 % of the time.
          waiting Some(20.0) %, threshold Some(5.0) %
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
        let own = [calm[3], calm[4], ("cpu", SeriesKey::GENERATOR, 0.3, 0.3)];
        assert_eq!(observed(&own).findings(super::check), "nothing", "the generator is not a target");
        assert_eq!(observed(&[]).findings(super::check), "nothing");
    }

    /// 1 core of 1.5 is the target's, and 0.45 are the generator's: 0.2 of its loop, the rest of its other threads.
    #[test]
    fn the_generators_other_threads_are_its_own() {
        let used = [
            ("host_cpu", "host", 1.5, 1.5),
            ("host_pressure_cpu", "host", 0.3, 0.3),
            ("cpu", "web", 1.0, 1.0),
            ("cpu", SeriesKey::GENERATOR, 0.45, 0.45),
        ];
        assert_eq!(observed(&used).findings(super::check), "nothing");
        let busier = [("host_cpu", "host", 1.75, 1.75), used[1], used[2], used[3]];
        assert!(observed(&busier).findings(super::check).contains("used 0.3 cores"));
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

    /// Of 10,010 turns a second, 1 in 1,000 took long: half of the second loop's time.
    #[test]
    fn many_short_turns_of_one_loop_do_not_hide_the_stalls_of_another() {
        let mut test_run = TestRun::new().offer("steady", "list", Load::ok(100));
        let turns = |loop_index| Key::of(Metric::LoopStall).instance(Instance::of_loop(loop_index));
        for second in 20..70 {
            test_run.run.record(&turns(0), second, 50, 10_000);
            test_run.run.record(&turns(1), second, 50_000, 10);
        }
        insta::assert_snapshot!(test_run.findings(super::check), @r"
        caution [] Other work took the processor: loop 1 was stalled for 41.7 % of `steady` (longest stall 50 ms).
          time stalled Some(41.66625) %, longest stall Some(50.015) ms, threshold Some(1.0) %
        ");
    }

    #[test]
    fn a_generator_that_was_stopped_is_not_said_to_have_neighbours() {
        let of = |longest_ms: u64, steal: f64| {
            let mut test_run = observed(&[("host_steal", "host", steal, steal)]);
            let turns = Key::of(Metric::LoopStall).instance(Instance::default());
            test_run.run.record(&turns, 30, longest_ms * 1_000, 1);
            test_run.findings(super::check)
        };
        let stopped = of(2_000, 0.0);
        assert!(
            stopped.contains("did not run for longer than other work keeps a process waiting: loop 0"),
            "{stopped}"
        );
        assert!(of(900, 0.0).contains("Other work took the processor"));
        assert!(of(2_000, 0.2).contains("Other work took the processor"), "the hypervisor says who did");
        let mut unobserved = TestRun::new().offer("steady", "list", Load::ok(100));
        unobserved.run.record(&Key::of(Metric::LoopStall).instance(Instance::default()), 30, 2_000_000, 1);
        let unobserved = unobserved.findings(super::check);
        assert!(
            unobserved.contains("(longest stall 2 s). A stopped process")
                && unobserved.contains("was not observed"),
            "{unobserved}"
        );
    }

    #[test]
    fn stalls_of_a_loop_that_was_busy_itself_are_its_own() {
        let mut test_run = TestRun::new().offer("steady", "list", Load::ok(100));
        test_run.stall(20..70, 3_000);
        assert!(test_run.findings(super::check).contains("loop 0 was stalled for 25 %"));
        test_run.loop_cpu(0, [(20..70, 0.97)]);
        assert_eq!(test_run.findings(super::check), "nothing");
    }
}
