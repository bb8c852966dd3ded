//! The answer of the grid: which levels hold, which break, and whether their order makes sense.

use evidence::capacity::{CapacityLevel, CapacityProbe, LevelVerdict, ProbeStage};
use stats::{Inversion, InversionRules, tolerance_factor};

use super::CapacityRules;
use super::bimodal::{self, Margins, ONE_SIDED};
use super::margin::CLIP;

/// The confidence at which a grid that is not monotone is not called noise.
const DISORDER: f64 = 0.99;

/// The share of probes that [`GridAnswer::nine_of_ten`] is about, and the confidence at which it is shown.
const NINE_OF_TEN: f64 = 0.90;
const TOLERANCE: f64 = 0.95;

/// What the grid shows.
#[derive(Debug, Clone, PartialEq)]
pub struct GridAnswer {
    /// Each level, the easiest first.
    pub levels: Vec<CapacityLevel>,
    /// The furthest level that holds, as all easier ones do.
    pub holds: Option<f64>,
    /// The nearest level that breaks, as all harder ones do.
    pub breaks: Option<f64>,
    /// The deviation of each objective's margin between probes of a level, with its degrees of freedom.
    pub deviations: Vec<Option<(f64, u32)>>,
    /// The objective that breaks at the nearest level that breaks.
    pub breaks_first: Option<usize>,
    /// Two levels of which the harder is better, beyond noise, with the objective.
    pub disorder: Option<(f64, f64, usize)>,
    /// The level whose probes are in two states, and the objective: levels are then decided by counting.
    pub two_states: Option<(f64, usize)>,
    /// Whether neighbouring levels are as far apart as two states.
    pub has_jump: bool,
    /// Whether the generator could not offer what the hardest level asks for.
    pub is_limited_by_generator: bool,
}

impl GridAnswer {
    /// What these probes show; those of other stages are left out.
    pub fn from_probes(rules: &CapacityRules<'_>, probes: &[CapacityProbe]) -> GridAnswer {
        let mut grid = by_level(rules, probes);
        let usable =
            |level: &Vec<&CapacityProbe>| level.iter().filter(|probe| probe.unusable.is_none()).count();
        let is_limited_by_generator = grid.last().is_some_and(|(_, level)| 2 * usable(level) < level.len());
        for (_, level) in &mut grid {
            level.retain(|probe| probe.unusable.is_none());
        }
        let slos = rules.slos.len();
        let margins = |slo: usize| -> Margins {
            let of = |probe: &&CapacityProbe| probe.margins.get(slo).copied();
            grid.iter().map(|(_, level)| level.iter().filter_map(of).collect()).collect()
        };
        let by_slo: Vec<Margins> = (0..slos).map(margins).collect();
        let (mut inversions, mut disorder) = (Vec::new(), None);
        for (slo, margins) in by_slo.iter().enumerate() {
            let inversion = Inversion::detect(margins, inversion_rules(&grid, slo, slos));
            let found = inversion.as_ref().and_then(|inversion| inversion.disorder(margins, DISORDER));
            disorder = disorder.or(found.map(|(low, high)| (grid[low].0, grid[high].0, slo)));
            inversions.push(inversion);
        }
        let mut levels: Vec<CapacityLevel> = grid
            .iter()
            .enumerate()
            .map(|(at, (level, probes))| answer(*level, probes, &of_level(&inversions, at)))
            .collect();
        let two_states = bimodal::in_two_states(&by_slo);
        if two_states.is_some() {
            count(&grid, &by_slo, &mut levels);
        }
        let is = |verdict| move |level: &&CapacityLevel| level.verdict == verdict;
        let holds = levels.iter().take_while(is(LevelVerdict::Holds)).last();
        let breaks = levels.iter().rev().take_while(is(LevelVerdict::Breaks)).last();
        let lowest = |level: &CapacityLevel| {
            let by_upper = |a: &usize, b: &usize| level.margins[*a].2.total_cmp(&level.margins[*b].2);
            (0..level.margins.len()).min_by(by_upper)
        };
        GridAnswer {
            holds: holds.map(|level| level.level),
            breaks: breaks.map(|level| level.level),
            breaks_first: breaks.and_then(lowest),
            deviations: inversions
                .iter()
                .map(|found| found.as_ref().map(|found| (found.deviation, found.degrees)))
                .collect(),
            disorder,
            two_states: two_states.map(|(at, slo)| (grid[at].0, slo)),
            has_jump: bimodal::has_jump(&by_slo),
            is_limited_by_generator,
            levels,
        }
    }

    /// Between what holds and what breaks.
    pub fn estimate(&self) -> Option<f64> {
        Some((self.holds? * self.breaks?).sqrt())
    }

    /// The furthest level at which nine of ten probes are shown to meet every objective, as at all easier ones: the one-sided
    /// tolerance limit of their margins is above 0. None where probes are in two states, of which few probes show nothing.
    pub fn nine_of_ten(&self) -> Option<f64> {
        let is_met = |level: &&CapacityLevel| {
            let mut margins = level.margins.iter().map(|(mean, _, _)| *mean).zip(&self.deviations);
            let is_above = |(mean, deviation): (f64, &Option<(f64, u32)>)| {
                let Some((deviation, degrees)) = *deviation else { return false };
                mean > deviation * tolerance_factor(NINE_OF_TEN, TOLERANCE, level.probes, degrees)
            };
            let is_known = level.probes > 1 && level.margins.len() == self.deviations.len();
            is_known && margins.all(is_above)
        };
        let is_ordered = self.two_states.is_none() && self.disorder.is_none();
        self.levels.iter().take_while(is_met).last().filter(|_| is_ordered).map(|level| level.level)
    }

    /// Levels that hold, as all easier ones do; the furthest first.
    pub(super) fn held(&self) -> impl Iterator<Item = f64> + '_ {
        let held = self.levels.iter().take_while(|level| level.verdict == LevelVerdict::Holds);
        let mut levels: Vec<f64> = held.map(|level| level.level).collect();
        levels.reverse();
        levels.into_iter()
    }
}

type ProbesByLevel<'p> = Vec<(f64, Vec<&'p CapacityProbe>)>;

/// The probes of the grid by level, the easiest first.
fn by_level<'p>(rules: &CapacityRules<'_>, probes: &'p [CapacityProbe]) -> ProbesByLevel<'p> {
    let mut grid: ProbesByLevel<'p> = Vec::new();
    for probe in probes.iter().filter(|probe| probe.stage == ProbeStage::Grid) {
        match grid.iter_mut().find(|(level, _)| (*level / probe.level - 1.0).abs() < 1e-6) {
            Some((_, level)) => level.push(probe),
            None => grid.push((probe.level, vec![probe])),
        }
    }
    grid.sort_by(|a, b| rules.range.hardness(a.0).total_cmp(&rules.range.hardness(b.0)));
    grid
}

/// A level breaks with any of its objectives, so that each has its part of the error.
fn inversion_rules(grid: &ProbesByLevel<'_>, slo: usize, slos: usize) -> InversionRules {
    let errors = grid.iter().flat_map(|(_, level)| level.iter().filter_map(|probe| probe.errors.get(slo)));
    let squares: Vec<f64> = errors.map(|error| error * error).collect();
    InversionRules {
        holds: ONE_SIDED,
        breaks: 1.0 - (1.0 - ONE_SIDED) / slos.max(1) as f64,
        least: stats::mean(&squares).unwrap_or(0.0).sqrt(),
        collapsed: -CLIP + 1e-9,
    }
}

/// Mean margin of each objective at a level, with its limits.
fn of_level(inversions: &[Option<Inversion>], at: usize) -> Vec<Option<(f64, f64, f64)>> {
    let of = |inversion: &Option<Inversion>| {
        let level = inversion.as_ref()?.levels.get(at).copied()??;
        Some((level.mean, level.lower, level.upper))
    };
    inversions.iter().map(of).collect()
}

/// Decides levels by counting their probes, and those of their neighbours.
fn count(grid: &ProbesByLevel<'_>, by_slo: &[Margins], levels: &mut [CapacityLevel]) {
    let limits: Vec<Vec<(f64, f64)>> = by_slo.iter().map(|levels| bimodal::limits(levels)).collect();
    let verdicts = bimodal::counted(grid.iter().map(|(_, probes)| probes.as_slice()));
    for (at, level) in levels.iter_mut().enumerate() {
        level.verdict = if level.probes < 2 { LevelVerdict::Open } else { verdicts[at] };
        for ((_, lower, upper), limits) in level.margins.iter_mut().zip(&limits) {
            (*lower, *upper) = limits[at];
        }
    }
}

fn answer(level: f64, probes: &[&CapacityProbe], margins: &[Option<(f64, f64, f64)>]) -> CapacityLevel {
    let known: Vec<(f64, f64, f64)> = margins.iter().flatten().copied().collect();
    let verdict = match () {
        // A single probe of a level shows nothing of it.
        () if known.len() < margins.len() || probes.len() < 2 => LevelVerdict::Open,
        () if known.iter().all(|(_, lower, _)| *lower > 0.0) => LevelVerdict::Holds,
        () if known.iter().any(|(_, _, upper)| *upper < 0.0) => LevelVerdict::Breaks,
        () => LevelVerdict::Open,
    };
    let median = |slo: usize| {
        let values: Vec<f64> = probes
            .iter()
            .map(|probe| probe.values.get(slo).copied().flatten().unwrap_or(f64::INFINITY))
            .collect();
        stats::quantile(&values, 0.5).filter(|value| value.is_finite())
    };
    let goodput: Vec<f64> = probes.iter().map(|probe| probe.goodput).collect();
    CapacityLevel {
        level,
        probes: probes.len() as u32,
        verdict,
        medians: (0..margins.len()).map(median).collect(),
        margins: known,
        goodput: stats::mean(&goodput).unwrap_or(0.0),
    }
}
