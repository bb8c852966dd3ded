//! The experiment that confirms a limit: the target as it is started and with more of what limits it, each at levels around its break.
//!
//! Both arms are probed in random order, each level twice. The first probe is of the raised arm and shows how much more of the limit it
//! has: an arm in which that is not seen confirms nothing, however it performs.

use evidence::capacity::{CapacityProbe, shown_level};
use evidence::diagnosis::{
    ArmBreak, CapacityInterval, Confirmation, ConfirmationAnswer, ConfirmationArm, Diagnosis, LedgerLine,
    LedgerStanding,
};
use figures::number::brief;
use workload::draw::mix;

use super::search::passes;
use crate::diagnosis::{BUSIEST_THREAD, CPU};

/// The break must move by so much for a limit to be confirmed, at the lower limit of how much it moved …
const MOVES: f64 = 1.15;
/// … and at the upper limit by this share of what is predicted.
const AS_PREDICTED: f64 = 0.9;
/// Levels around a break, as shares of it.
const AROUND: [f64; 4] = [0.8, 0.9, 1.0, 1.12];
/// A size that is at most this much larger was not raised.
const SAME_SIZE: f64 = 1.05;
/// Load is raised to so many times that at which the target breaks, at most.
const MOST_TIMES: f64 = 4.0;
/// Levels that are this close are the same.
const SAME_LEVEL: f64 = 1e-6;
/// Probes of each level.
const REPEATS: usize = 2;

/// What is to be confirmed.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfirmationRules {
    /// The named resource, as the ledger has it.
    limit: LedgerLine,
    /// How much of it there is.
    size: f64,
    /// By what it is raised: `POOL=8`.
    change: String,
    /// The level that breaks, and the highest that may be offered.
    breaks: f64,
    hardest: f64,
    /// The unit of levels.
    unit: String,
    /// What is used up next, and at how many times the load that breaks.
    next: Option<(String, f64)>,
    /// Of the order of the probes.
    seed: u64,
}

/// The levels of the search that named a limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchedLevels<'a> {
    /// The level that breaks.
    pub breaks: f64,
    /// The highest that may be offered.
    pub hardest: f64,
    pub unit: &'a str,
    pub seed: u64,
}

/// A probe of one of the arms.
#[derive(Debug, Clone, PartialEq)]
pub struct ArmProbe {
    pub arm: ConfirmationArm,
    pub probe: CapacityProbe,
}

/// How many times as much of the limit there is in the raised arm.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Raised {
    By {
        size: f64,
    },
    /// A thread that did the work alone does so no more.
    Shared,
    /// Its size is the same.
    Not {
        size: f64,
    },
    Unobserved,
}

impl ConfirmationRules {
    /// None where the diagnosis names no limit.
    pub fn new(diagnosis: &Diagnosis, change: &str, levels: SearchedLevels<'_>) -> Option<ConfirmationRules> {
        let limit = diagnosis.ledger.iter().find(|line| line.standing == LedgerStanding::Limits)?;
        let breaks_per_s = diagnosis.range_per_s?[1];
        Some(ConfirmationRules {
            limit: limit.clone(),
            size: limit.limit?,
            change: change.to_owned(),
            breaks: levels.breaks,
            hardest: levels.hardest,
            unit: levels.unit.to_owned(),
            next: next_limit(diagnosis, limit).map(|(name, low)| (name, low / breaks_per_s)),
            seed: levels.seed,
        })
    }

    /// The next probe; none: there are enough.
    pub fn next(&self, made: &[ArmProbe]) -> Option<(ConfirmationArm, f64)> {
        let first = (ConfirmationArm::Raised, self.breaks * AROUND[1]);
        let Some(of_first) = made.iter().find(|made| made.probe.unusable.is_none()) else {
            return (made.len() < REPEATS).then_some(first);
        };
        let predicted = self.predicted(self.raised(&of_first.probe)).filter(|times| *times >= MOVES)?;
        let mut rest = made;
        for place in self.places(predicted) {
            // A probe that says nothing is repeated once.
            let (tries, others) = rest.split_at(rest.len().min(match rest.first() {
                Some(made) if made.probe.unusable.is_some() => 2,
                _ => 1,
            }));
            if tries.last().is_none_or(|made| tries.len() == 1 && made.probe.unusable.is_some()) {
                return Some(place);
            }
            rest = others;
        }
        None
    }

    /// How many probes there are at most.
    pub fn most_probes() -> usize {
        REPEATS * (2 * AROUND.len() + 2)
    }

    /// Every probe in order, where the raised arm should break at `predicted` times the load. The first is that of the raised arm which
    /// shows its size.
    fn places(&self, predicted: f64) -> Vec<(ConfirmationArm, f64)> {
        let around = |share: &f64| self.breaks * share;
        let unchanged = AROUND.iter().map(around).map(|level| (ConfirmationArm::Unchanged, level));
        // Where an arm that carries no more breaks, half-way, and where this one should.
        let of_raised = [
            AROUND[1],
            AROUND[3],
            predicted.sqrt().max(AROUND[3] * AROUND[3]),
            AROUND[0] * predicted,
            AROUND[3] * predicted,
        ];
        let mut raised: Vec<f64> =
            of_raised.iter().map(around).map(|level| level.min(self.hardest)).collect();
        raised.sort_by(f64::total_cmp);
        raised.dedup_by(|a, b| *a / *b < SAME_SIZE);
        let raised = raised.into_iter().map(|level| (ConfirmationArm::Raised, level));
        let once: Vec<_> = unchanged.chain(raised).collect();
        let mut all: Vec<_> = std::iter::repeat_n(once, REPEATS).flatten().enumerate().collect();
        let first = (ConfirmationArm::Raised, self.breaks * AROUND[1]);
        all.sort_by_key(|(at, _)| mix(self.seed ^ (*at as u64 + 1) << 32));
        let mut places: Vec<_> = all.into_iter().map(|(_, place)| place).collect();
        if let Some(at) = places.iter().position(|place| *place == first) {
            places[..=at].rotate_right(1);
        }
        places
    }

    /// What the probes show.
    pub fn judge(&self, made: &[ArmProbe]) -> Confirmation {
        let of = |arm: ConfirmationArm| {
            let usable = made.iter().filter(move |made| made.arm == arm && made.probe.unusable.is_none());
            usable.map(|made| &made.probe).collect::<Vec<_>>()
        };
        let [unchanged, raised] = [ConfirmationArm::Unchanged, ConfirmationArm::Raised].map(of);
        let size = raised.first().map_or(Raised::Unobserved, |probe| self.raised(probe));
        let breaks = [&unchanged, &raised].map(|probes| arm_break(probes));
        let times = |of: Option<f64>, than: Option<f64>| Some(of? / than?);
        let mut found = Confirmation {
            answer: ConfirmationAnswer::Inconclusive,
            because: String::new(),
            resource: self.limit.resource.clone(),
            change: self.change.clone(),
            sizes: (self.size, size.observed()),
            predicted: self.predicted(size),
            moved: (times(breaks[1].holds, breaks[0].breaks), times(breaks[1].breaks, breaks[0].holds)),
            unit: self.unit.clone(),
            unchanged: breaks[0],
            raised: breaks[1],
        };
        (found.answer, found.because) = self.answer(size, &found, self.next(made).is_none());
        found
    }

    fn answer(&self, size: Raised, found: &Confirmation, is_complete: bool) -> (ConfirmationAnswer, String) {
        use ConfirmationAnswer::{Confirmed, Inconclusive, NotConfirmed};
        let predicted = match (self.why_not_to_be_seen(size), found.predicted) {
            (None, Some(predicted)) => predicted,
            (why, _) => return (Inconclusive, why.unwrap_or_default()),
        };
        let measured = self.measured(found, predicted);
        let (least, most) = found.moved;
        let is_enough = least.is_some_and(|times| times >= MOVES);
        let is_too_little = most.is_some_and(|times| times < AS_PREDICTED * predicted);
        match () {
            () if !is_complete => (Inconclusive, format!("not all probes were made. {measured}.")),
            () if is_enough && !is_too_little => (Confirmed, format!("{measured}.")),
            () if is_enough => (NotConfirmed, format!("{measured}. Something else limits soon after it.")),
            () if is_too_little => (NotConfirmed, format!("{measured}.")),
            () => (Inconclusive, format!("{measured}: the probes do not show whether the break moves.")),
        }
    }

    /// Why no probe could show that it is the limit.
    fn why_not_to_be_seen(&self, size: Raised) -> Option<String> {
        let (change, of_now) = (&self.change, brief::significant(self.size));
        let times = match size {
            Raised::Unobserved => {
                return Some(format!("how much there is of it with {change} was not observed."));
            }
            Raised::Not { size } => {
                return Some(format!(
                    "its size is {} with {change} too: does the start command read it, or set it itself?",
                    brief::significant(size)
                ));
            }
            Raised::By { size } => size / self.size,
            Raised::Shared => MOVES,
        };
        match &self.next {
            Some((next, times)) if *times < MOVES => Some(format!(
                "{next} would be used up at {} times the load that breaks, so that more of it alone moves the break too little to be seen: \
                 raise both.",
                brief::significant(*times)
            )),
            _ if times < MOVES => Some(format!(
                "from {of_now} to {} moves the break too little to be seen: raise it by half.",
                brief::significant(times * self.size)
            )),
            _ if self.hardest < MOVES * self.breaks => Some(format!(
                "{} is the most that can be offered, and it breaks at {}: a higher break cannot be seen.",
                self.shown(self.hardest),
                self.shown(self.breaks)
            )),
            _ => None,
        }
    }

    /// Both breaks, and how far they are from each other.
    fn measured(&self, found: &Confirmation, predicted: f64) -> String {
        let times = match found.moved {
            (Some(least), Some(most)) => {
                format!("{} to {} times the load", brief::significant(least), brief::significant(most))
            }
            (Some(least), None) => format!("{} times the load or more", brief::significant(least)),
            (None, Some(most)) => format!("at most {} times the load", brief::significant(most)),
            (None, None) => "not shown how much more".to_owned(),
        };
        let [unchanged, raised] = [found.unchanged, found.raised].map(|of| self.shown_break(of));
        format!(
            "with {} it {raised}; unchanged it {unchanged}. That is {times}, and {} times were predicted",
            self.change,
            brief::significant(predicted)
        )
    }

    fn shown(&self, level: f64) -> String {
        shown_level(level, &self.unit)
    }

    fn shown_break(&self, of: ArmBreak) -> String {
        match (of.holds, of.breaks) {
            (Some(holds), Some(breaks)) => {
                format!("holds at {} and breaks at {}", shown_level(holds, ""), self.shown(breaks))
            }
            (Some(holds), None) => format!("holds at {} and is not shown to break", self.shown(holds)),
            (None, Some(breaks)) => format!("breaks at {} and is not shown to hold", self.shown(breaks)),
            (None, None) => "is neither shown to hold nor to break".to_owned(),
        }
    }

    /// How many times the load the raised arm should carry, as far as that can be offered and nothing else is used up before.
    fn predicted(&self, raised: Raised) -> Option<f64> {
        let times = match raised {
            Raised::By { size } => size / self.size,
            // How many threads share the work is not known: two would carry this at least.
            Raised::Shared => MOVES * AROUND[3],
            Raised::Not { .. } | Raised::Unobserved => return None,
        };
        let next = self.next.as_ref().map_or(f64::INFINITY, |(_, times)| *times);
        Some(times.min(next).min(MOST_TIMES).min(self.hardest / self.breaks))
    }

    /// How much of the limit a probe of the raised arm shows.
    fn raised(&self, probe: &CapacityProbe) -> Raised {
        let size = probe.uses.iter().find(|it| it.name == self.limit.resource).and_then(|it| it.limit);
        match size {
            Some(size) if size > SAME_SIZE * self.size => Raised::By { size },
            Some(size) => Raised::Not { size },
            None if self.limit.series == BUSIEST_THREAD && self.is_target_observed(probe) => Raised::Shared,
            None => Raised::Unobserved,
        }
    }

    /// Whether the processors of the target whose one thread is the limit were observed.
    fn is_target_observed(&self, probe: &CapacityProbe) -> bool {
        let target = |name: &str| name.split_once(" of ").map(|(_, target)| target.to_owned());
        probe.uses.iter().any(|it| it.series == CPU && target(&it.name) == target(&self.limit.resource))
    }
}

impl Raised {
    fn observed(self) -> Option<f64> {
        match self {
            Raised::By { size } | Raised::Not { size } => Some(size),
            Raised::Shared | Raised::Unobserved => None,
        }
    }
}

/// What is used up first besides the limit, at how many completions a second. What is held while the limit is waited for is held for
/// less once there is more of it.
fn next_limit(diagnosis: &Diagnosis, limit: &LedgerLine) -> Option<(String, f64)> {
    let counts = |line: &&LedgerLine| {
        line.resource != limit.resource
            && !matches!(line.standing, LedgerStanding::HeldForLonger | LedgerStanding::Contradicted)
    };
    let low = |line: &LedgerLine| line.capacity_per_s.map(|CapacityInterval { low, .. }| low);
    let others = diagnosis.ledger.iter().filter(counts);
    let all = others.filter_map(|line| Some((line.resource.clone(), low(line)?)));
    all.min_by(|a, b| a.1.total_cmp(&b.1))
}

/// Between which levels these probes break. A level at which some pass and some do not is between.
fn arm_break(probes: &[&CapacityProbe]) -> ArmBreak {
    let mut levels: Vec<f64> = probes.iter().map(|probe| probe.level).collect();
    levels.sort_by(f64::total_cmp);
    let is_same = |a: f64, b: f64| (a / b - 1.0).abs() < SAME_LEVEL;
    levels.dedup_by(|a, b| is_same(*a, *b));
    let at = |level: f64| probes.iter().filter(move |probe| is_same(probe.level, level));
    let all_hold = |level: &&f64| at(**level).all(|probe| passes(probe));
    let none_holds = |level: &&f64| !at(**level).any(|probe| passes(probe));
    ArmBreak {
        holds: levels.iter().take_while(all_hold).last().copied(),
        breaks: levels.iter().rev().take_while(none_holds).last().copied(),
        probes: probes.len(),
    }
}

#[cfg(test)]
mod tests;
