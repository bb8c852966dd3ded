//! S9: a machine that did not have its processors to itself, or not at one speed.

use evidence::{Finding, Scope, Severity};

use crate::facts::{Facts, Host};
use crate::rule::{named, with_figures};
use crate::thresholds::{FREQUENCY_APART, OTHERS_CORES, PRESSURE, STEAL_MEAN, STEAL_WINDOW, WINDOW_S};
use crate::words;

pub(crate) fn rule(facts: &Facts<'_>) -> Vec<Finding> {
    let Some(host) = &facts.host else { return Vec::new() };
    [steal(host), frequency(host), memory(host), others(host)].into_iter().flatten().collect()
}

fn caution(what: String, figures: &[(&str, f64, &str)]) -> Finding {
    with_figures(named("S9").finding(Severity::Caution, Scope::default(), what), figures)
}

fn steal(host: &Host) -> Option<Finding> {
    let (mean, worst) = host.steal.filter(|(mean, worst)| *mean > STEAL_MEAN || *worst > STEAL_WINDOW)?;
    let what = format!(
        "Neighbours took {} of the machine's processors in the mean, and {} in the worst {WINDOW_S} s.",
        words::percent(mean),
        words::percent(worst)
    );
    Some(caution(what, &[("steal", mean * 100.0, "%"), ("threshold", STEAL_MEAN * 100.0, "%")]))
}

fn frequency(host: &Host) -> Option<Finding> {
    let (low, high) = host.frequency.filter(|(low, high)| *low < high * (1.0 - FREQUENCY_APART))?;
    let (low, high) = (low / 1e9, high / 1e9);
    let what = format!(
        "The processors ran at {} GHz at times and at {} GHz at others.",
        words::number(low),
        words::number(high)
    );
    Some(caution(what, &[("lowest", low, "GHz"), ("highest", high, "GHz")]))
}

fn memory(host: &Host) -> Option<Finding> {
    let worst = host.memory_pressure.filter(|worst| *worst > PRESSURE)?;
    let what = format!(
        "Memory was short: in the worst {WINDOW_S} s somebody waited for it {} of the time.",
        words::percent(worst)
    );
    Some(caution(what, &[("waiting", worst * 100.0, "%"), ("threshold", PRESSURE * 100.0, "%")]))
}

fn others(host: &Host) -> Option<Finding> {
    let (cores, waited) =
        host.others.filter(|(cores, waited)| *cores > OTHERS_CORES && *waited > PRESSURE)?;
    let what = format!(
        "Processes that are neither the generator nor watched used {} cores in {WINDOW_S} s in which somebody waited for \
         a processor {} of the time.",
        words::number(cores),
        words::percent(waited)
    );
    Some(caution(what, &[("cores of others", cores, "cores"), ("waiting", waited * 100.0, "%")]))
}

#[cfg(test)]
mod tests {
    use evidence::SeriesKey;

    use crate::testing::{Bench, Load};

    fn watched(series: &[(&str, &str, f64, f64)]) -> Bench {
        let mut bench = Bench::new().offer("steady", "list", Load::of(100));
        for (name, target, usual, then) in series {
            let key = SeriesKey::new(name, target, "1");
            bench.observe(&key, 0..40, *usual);
            bench.observe(&key, 40..70, *then);
        }
        bench
    }

    #[test]
    fn a_machine_that_others_slow_down_is_noisy() {
        let noisy = [
            ("host_steal", "host", 0.0, 0.06),
            ("host_frequency", "host", 3.0e9, 2.4e9),
            ("host_pressure_memory", "host", 0.0, 0.2),
            ("host_cpu", "host", 1.0, 1.9),
            ("host_pressure_cpu", "host", 0.0, 0.3),
            ("cpu", "web", 0.6, 0.6),
        ];
        insta::assert_snapshot!(watched(&noisy).findings(super::rule), @r"
        caution [] Neighbours took 2.57 % of the machine's processors in the mean, and 6 % in the worst 10 s.
          steal Some(2.571428571428572) %, threshold Some(1.0) %
        caution [] The processors ran at 2.4 GHz at times and at 3 GHz at others.
          lowest Some(2.4) GHz, highest Some(3.0) GHz
        caution [] Memory was short: in the worst 10 s somebody waited for it 20 % of the time.
          waiting Some(20.0) %, threshold Some(5.0) %
        caution [] Processes that are neither the generator nor watched used 1.1 cores in 10 s in which somebody waited for a processor 30 % of the time.
          cores of others Some(1.1) cores, waiting Some(29.999999999999993) %
        ");
    }

    #[test]
    fn a_machine_to_itself_is_not() {
        let calm = [
            ("host_steal", "host", 0.005, 0.01),
            ("host_frequency", "host", 3.0e9, 2.95e9),
            ("host_pressure_memory", "host", 0.0, 0.01),
            ("host_cpu", "host", 1.0, 1.9),
            ("host_pressure_cpu", "host", 0.0, 0.3),
            ("cpu", "web", 0.8, 1.65),
        ];
        assert_eq!(watched(&calm).findings(super::rule), "nothing");
        assert_eq!(watched(&calm[3..5]).findings(super::rule), "nothing", "who used it is not known");
        assert_eq!(watched(&[]).findings(super::rule), "nothing");
    }
}
