//! Which probe comes next: a pure function of the probes so far, so that a search can be resumed, judged again and simulated.
//!
//! From the plan's own level in steps of half until one level breaks and one holds; bisection of what is between them; a grid
//! around it, probed repeatedly in random order and extended where the answer is not inside; more probes of the three levels
//! nearest the answer, where they narrow the interval most; then the answer held, the overload, and the easiest level of the
//! grid again. A level of the bracket or the bisection breaks with two of up to three
//! probes, so that a single unlucky one does not misplace the grid.

use evidence::capacity::{CapacityLevel, CapacityProbe, ProbeStage};
use workload::draw::mix;

use super::CapacityRules;
use super::grid::GridAnswer;

/// The factor from one level of the bracket to the next.
const BRACKET: f64 = 1.5;
/// Bisection ends where levels that hold and break are no further apart than by this factor.
const COARSE: f64 = 1.12;
/// How often the grid is extended.
const EXTENSIONS: u32 = 4;
/// By how many levels, and how many levels there are where the answer is at an end of what may be tried.
const EDGE_LEVELS: usize = 3;
/// How many levels are probed more often, and by how many times the probes of the others.
pub const NARROWED_LEVELS: u32 = 3;
pub const NARROWED_REPEATS: u32 = 2;
/// The levels of a diagnosis, as shares of the one that breaks: below 85 % of it demands are seen, at 60 % and 100 % what grows.
pub const SPREAD: [f64; 7] = [0.3, 0.45, 0.6, 0.7, 0.8, 0.95, 1.0];
/// How many levels are tried for the hold.
const HOLDS: usize = 3;

/// Where a capacity is searched. Levels are ordered from easy to hard, which of a number such as threads is from high to low.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchRange {
    /// The easiest level.
    pub easiest: f64,
    pub hardest: f64,
    /// Where the search begins.
    pub start: f64,
    /// Whether levels are whole numbers.
    pub is_whole: bool,
    /// Whether a higher level is easier.
    pub is_more_better: bool,
}

/// A probe that is to be made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlannedProbe {
    pub stage: ProbeStage,
    pub level: f64,
    /// The extension of the grid that it belongs to.
    pub extension: Option<GridExtension>,
}

/// Levels that are added to a grid that does not contain the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GridExtension {
    /// Which one it is, from 1.
    pub number: u32,
    /// Probes of all its levels.
    pub probes: u32,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NextProbe {
    Make(PlannedProbe),
    /// Nothing: the search is complete.
    Complete,
    /// The probes so far are not those of this search.
    Unknown,
}

/// The next probe after those that were made.
pub fn next_probe(rules: &CapacityRules<'_>, made: &[CapacityProbe]) -> NextProbe {
    match (Walk { rules, made, at: 0, extension: None }).search() {
        Ok(()) => NextProbe::Complete,
        Err(Pause::Make(planned)) => NextProbe::Make(planned),
        Err(Pause::Unknown) => NextProbe::Unknown,
    }
}

/// Why a walk along the probes ends.
enum Pause {
    Make(PlannedProbe),
    Unknown,
}

/// Where levels hold and break, as hardness.
struct Between {
    holds: Option<f64>,
    breaks: Option<f64>,
}

struct Walk<'a> {
    rules: &'a CapacityRules<'a>,
    made: &'a [CapacityProbe],
    at: usize,
    extension: Option<GridExtension>,
}

/// Random orders, one after another.
#[derive(Default)]
struct Orders(u64);

impl Orders {
    fn next(&mut self, seed: u64, count: usize) -> Vec<usize> {
        self.0 += 1;
        let seed = mix(seed ^ self.0 << 32);
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by_key(|at| mix(seed.wrapping_add(*at as u64)));
        order
    }
}

impl SearchRange {
    /// How hard a level is, on a scale on which equal factors are equal distances.
    pub(super) fn hardness(&self, level: f64) -> f64 {
        if self.is_more_better { -level.ln() } else { level.ln() }
    }

    /// The level of a hardness, within the range.
    fn level(&self, hardness: f64) -> f64 {
        let hardness = hardness.clamp(self.hardness(self.easiest), self.hardness(self.hardest));
        let level = if self.is_more_better { (-hardness).exp() } else { hardness.exp() };
        if self.is_whole { level.round().max(1.0) } else { level }
    }

    /// The neighbour of a level, by `spacing` harder or, if that is negative, easier; none beyond the range.
    fn neighbour(&self, level: f64, spacing: f64) -> Option<f64> {
        let exact = self.hardness(level) + spacing.signum() * spacing.abs().ln_1p();
        let ends = (self.hardness(self.easiest) - 1e-9, self.hardness(self.hardest) + 1e-9);
        let is_upwards = (spacing > 0.0) != self.is_more_better;
        let level = match self.is_whole {
            true if is_upwards => exact_level(self, exact).round().max(level + 1.0),
            true => exact_level(self, exact).round().min(level - 1.0),
            false => exact_level(self, exact),
        };
        (level > 0.0 && (ends.0..=ends.1).contains(&self.hardness(level))).then_some(level)
    }
}

fn exact_level(range: &SearchRange, hardness: f64) -> f64 {
    if range.is_more_better { (-hardness).exp() } else { hardness.exp() }
}

impl<'a> Walk<'a> {
    fn ask(&mut self, stage: ProbeStage, level: f64) -> Result<&'a CapacityProbe, Pause> {
        let Some(probe) = self.made.get(self.at) else {
            return Err(Pause::Make(PlannedProbe { stage, level, extension: self.extension }));
        };
        self.at += 1;
        let is_it = probe.stage == stage && (probe.level / level - 1.0).abs() < 1e-6;
        if is_it { Ok(probe) } else { Err(Pause::Unknown) }
    }

    fn search(&mut self) -> Result<(), Pause> {
        let mut between = self.bracket()?;
        self.bisect(&mut between)?;
        if self.rules.levels_for_diagnosis {
            return self.spread(&between);
        }
        let answer = self.grid(&between)?;
        self.hold(&answer)?;
        self.overload(&answer)?;
        self.again(&answer)
    }

    /// A probe that says something of its level, as far as one of two does: an unusable probe is repeated once.
    fn ask_again(&mut self, stage: ProbeStage, level: f64) -> Result<&'a CapacityProbe, Pause> {
        let probe = self.ask(stage, level)?;
        if probe.unusable.is_none() { Ok(probe) } else { self.ask(stage, level) }
    }

    /// Whether a level passes: with its first probe, or with both of the next two.
    fn level_passes(&mut self, stage: ProbeStage, level: f64) -> Result<bool, Pause> {
        Ok(passes(self.ask(stage, level)?)
            || (passes(self.ask(stage, level)?) && passes(self.ask(stage, level)?)))
    }

    fn bracket(&mut self) -> Result<Between, Pause> {
        let range = &self.rules.range;
        let ends = [range.easiest, range.hardest].map(|level| range.hardness(level));
        let mut between = Between { holds: None, breaks: None };
        let mut level = range.start;
        loop {
            let is_held = self.level_passes(ProbeStage::Bracket, level)?;
            let hardness = range.hardness(level);
            let (to, is_end) = match is_held {
                true => {
                    between.holds = Some(hardness);
                    (hardness + BRACKET.ln(), hardness >= ends[1] - 1e-9)
                }
                false => {
                    between.breaks = Some(hardness);
                    (hardness - BRACKET.ln(), hardness <= ends[0] + 1e-9)
                }
            };
            let next = range.level(to);
            if is_end
                || (next / level - 1.0).abs() < 1e-9
                || between.holds.is_some() && between.breaks.is_some()
            {
                return Ok(between);
            }
            level = next;
        }
    }

    fn bisect(&mut self, between: &mut Between) -> Result<(), Pause> {
        let range = &self.rules.range;
        while let (Some(holds), Some(breaks)) = (between.holds, between.breaks) {
            let level = range.level(f64::midpoint(holds, breaks));
            let hardness = range.hardness(level);
            let is_new = hardness > holds + 1e-9 && hardness < breaks - 1e-9;
            if breaks - holds <= COARSE.ln() || !is_new {
                break;
            }
            match self.level_passes(ProbeStage::Coarse, level)? {
                true => between.holds = Some(hardness),
                false => between.breaks = Some(hardness),
            }
        }
        Ok(())
    }

    /// Levels up to where it breaks, in random order: what an overload leaves behind is not in all that follow.
    fn spread(&mut self, between: &Between) -> Result<(), Pause> {
        let range = &self.rules.range;
        let Some(breaks) = between.breaks.filter(|_| between.holds.is_some()) else { return Ok(()) };
        let breaks = range.level(breaks);
        let mut levels: Vec<f64> =
            SPREAD.iter().map(|share| range.level(range.hardness(share * breaks))).collect();
        levels.dedup_by(|a, b| (*a / *b - 1.0).abs() < 1e-6);
        for at in Orders::default().next(self.rules.seed, levels.len()) {
            self.ask_again(ProbeStage::Spread, levels[at])?;
        }
        Ok(())
    }

    fn grid(&mut self, between: &Between) -> Result<GridAnswer, Pause> {
        let mut levels = self.first_levels(between);
        let begin = self.at;
        let mut order = Orders::default();
        self.probe_in_random_order(&levels, &mut order)?;
        let (mut extensions, mut is_narrowed, mut is_doubled) = (0, false, false);
        loop {
            let answer = GridAnswer::from_probes(self.rules, &self.made[begin..self.at]);
            let more = self.more_levels(&levels, &answer);
            let nearest = nearest_the_answer(&answer);
            let is_open = !more.is_empty() && extensions > 0;
            if (answer.two_states.is_some() || answer.has_jump || is_open) && !is_doubled {
                // Two states take more probes to be seen and counted than a mean does, and so does noise that hides an end.
                is_doubled = true;
                self.probe_in_random_order(&levels, &mut order)?;
            } else if !more.is_empty() && answer.disorder.is_none() && extensions < EXTENSIONS {
                extensions += 1;
                let times = if is_doubled { 2 } else { 1 };
                let probes = more.len() as u32 * self.rules.repeats * times;
                self.extension = Some(GridExtension { number: extensions, probes });
                for _ in 0..times {
                    self.probe_in_random_order(&more, &mut order)?;
                }
                self.extension = None;
                levels.extend(more);
            } else if !nearest.is_empty() && !is_narrowed {
                is_narrowed = true;
                for _ in 0..NARROWED_REPEATS {
                    self.probe_in_random_order(&nearest, &mut order)?;
                }
            } else {
                return Ok(answer);
            }
        }
    }

    /// The levels of the grid before it is extended.
    fn first_levels(&self, between: &Between) -> Vec<f64> {
        let (range, most) = (&self.rules.range, self.rules.levels as usize);
        match (between.holds, between.breaks) {
            (Some(holds), Some(breaks)) => {
                let mut levels = vec![range.level(f64::midpoint(holds, breaks))];
                while levels.len() < most {
                    let ends = [(0, -self.rules.spacing), (levels.len() - 1, self.rules.spacing)];
                    let [easier, harder] = ends.map(|(at, spacing)| range.neighbour(levels[at], spacing));
                    if easier.is_none() && harder.is_none() {
                        break;
                    }
                    easier.into_iter().for_each(|level| levels.insert(0, level));
                    levels.extend(harder);
                }
                levels
            }
            (Some(_), None) => self.levels_from(range.hardest, -self.rules.spacing, EDGE_LEVELS),
            (None, _) => self.levels_from(range.easiest, self.rules.spacing, EDGE_LEVELS),
        }
    }

    /// So many levels from an end of the grid on, that end included.
    fn levels_from(&self, end: f64, spacing: f64, count: usize) -> Vec<f64> {
        let next = |level: &f64| self.rules.range.neighbour(*level, spacing);
        std::iter::successors(Some(end), next).take(count).collect()
    }

    /// Levels beyond the grid on the side on which the answer is not inside.
    fn more_levels(&self, levels: &[f64], answer: &GridAnswer) -> Vec<f64> {
        let range = &self.rules.range;
        let by_hardness = |a: &&f64, b: &&f64| range.hardness(**a).total_cmp(&range.hardness(**b));
        let ends = [levels.iter().min_by(by_hardness), levels.iter().max_by(by_hardness)];
        let beyond = |end: Option<&f64>, spacing: f64| -> Vec<f64> {
            let all = end.map(|end| self.levels_from(*end, spacing, EDGE_LEVELS + 1)).unwrap_or_default();
            all.into_iter().skip(1).collect()
        };
        let mut more = Vec::new();
        if answer.holds.is_none() {
            more.extend(beyond(ends[0], -self.rules.spacing));
        }
        // Where the generator cannot follow, a higher load shows nothing.
        if answer.breaks.is_none() && !answer.is_limited_by_generator {
            more.extend(beyond(ends[1], self.rules.spacing));
        }
        more
    }

    fn probe_in_random_order(&mut self, levels: &[f64], orders: &mut Orders) -> Result<(), Pause> {
        for _ in 0..self.rules.repeats {
            for at in orders.next(self.rules.seed, levels.len()) {
                self.ask_again(ProbeStage::Grid, levels[at])?;
            }
        }
        Ok(())
    }

    /// Hold the answer; where it does not hold, what is easier.
    fn hold(&mut self, answer: &GridAnswer) -> Result<(), Pause> {
        let candidates =
            answer.held().take(HOLDS).filter(|_| self.rules.is_held && answer.disorder.is_none());
        for level in candidates.collect::<Vec<f64>>() {
            if passes(self.ask_again(ProbeStage::Hold, level)?) {
                break;
            }
        }
        Ok(())
    }

    fn overload(&mut self, answer: &GridAnswer) -> Result<(), Pause> {
        if let Some(estimate) =
            answer.estimate().filter(|_| self.rules.is_overloaded && answer.disorder.is_none())
        {
            self.ask(ProbeStage::Overload, estimate)?;
        }
        Ok(())
    }

    /// The easiest level once more, after everything harder.
    fn again(&mut self, answer: &GridAnswer) -> Result<(), Pause> {
        let is_answered = answer.holds.is_some() && answer.breaks.is_some() && answer.disorder.is_none();
        if let Some(easiest) = answer.levels.first().filter(|_| is_answered) {
            self.ask(ProbeStage::Again, easiest.level)?;
        }
        Ok(())
    }
}

/// The hardest level that single probes of the bracket and the bisection met, and the easiest that they did not.
pub fn bracket(rules: &CapacityRules<'_>, probes: &[CapacityProbe]) -> Option<[f64; 2]> {
    let hardness = |level: &f64| rules.range.hardness(*level);
    let by_hardness = |a: &f64, b: &f64| hardness(a).total_cmp(&hardness(b));
    let searched =
        || probes.iter().filter(|probe| matches!(probe.stage, ProbeStage::Bracket | ProbeStage::Coarse));
    let holds = searched().filter(|probe| passes(probe)).map(|probe| probe.level).max_by(by_hardness)?;
    let is_beyond = |level: &f64| hardness(level) > hardness(&holds);
    let breaks = searched().filter(|probe| !passes(probe)).map(|probe| probe.level).filter(is_beyond);
    Some([holds, breaks.min_by(by_hardness)?])
}

/// The levels whose tightest margin is nearest to 0, the easiest first; none where the answer is not inside the grid, is
/// not one, or is counted.
fn nearest_the_answer(answer: &GridAnswer) -> Vec<f64> {
    let is_counted = answer.two_states.is_some();
    if answer.holds.is_none() || answer.breaks.is_none() || answer.disorder.is_some() || is_counted {
        return Vec::new();
    }
    let tightest = |level: &CapacityLevel| {
        let means = level.margins.iter().map(|(mean, _, _)| *mean);
        means.reduce(f64::min).map_or(f64::INFINITY, f64::abs)
    };
    let mut by_distance: Vec<(usize, &CapacityLevel)> = answer.levels.iter().enumerate().collect();
    by_distance.sort_by(|a, b| tightest(a.1).total_cmp(&tightest(b.1)));
    by_distance.truncate(NARROWED_LEVELS as usize);
    by_distance.sort_by_key(|(at, _)| *at);
    by_distance.into_iter().map(|(_, level)| level.level).collect()
}

/// Whether a probe meets every objective.
pub(super) fn passes(probe: &CapacityProbe) -> bool {
    probe.unusable.is_none() && !probe.has_collapsed && probe.margins.iter().all(|margin| *margin > 0.0)
}
