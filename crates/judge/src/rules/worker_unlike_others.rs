//! W4: a worker that is unlike the others.

use evidence::worker_load::WorkerLoad;
use evidence::{Finding, RuleId, Scope, Severity};

use crate::facts::{Facts, WorkerState};
use crate::rule::{AffectedClaims, Check, Rule, with_figures};
use figures::number::brief;

pub(crate) const RULE: Rule = Rule {
    id: RuleId::W4,
    title: "worker-unlike-others",
    severity: Severity::Caution,
    tests: "For each worker against the median of the others, over the whole run: it began less than 95 % of their arrivals a \
            second, where every scenario is open and has virtual users in every loop; or its start lag (p99), its stalls or its CPU were more than 2 times theirs, and its start lag more than \
            10 ms, its stalls more than 1 % of the time, its CPU more than 0.5 cores. A worker that vanished is W1's.",
    affects: "nothing directly: the rules on late arrivals and busy loops decide by the worst loop",
    why: "Workers have equal shares of the load. One that is unlike the others has another machine, other neighbours on it or \
          another way to the target, and what it measured is a part of every quantile.",
    next: "Look at that worker's machine and network, or leave it out and run again.",
    affected: AffectedClaims::Load,
    check: Check::Run(check),
};

/// A smaller share of what the others began is unlike them.
pub(crate) const LEAST_OFFERED: f64 = 0.95;
/// More than so many times what the others have is unlike them.
pub(crate) const MANY_TIMES: f64 = 2.0;

/// How what another worker has is compared.
#[derive(Clone, Copy)]
enum Counts {
    AsIs,
    /// One with more loops has more of it.
    ByLoop,
}

/// Something of which less is better, and from where on it matters.
struct Cost {
    name: &'static str,
    counts: Counts,
    matters: f64,
    of: fn(&WorkerLoad) -> Option<f64>,
    shown: fn(f64) -> String,
    figure: (f64, &'static str),
}

const COSTS: [Cost; 3] = [
    Cost {
        name: "start lag (p99)",
        counts: Counts::AsIs,
        matters: 10.0,
        of: |load| load.start_lag_p99_ms,
        shown: brief::ms,
        figure: (1.0, "ms"),
    },
    Cost {
        name: "time stalled",
        counts: Counts::AsIs,
        matters: 0.01,
        of: |load| load.stalled,
        shown: brief::percent,
        figure: (100.0, "%"),
    },
    Cost {
        name: "CPU",
        counts: Counts::ByLoop,
        matters: 0.5,
        of: |load| load.cpu_cores,
        shown: |cores| format!("{} cores", brief::significant(cores)),
        figure: (1.0, "cores"),
    },
];

fn check(facts: &Facts<'_>) -> Vec<Finding> {
    let stayed: Vec<&WorkerState> = facts.workers.all.iter().filter(|w| w.vanished.is_none()).collect();
    let of_worker = |index: usize| {
        let worker = stayed[index];
        let loops = |worker: &WorkerState| f64::from(worker.worker.loops.max(1));
        let of_others = |of: fn(&WorkerLoad) -> Option<f64>, counts: Counts| {
            let others = stayed.iter().enumerate().filter(|(other, _)| *other != index);
            let scaled = others.filter_map(|(_, other)| {
                Some(match counts {
                    Counts::AsIs => of(&other.load)?,
                    Counts::ByLoop => of(&other.load)? * loops(worker) / loops(other),
                })
            });
            stats::quantile(&scaled.collect::<Vec<_>>(), 0.5)
        };
        let cost = |cost: &Cost| costly(worker, cost, of_others(cost.of, cost.counts)?);
        let costs = COSTS.iter().filter_map(cost).collect::<Vec<_>>();
        let begun_by_others =
            of_others(|load| load.offered_per_s, Counts::ByLoop).filter(|_| has_equal_shares(facts));
        idle(facts, worker, begun_by_others).into_iter().chain(costs).collect::<Vec<_>>()
    };
    (0..stayed.len()).flat_map(of_worker).collect()
}

fn costly(worker: &WorkerState, cost: &Cost, others: f64) -> Option<Finding> {
    let own = (cost.of)(&worker.load).filter(|own| *own > cost.matters && *own > MANY_TIMES * others)?;
    let what = format!(
        "{} of {}: {}, and {} of the others.",
        capitalised(cost.name),
        worker.name(),
        (cost.shown)(own),
        (cost.shown)(others)
    );
    let (scale, unit) = cost.figure;
    Some(finding(what, [(cost.name, own * scale, unit), ("of the others", others * scale, unit)]))
}

/// Whether every loop is to begin as many arrivals as any other, but for its last one.
fn has_equal_shares(facts: &Facts<'_>) -> bool {
    let loops: u32 = facts.workers.all.iter().map(|worker| u32::from(worker.worker.loops)).sum();
    facts.workload.scenarios.iter().all(|scenario| scenario.executor.is_open() && scenario.max_vus >= loops)
}

fn idle(facts: &Facts<'_>, worker: &WorkerState, others: Option<f64>) -> Option<Finding> {
    let (own, others) = (worker.load.offered_per_s?, others?);
    let missing = (others - own) * f64::from(facts.seconds);
    let last_ones = f64::from(worker.worker.loops) * facts.workload.scenarios.len() as f64;
    let what = format!(
        "Arrivals begun by {}: {}, and {} by the others.",
        worker.name(),
        brief::rate(own),
        brief::rate(others)
    );
    let figures = [("begun", own, "1/s"), ("of the others", others, "1/s")];
    (own < LEAST_OFFERED * others && missing > last_ones).then(|| finding(what, figures))
}

fn capitalised(text: &str) -> String {
    let (first, rest) = text.split_at(text.len().min(1));
    format!("{}{rest}", first.to_uppercase())
}

fn finding(what: String, figures: [(&str, f64, &str); 2]) -> Finding {
    with_figures(RULE.finding(Severity::Caution, Scope::default(), what), &figures)
}

#[cfg(test)]
mod tests {
    use evidence::{Instance, Key, Metric, SeriesKey};

    use crate::testing::{Load, TestRun, worker};

    /// Three workers with these arrivals a second, start lags, and cores.
    fn of(begun: [f64; 3], lag_us: [u64; 3], cores: [f64; 3]) -> String {
        let mut test_run = TestRun::new().offer("steady", "list", Load::ok(300));
        test_run.edit(|manifest| manifest.workers = [1, 2, 3].map(worker).to_vec());
        for process in 1..4 {
            let place = Instance { machine: 0, process, loop_index: 0 };
            let index = usize::from(process - 1);
            let of_worker = |name, unit| SeriesKey::new(name, SeriesKey::GENERATOR, unit).instance(place);
            test_run.observe(&of_worker("loop_cpu", "cores"), 0..70, cores[index]);
            test_run.observe(&of_worker(SeriesKey::OFFERED, "1/s"), 0..70, begun[index]);
            let lag = Key::of(Metric::StartLag).scenario("play").phase("steady").instance(place);
            test_run.run.record(&lag, 30, lag_us[index], 1_000);
        }
        test_run.findings(super::check)
    }

    #[test]
    fn workers_alike_are_not_named() {
        assert_eq!(of([100.0, 99.0, 98.0], [400, 9_000, 500], [0.2, 0.45, 0.2]), "nothing");
    }

    #[test]
    fn one_that_lags_behind_the_others_is_named_with_both_figures() {
        let found = of([100.0, 100.0, 90.0], [400, 41_000, 500], [0.2, 0.2, 0.7]);
        assert_eq!(found.matches("caution").count(), 3, "{found}");
        for part in [
            "Start lag (p99) of worker 2 (127.0.0.1:7402): 41",
            "Arrivals begun by worker 3 (127.0.0.1:7403): 90/s, and 100/s by the others.",
            "CPU of worker 3 (127.0.0.1:7403): 0.7 cores, and 0.2 cores of the others.",
        ] {
            assert!(found.contains(part), "{part}: {found}");
        }
    }
}
