//! Capacity searches whose truth is known: how often the interval covers it, how wide it is, and how often it says that more is
//! carried than is.

use evidence::capacity::{CapacityProbe, ProbeStage};
use judge::capacity::{CapacityRules, GridAnswer, NextProbe, PlannedProbe, SearchRange, next_probe};
use workload::Objective;
use workload::objective::parse;

use crate::random::Random;

/// Where the capacity of every simulated target is, about, in requests a second; the search begins at half of it.
const CAPACITY: f64 = 200.0;
const START: f64 = 100.0;
/// How long a probe is measured.
const STEP_S: f64 = 50.0;
/// The bound of the objective, in times the mean service time.
const BOUND: f64 = 8.0;
/// Targets that are far beyond end a probe.
const COLLAPSED: f64 = 4.0;
/// From so many probes at one level it is known where half of them pass.
const TRUTH_PROBES: u32 = 301;
const TRUTH_HALVINGS: u32 = 9;
/// From so many probes it is known whether nine of ten meet the bound, which this share is, less three standard errors.
const FURTHER_PROBES: u32 = 100;
const KEPT: f64 = 0.81;
/// About where a target is warm that is slow before.
const WARMED: f64 = 130.0;

#[derive(Debug, Clone, Copy, PartialEq)]
enum SimulatedTarget {
    /// Its 95th percentile is a power of its load.
    Curve {
        /// The power.
        elasticity: f64,
    },
    /// A queue of so many workers, first come, first served, with exponential times; arrivals are Poisson's.
    Queue {
        /// How many requests are in service at once.
        workers: usize,
    },
    /// A probe finds it in one of two states, by chance: its times are short or they are long. The higher the load, the more
    /// often they are long: the odds are a power of the load, and even at the capacity.
    TwoStates {
        /// The power.
        steepness: f64,
    },
    /// Its times are long just below a load, as of a target that only that load warms.
    Warming,
}

/// Searches of one kind.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CapacityKind {
    /// What it is, in a few words.
    pub name: &'static str,
    target: SimulatedTarget,
    /// The deviation of the logarithm of what a probe measures.
    measured: f64,
    /// The deviation of the logarithm of the target's capacity between probes.
    capacity: f64,
    /// The mean width that is promised at most, as a share; none: it is shown.
    pub width: Option<f64>,
    /// Whether there is an answer at all.
    pub is_answered: bool,
}

/// What became of the searches of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CapacityTally {
    pub searches: u64,
    /// Both ends of the interval were found.
    pub answered: u64,
    /// The interval, as far as it was found, contains the truth.
    pub covered: u64,
    /// More is said to hold than half of the probes do at.
    pub overstated: u64,
    /// A level was named at which nine of ten probes meet the bound.
    pub promised: u64,
    /// They do there.
    pub kept: u64,
    /// Sum of the widths of those with both ends, as shares.
    widths: f64,
    /// Probes that were made, in all.
    pub probes: u64,
}

/// Every kind that is simulated.
pub fn capacity_kinds() -> Vec<CapacityKind> {
    let kind = |name, target, [measured, capacity]: [f64; 2]| CapacityKind {
        name,
        target,
        measured,
        capacity,
        width: None,
        is_answered: true,
    };
    let curve = SimulatedTarget::Curve { elasticity: 8.0 };
    vec![
        CapacityKind { width: Some(0.13), ..kind("a knee", curve, [0.05, 0.01]) },
        CapacityKind { width: Some(0.13), ..kind("a knee", curve, [0.10, 0.03]) },
        kind("a knee", curve, [0.20, 0.05]),
        // How wide it is depends on how steep the times of a queue are at the bound: shown, not promised.
        kind("a queue with one worker", SimulatedTarget::Queue { workers: 1 }, [0.10, 0.03]),
        kind("a queue with four workers", SimulatedTarget::Queue { workers: 4 }, [0.10, 0.03]),
        kind("in one of two states", SimulatedTarget::TwoStates { steepness: 40.0 }, [0.10, 0.0]),
        kind("in one of two states", SimulatedTarget::TwoStates { steepness: 15.0 }, [0.10, 0.0]),
        kind("in one of two states", SimulatedTarget::TwoStates { steepness: 7.0 }, [0.10, 0.0]),
        CapacityKind {
            is_answered: false,
            ..kind("better under load", SimulatedTarget::Warming, [0.10, 0.0])
        },
    ]
}

impl CapacityKind {
    /// What is simulated, in one line.
    pub fn description(&self) -> String {
        if let SimulatedTarget::TwoStates { steepness } = self.target {
            // Odds of 1 to 9 and of 9 to 1 are a factor of 81 apart.
            let mixed = 81.0_f64.powf(1.0 / steepness) - 1.0;
            return format!("from 10 % to 90 % of the probes are slow within {:.0} % of load", mixed * 100.0);
        }
        format!(
            "standard deviation of a probe {:.0} %, of the capacity {:.0} %",
            self.measured * 100.0,
            self.capacity * 100.0
        )
    }

    /// So many searches, which begin with this seed.
    pub fn run(&self, searches: u64, seed: u64) -> CapacityTally {
        let slos = [slo()];
        let truth = self.truth(seed);
        let mut tally = CapacityTally::default();
        for number in 0..searches {
            let seed = seed.wrapping_add(number);
            self.one(&rules(&slos, seed), truth, &mut tally);
        }
        tally
    }

    fn one(&self, rules: &CapacityRules<'_>, truth: f64, tally: &mut CapacityTally) {
        let mut random = Random::new(rules.seed);
        let mut probes = Vec::new();
        while let NextProbe::Make(planned) = next_probe(rules, &probes) {
            probes.push(self.probe(planned, &mut random));
        }
        let answer = rules.grid(&probes);
        tally.add(&answer, truth, probes.len());
        if let Some(level) = answer.nine_of_ten() {
            let met = (0..FURTHER_PROBES).filter(|_| self.p95(level, &mut random) < BOUND).count();
            tally.promised += 1;
            tally.kept += u64::from(met as f64 >= KEPT * f64::from(FURTHER_PROBES));
        }
    }

    fn probe(&self, planned: PlannedProbe, random: &mut Random) -> CapacityProbe {
        let ratio = self.p95(planned.level, random) / BOUND;
        let margin = -ratio.min(COLLAPSED).ln();
        CapacityProbe {
            seconds: STEP_S,
            values: vec![Some(ratio)],
            margins: vec![margin],
            errors: vec![0.000_5],
            has_collapsed: planned.stage == ProbeStage::Bracket && ratio > COLLAPSED,
            goodput: planned.level,
            offered: planned.level,
            ..CapacityProbe::unmeasured(planned.stage, planned.level)
        }
    }

    /// The measured 95th percentile at a load, in mean service times.
    fn p95(&self, level: f64, random: &mut Random) -> f64 {
        let capacity = (self.capacity * random.normal()).exp();
        let true_p95 = match self.target {
            SimulatedTarget::Curve { elasticity } => BOUND * (level / (CAPACITY * capacity)).powf(elasticity),
            SimulatedTarget::Queue { workers } => {
                let rate_of_all = CAPACITY * 1.25 * capacity;
                queue_p95(level, workers, rate_of_all, random)
            }
            SimulatedTarget::TwoStates { steepness } => {
                let odds = (level / CAPACITY).powf(steepness);
                let is_slow = random.uniform() < odds / (1.0 + odds);
                BOUND * if is_slow { 10.0 } else { 0.1 }
            }
            SimulatedTarget::Warming => {
                let ratio = match level / WARMED {
                    0.88..0.97 => 1.5,
                    0.97..1.03 => 0.5,
                    other => other.powi(8),
                };
                BOUND * ratio
            }
        };
        true_p95 * (self.measured * random.normal()).exp()
    }

    /// The load at which half of the probes pass, by bisection on simulated probes.
    fn truth(&self, seed: u64) -> f64 {
        if !matches!(self.target, SimulatedTarget::Queue { .. }) {
            return CAPACITY;
        }
        let mut random = Random::new(seed).fork(1);
        let (mut low, mut high) = (START, CAPACITY * 1.25);
        for _ in 0..TRUTH_HALVINGS {
            let middle = (low * high).sqrt();
            let passes = (0..TRUTH_PROBES).filter(|_| self.p95(middle, &mut random) < BOUND).count();
            if 2 * passes > TRUTH_PROBES as usize { low = middle } else { high = middle }
        }
        (low * high).sqrt()
    }
}

/// The 95th percentile of the times in a queue within a probe, in mean service times.
fn queue_p95(level: f64, workers: usize, rate_of_all: f64, random: &mut Random) -> f64 {
    let service = workers as f64 / rate_of_all;
    let mut free_at = vec![0.0_f64; workers];
    let mut times = Vec::with_capacity((level * STEP_S * 1.1) as usize);
    let mut at = random.exponential(1.0 / level);
    while at < STEP_S {
        let mut first = 0;
        for worker in 1..workers {
            if free_at[worker] < free_at[first] {
                first = worker;
            }
        }
        let done = free_at[first].max(at) + random.exponential(service);
        free_at[first] = done;
        times.push(done - at);
        at += random.exponential(1.0 / level);
    }
    let place = (times.len() as f64 * 0.95) as usize;
    if times.is_empty() {
        return 0.0;
    }
    let place = place.min(times.len() - 1);
    let (_, p95, _) = times.select_nth_unstable_by(place, f64::total_cmp);
    *p95 / service
}

fn slo() -> Objective {
    parse("slo", "p95(list) < 50ms").expect("the text of an objective is one")
}

fn rules(slos: &[Objective], seed: u64) -> CapacityRules<'_> {
    CapacityRules {
        slos,
        range: SearchRange {
            easiest: START / 20.0,
            hardest: CAPACITY * 10.0,
            start: START,
            is_whole: false,
            is_more_better: false,
        },
        spacing: 0.04,
        levels: 7,
        repeats: 2,
        seed,
        levels_for_diagnosis: false,
        is_held: false,
        is_overloaded: false,
        plan_level: Some(START),
        warm_up_s: 0,
        step_s: STEP_S,
        per_s: &[],
        proven_per_s: None,
        at_least: None,
        ceiling: None,
        unit: "arrivals/s",
    }
}

impl CapacityTally {
    fn add(&mut self, answer: &GridAnswer, truth: f64, probes: usize) {
        self.searches += 1;
        self.probes += probes as u64;
        if answer.disorder.is_some() {
            return;
        }
        let is_above = answer.holds.is_some_and(|holds| holds > truth);
        let is_below = answer.breaks.is_some_and(|breaks| breaks < truth);
        self.overstated += u64::from(is_above);
        self.covered += u64::from(!is_above && !is_below);
        if let (Some(holds), Some(breaks)) = (answer.holds, answer.breaks) {
            self.answered += 1;
            self.widths += breaks / holds - 1.0;
        }
    }

    /// The mean width of the interval, as a share of what holds.
    pub fn mean_width(&self) -> f64 {
        self.widths / self.answered.max(1) as f64
    }

    /// Whether what is promised of a kind is kept, as far as chance allows to say: 95 % of the intervals cover the truth, 1 %
    /// at most say that more holds than does, 95 % have both ends, they are no wider than promised, and 5 % at most name a level at which
    /// fewer than nine of ten probes pass as one at which so many do; or, of a target that
    /// has no capacity, 95 % have no answer.
    pub fn keeps(&self, kind: &CapacityKind) -> bool {
        let limits = |count: u64| stats::share_limits(count as f64, self.searches as f64, 0.999);
        match kind.is_answered {
            true => {
                limits(self.covered).upper >= 0.95
                    && limits(self.promised - self.kept).lower <= 0.05
                    && limits(self.overstated).lower <= 0.01
                    && limits(self.answered).upper >= 0.95
                    && kind.width.is_none_or(|width| self.mean_width() <= width)
            }
            false => limits(self.answered).lower <= 0.05,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Few, so that tests are fast: the published table has many.
    const SEARCHES: u64 = 60;

    #[test]
    fn searches_keep_their_promises() {
        for kind in capacity_kinds() {
            let tally = kind.run(SEARCHES, 1);
            assert!(
                tally.keeps(&kind),
                "{} ({}): {tally:?}, mean width {:.1} %",
                kind.name,
                kind.description(),
                tally.mean_width() * 100.0
            );
        }
    }

    #[test]
    fn a_broken_promise_is_seen() {
        let kind = capacity_kinds()[1];
        let good = CapacityTally {
            searches: 300,
            answered: 300,
            covered: 297,
            widths: 30.0,
            ..CapacityTally::default()
        };
        assert!(good.keeps(&kind));
        for broken in [
            CapacityTally { covered: 240, ..good },
            CapacityTally { overstated: 15, ..good },
            CapacityTally { answered: 240, widths: 24.0, ..good },
            CapacityTally { widths: 60.0, ..good },
        ] {
            assert!(!broken.keeps(&kind), "{broken:?}");
        }
    }

    #[test]
    fn a_queue_is_slower_near_its_capacity() {
        let mut random = Random::new(1);
        let mut p95 = |level| queue_p95(level, 1, 200.0, &mut random);
        assert!(p95(50.0) < p95(150.0) && p95(150.0) < p95(195.0));
        // M/M/1 at half of its capacity: ln 20 times twice the service time.
        let half = p95(100.0);
        assert!((half / (2.0 * 20.0_f64.ln()) - 1.0).abs() < 0.15, "{half}");
    }
}
