//! Services whose limit is known, and how often a diagnosis names it, another resource, or none; beside two simpler rules.
//!
//! A service is queues in series, drawn at random: one is the limit, the others have room, some hold another while they are in use. Uses
//! and waits are read with noise, and some are hidden, as in services that nobody instrumented. What limits a service is known because it
//! was drawn; no threshold of the ledger is set by these.

use evidence::diagnosis::ResourceUse;
use judge::diagnosis::{BreakRange, LoadWindow, diagnose};

use crate::random::Random;

/// Loads that are measured, each twice, as shares of the load that breaks.
const LOADS: [f64; 8] = [0.25, 0.4, 0.5, 0.6, 0.7, 0.8, 0.95, 1.0];
/// A service breaks where its mean response time is so many times that without load.
const BROKEN: f64 = 3.0;
/// How far a reading is from the truth: deviations of uses, waits and response times, as shares.
const NOISE: (f64, f64, f64) = (0.03, 0.2, 0.05);
/// How often a use, and a wait, was observed where nothing else is said.
const USE_OBSERVED: f64 = 0.85;
const WAIT_OBSERVED: f64 = 0.6;
/// From this share on the rule of high use calls a resource the limit.
const HIGH_USE: f64 = 0.9;

/// What is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Drawn {
    /// The limit's use and wait are observed.
    Observed,
    /// Its use is, and its wait is not.
    WithoutWait,
    /// Neither is: a cause that the ledger does not know.
    Hidden,
    /// Two resources limit at the same load, so that neither is the limit.
    Mixed,
    /// Whatever the shares of what is observed give.
    AsItComes,
}

/// Services of one kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DiagnosisKind {
    /// What it is, in a few words.
    pub name: &'static str,
    drawn: Drawn,
    /// How often another resource is named at most.
    pub wrong_at_most: f64,
}

/// What became of the services of a kind, by one rule.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct NamedCounts {
    pub right: u64,
    pub wrong: u64,
    pub none: u64,
}

/// By the ledger, by the highest use, and by a use of 90 % or more.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct DiagnosisTally {
    pub ledger: NamedCounts,
    pub highest_use: NamedCounts,
    pub high_use: NamedCounts,
}

/// Every kind.
pub fn diagnosis_kinds() -> [DiagnosisKind; 5] {
    let kind = |name, drawn| DiagnosisKind { name, drawn, wrong_at_most: 0.05 };
    [
        kind("the limit and the wait for it are observed", Drawn::Observed),
        kind("the wait for the limit is not observed", Drawn::WithoutWait),
        kind("the limit is not observed: an unknown cause", Drawn::Hidden),
        kind("two limits at the same load", Drawn::Mixed),
        kind("15 % of uses and 40 % of waits are not observed", Drawn::AsItComes),
    ]
}

impl NamedCounts {
    fn add(&mut self, named: Option<usize>, limit: Option<usize>) {
        match named {
            Some(named) if Some(named) == limit => self.right += 1,
            Some(_) => self.wrong += 1,
            None => self.none += 1,
        }
    }

    pub fn all(&self) -> u64 {
        self.right + self.wrong + self.none
    }

    /// A count as a share, with its exact one-sided limits at 95 % (Clopper and Pearson).
    pub fn share(&self, count: u64) -> (f64, f64, f64) {
        let limits = stats::share_limits(count as f64, self.all() as f64, 0.95);
        (count as f64 / self.all().max(1) as f64, limits.lower, limits.upper)
    }
}

impl DiagnosisKind {
    /// So many services, drawn from `seed` on.
    pub fn run(&self, count: u64, seed: u64) -> DiagnosisTally {
        let mut tally = DiagnosisTally::default();
        for number in 0..count {
            let mut random = Random::new(seed.wrapping_add(number)).fork(self.drawn as u64);
            let service = Service::draw(self.drawn, &mut random);
            let (windows, range) = service.measured(&mut random);
            let limit = (self.drawn != Drawn::Mixed).then_some(0);
            let named = diagnose(&windows, range).limit.and_then(|name| name.parse().ok());
            tally.ledger.add(named, limit);
            tally.highest_use.add(highest_use(&windows, 0.0), limit);
            tally.high_use.add(highest_use(&windows, HIGH_USE), limit);
        }
        tally
    }

    /// Whether the promise is kept, as far as chance allows to say: the exact one-sided limit at 99.9 % does not contradict it.
    pub fn is_kept(&self, tally: &DiagnosisTally) -> bool {
        let NamedCounts { wrong, .. } = tally.ledger;
        stats::share_limits(wrong as f64, tally.ledger.all() as f64, 0.999).lower <= self.wrong_at_most
    }
}

/// A resource of some servers.
#[derive(Debug, Clone)]
pub(crate) struct Queue {
    pub(crate) servers: f64,
    /// Seconds of a server that a completion takes; of a pool without what is waited for meanwhile.
    pub(crate) demand_s: f64,
    /// The queue whose time is spent while a server of this one is held; one before it.
    pub(crate) holds: Option<usize>,
    pub(crate) is_use_observed: bool,
    pub(crate) is_wait_observed: bool,
}

/// Queues in series.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) queues: Vec<Queue>,
}

impl Service {
    /// One limit, three other resources, and perhaps a pool that is held while the limit is waited for.
    fn draw(drawn: Drawn, random: &mut Random) -> Service {
        let capacity = between(random, 50.0, 2_000.0);
        let mut queues = Vec::new();
        for at in 0..4 {
            let servers = [1.0, 2.0, 4.0, 10.0][(random.uniform() * 4.0) as usize];
            let is_limit = at == 0 || (at == 1 && drawn == Drawn::Mixed);
            let share = if is_limit { 1.0 } else { between(random, 0.1, 0.85) };
            let (mut is_use_observed, mut is_wait_observed) = observed(random);
            match (drawn, is_limit) {
                (Drawn::Observed | Drawn::Mixed, true) => (is_use_observed, is_wait_observed) = (true, true),
                (Drawn::WithoutWait, true) => (is_use_observed, is_wait_observed) = (true, false),
                (Drawn::Hidden, true) => is_use_observed = false,
                _ => {}
            }
            let demand_s = share * servers / capacity;
            queues.push(Queue { servers, demand_s, holds: None, is_use_observed, is_wait_observed });
        }
        if random.uniform() < 0.4 {
            let (is_use_observed, is_wait_observed) = observed(random);
            let servers = (2.0 + 3.0 * queues[0].servers).ceil();
            let demand_s = 0.1 * queues[0].demand_s;
            queues.push(Queue { servers, demand_s, holds: Some(0), is_use_observed, is_wait_observed });
        }
        Service { queues }
    }

    /// That of the first queue, which is the limit.
    fn capacity(&self) -> f64 {
        self.queues[0].servers / self.queues[0].demand_s
    }

    /// Seconds that a completion holds and waits for each queue. The wait in a queue with several servers: H. Sakasegawa, "An
    /// approximation formula Lq ≃ α·ρ^β / (1 − ρ)", 1977.
    pub(crate) fn times(&self, load: f64) -> Vec<(f64, f64)> {
        let mut times = vec![(0.0, 0.0); self.queues.len()];
        for (at, queue) in self.queues.iter().enumerate() {
            let inner = queue.holds.map_or(0.0, |inner: usize| times[inner].0 + times[inner].1);
            let held = queue.demand_s + inner;
            let used = (load * held / queue.servers).min(0.995);
            let exponent = (2.0 * (queue.servers + 1.0)).sqrt() - 1.0;
            times[at] = (held, held * used.powf(exponent) / (queue.servers * (1.0 - used)));
        }
        times
    }

    /// Mean response time: a pool contains what is waited for while it is held.
    pub(crate) fn response_s(&self, load: f64) -> f64 {
        let times = self.times(load);
        let is_contained = |at: usize| self.queues.iter().any(|queue| queue.holds == Some(at));
        let outer = (0..times.len()).filter(|at| !is_contained(*at));
        outer.map(|at| times[at].0 + times[at].1).sum()
    }

    fn window(&self, load: f64, random: &mut Random) -> LoadWindow {
        let times = self.times(load);
        let mut resources = Vec::new();
        for (at, queue) in self.queues.iter().enumerate().filter(|(_, queue)| queue.is_use_observed) {
            resources.push(ResourceUse {
                name: at.to_string(),
                series: String::new(),
                used: (load * times[at].0 * noisy(random, NOISE.0)).min(queue.servers),
                limit: Some(queue.servers),
                wait_s: queue.is_wait_observed.then(|| times[at].1 * noisy(random, NOISE.1)),
            });
        }
        let response_s = Some(self.response_s(load) * noisy(random, NOISE.2));
        LoadWindow { offered_per_s: None, completions_per_s: load, response_s, resources }
    }

    /// Loads up to where it breaks, and the two between which that is.
    fn measured(&self, random: &mut Random) -> (Vec<LoadWindow>, BreakRange) {
        let at = |share: f64| share * self.capacity();
        let is_broken = |share: &f64| self.response_s(at(*share)) > BROKEN * self.response_s(at(0.01));
        let breaks = (1..=99).map(|percent| f64::from(percent) / 100.0).find(is_broken).unwrap_or(0.99);
        let loads = LOADS.into_iter().flat_map(|share| [at(share * breaks); 2]);
        let windows = loads.map(|load| self.window(load, random)).collect();
        (windows, BreakRange { holds_per_s: at(0.95 * breaks), breaks_per_s: at(breaks) })
    }
}

pub(crate) fn between(random: &mut Random, low: f64, high: f64) -> f64 {
    low + (high - low) * random.uniform()
}

fn observed(random: &mut Random) -> (bool, bool) {
    (random.uniform() < USE_OBSERVED, random.uniform() < WAIT_OBSERVED)
}

fn noisy(random: &mut Random, deviation: f64) -> f64 {
    1.0 + deviation * random.normal()
}

/// The resource with the highest use in the last window, if that is at least `least`.
fn highest_use(windows: &[LoadWindow], least: f64) -> Option<usize> {
    let share = |reading: &ResourceUse| reading.share().unwrap_or(0.0);
    let highest = windows.last()?.resources.iter().max_by(|a, b| share(a).total_cmp(&share(b)))?;
    if share(highest) >= least { highest.name.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promises_are_kept_and_simpler_rules_are_wrong_more_often() {
        for kind in diagnosis_kinds() {
            let tally = kind.run(1_000, 1);
            assert!(kind.is_kept(&tally), "{}: {tally:?}", kind.name);
            assert!(tally.highest_use.wrong > 4 * tally.ledger.wrong, "{}: {tally:?}", kind.name);
            assert_eq!(tally, kind.run(1_000, 1), "a seed repeats");
        }
    }

    #[test]
    fn a_broken_promise_is_seen() {
        let [kind, ..] = diagnosis_kinds();
        let counts = |right, wrong| DiagnosisTally {
            ledger: NamedCounts { right, wrong, none: 1_000 - right - wrong },
            ..DiagnosisTally::default()
        };
        assert!(kind.is_kept(&counts(700, 20)));
        assert!(!kind.is_kept(&counts(700, 100)), "a tenth is wrong");
    }

    /// The figures of docs/diagnosis.md, of 4,000 services of each kind from seed 1.
    #[test]
    fn the_documentation_has_these_figures() {
        let row = |kind: &DiagnosisKind| {
            let tally = kind.run(4_000, 1);
            let percent = |counts: NamedCounts, count: u64| format!("{:.1} %", counts.share(count).0 * 100.0);
            let DiagnosisTally { ledger, highest_use, high_use } = tally;
            let cells = [
                kind.name.to_owned(),
                percent(ledger, ledger.right),
                percent(ledger, ledger.wrong),
                percent(highest_use, highest_use.wrong),
                percent(high_use, high_use.right),
                percent(high_use, high_use.wrong),
            ];
            format!("| {} |", cells.join(" | "))
        };
        let page = include_str!("../../../docs/diagnosis.md");
        let rows: Vec<String> = diagnosis_kinds().iter().map(row).collect();
        assert!(page.contains(&rows.join("\n")), "the page lacks\n{}", rows.join("\n"));
    }
}
