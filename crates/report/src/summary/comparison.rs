//! Several runs side by side: everything the renderers need of them, computed once.
//!
//! The first run is the baseline. Phases, scenarios and endpoints are matched by name; those of only some sides are
//! listed. Nothing here judges: a difference that a rule refuses is not computed.

mod costs;
mod endpoints;
mod largest;
mod movers;
mod objectives;
mod series;

use std::collections::BTreeSet;

use evidence::run::ReadError;
use evidence::{ComparisonJudgement, Run};
use serde::Serialize;
use workload::Workload;

use super::tally::{self, RunTally};
use super::{Header, PhaseCoverage, ReportError, SecondRanges, Timeline, header, measured, timeline};

pub use endpoints::EndpointTable;
pub use largest::LargestDifference;
pub use movers::ProfilePair;
pub use objectives::{ObjectiveOfSide, ObjectiveSides};
pub use series::{SeriesPair, TargetSeries};

/// The most runs that can be compared.
pub const MAX_SIDES: usize = 10;
/// The names of the sides.
pub const LETTERS: [&str; MAX_SIDES] = ["A", "B", "C", "D", "E", "F", "G", "H", "I", "J"];

/// One run of a comparison.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    /// Its name in the report: its file.
    pub name: &'a str,
    /// The recorded run.
    pub run: &'a dyn Run,
    /// The workload it offered.
    pub workload: &'a Workload,
}

/// One run of a comparison, for the renderers.
#[derive(Debug, Clone, Serialize)]
pub struct SideSummary {
    /// Its letter: `A` is the baseline.
    pub letter: &'static str,
    /// Its name in the report: its file.
    pub name: String,
    /// Its name, times, identities and how it ended.
    pub run: Header,
    pub phases: Vec<PhaseCoverage>,
    /// The run over time, for plots.
    #[serde(skip)]
    pub timeline: Timeline,
}

/// A number of one side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "is", content = "value")]
pub enum SideValue {
    /// Not measured on this side.
    Missing,
    /// Infinite: so many requests failed that the quantile is among them.
    Infinite,
    /// This number.
    Finite(f64),
}

impl SideValue {
    pub(super) fn of(value: Option<f64>) -> SideValue {
        value.filter(|v| v.is_finite()).map_or(SideValue::Missing, SideValue::Finite)
    }

    /// The number, if there is one.
    pub fn finite(self) -> Option<f64> {
        match self {
            SideValue::Finite(value) => Some(value),
            SideValue::Missing | SideValue::Infinite => None,
        }
    }
}

/// The difference between one side's number and the baseline's.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum Difference {
    /// One of the two numbers was not measured or is infinite.
    Unknown,
    /// Rules refuse it.
    Refused {
        /// Their ids.
        rules: Vec<String>,
    },
    Known {
        /// This side's number minus the baseline's, in its unit.
        difference: f64,
        /// This side's number divided by the baseline's; none where the baseline's is 0.
        ratio: Option<f64>,
    },
}

/// One measure over all sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measure {
    pub name: String,
    /// Its unit: `ms`, `1/s`, `%`, `bytes`, `cores`, `s`, `1`.
    pub unit: String,
    /// One value per side.
    pub values: Vec<SideValue>,
    /// One difference for each side but the baseline.
    pub differences: Vec<Difference>,
    /// The sides whose value is a quantile with fewer than 20 samples above it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rough: Vec<usize>,
    /// The seconds of the run that a cost is of, for each side; empty for other measures.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub seconds: Vec<SecondRanges>,
}

impl Measure {
    fn of(name: &str, unit: &str, values: Vec<SideValue>) -> Measure {
        Measure::refusable(name, unit, values, &|_| Vec::new())
    }

    /// A measure without differences for the sides for which `refused` returns rules.
    fn refusable(
        name: &str,
        unit: &str,
        values: Vec<SideValue>,
        refused: &dyn Fn(usize) -> Vec<String>,
    ) -> Measure {
        let base = values.first().copied().unwrap_or(SideValue::Missing);
        let differences = values.iter().enumerate().skip(1).map(|(side, value)| {
            let rules = refused(side);
            match (base, *value) {
                // There is nothing to refuse.
                (SideValue::Missing, _) | (_, SideValue::Missing) => Difference::Unknown,
                _ if !rules.is_empty() => Difference::Refused { rules },
                (SideValue::Finite(base), SideValue::Finite(value)) => {
                    Difference::Known { difference: value - base, ratio: (base != 0.0).then(|| value / base) }
                }
                _ => Difference::Unknown,
            }
        });
        let differences = differences.collect();
        let (name, unit) = (name.to_owned(), unit.to_owned());
        Measure { name, unit, values, differences, rough: Vec::new(), seconds: Vec::new() }
    }

    /// Whether the difference of a side to the baseline has a rough quantile on either side.
    pub(crate) fn is_rough_between(&self, side: usize) -> bool {
        self.rough.contains(&0) || self.rough.contains(&side)
    }

    /// How many times as large the larger of two numbers is that a known difference is between; 1 where there is none.
    pub(crate) fn known_factor(&self) -> f64 {
        let factor = |(at, difference): (usize, &Difference)| match difference {
            Difference::Known { ratio: Some(ratio), .. }
                if *ratio > 0.0 && !self.is_rough_between(at + 1) =>
            {
                ratio.max(ratio.recip())
            }
            _ => 1.0,
        };
        self.differences.iter().enumerate().map(factor).fold(1.0, f64::max)
    }

    fn is_measured(&self) -> bool {
        self.values.iter().any(|value| *value != SideValue::Missing)
    }
}

/// One phase over all sides.
#[derive(Debug, Clone, Serialize)]
pub struct PhaseTable {
    pub name: String,
    /// Whether the plan of the baseline measures it: neither the setup, the teardown nor a warm-up.
    pub is_measured: bool,
    /// The seconds of it with evidence on each side; none where a side has no such phase.
    pub covered_s: Vec<Option<f64>>,
    /// Its endpoints, in the baseline's order.
    pub endpoints: Vec<EndpointTable>,
    /// Costs per request.
    pub costs: Vec<Measure>,
    /// Observed series of each target.
    pub series: Vec<TargetSeries>,
}

impl PhaseTable {
    /// Its endpoints without whole iterations and without what virtual users send in their setup.
    pub fn requests(&self) -> impl Iterator<Item = &EndpointTable> {
        self.endpoints.iter().filter(|endpoint| !endpoint.endpoint.is_empty() && !endpoint.is_setup)
    }
}

/// Several runs side by side.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    /// The runs, the baseline first.
    pub sides: Vec<SideSummary>,
    pub judgement: ComparisonJudgement,
    /// The runs' own objectives, those first on which their verdicts differ.
    #[serde(skip)]
    pub objectives: Vec<ObjectiveSides>,
    /// The largest difference of each of a few measures, the largest factor first.
    pub largest: Vec<LargestDifference>,
    /// Of these measures, those in which no endpoint differs by as much as is worth a line.
    pub alike: Vec<&'static str>,
    pub phases: Vec<PhaseTable>,
    /// Pairs of profiles of the same target, kind and mark, and what moved between them.
    pub profiles: Vec<ProfilePair>,
    /// Phases and endpoints that only some sides have, as sentences.
    pub unmatched: Vec<String>,
}

/// One side with the tally of its run.
struct TalliedSide<'a> {
    side: Side<'a>,
    tally: RunTally,
    phases: Vec<PhaseCoverage>,
}

impl Comparison {
    /// Compute everything the renderers need of `sides`, which have `judgement`.
    ///
    /// # Errors
    /// [`ReportError::Read`] when the evidence cannot be read.
    pub fn of(sides: &[Side<'_>], judgement: &ComparisonJudgement) -> Result<Comparison, ReportError> {
        let sides: Vec<TalliedSide<'_>> = sides.iter().map(tallied).collect::<Result<_, _>>()?;
        let summary = |(index, side): (usize, &TalliedSide<'_>)| -> Result<SideSummary, ReadError> {
            Ok(SideSummary {
                letter: LETTERS[index % MAX_SIDES],
                name: side.side.name.to_owned(),
                run: header::of(side.side.run, side.side.workload)?,
                phases: side.phases.clone(),
                timeline: timeline::of(side.side.run, side.side.workload, &side.tally, &side.phases)?,
            })
        };
        let names = phases(&sides);
        let measured = measured::phases(&names, sides.first().map(|baseline| baseline.side.workload));
        let observed = costs::of(&sides, &names)?.into_iter().zip(series::of(&sides, &names)?);
        let phase = |(name, (costs, series)): (&String, (Vec<Measure>, Vec<TargetSeries>))| PhaseTable {
            name: name.clone(),
            is_measured: measured.contains(&&**name),
            covered_s: sides.iter().map(|s| covered(s, name)).collect(),
            endpoints: endpoints::of(&sides, name, judgement),
            costs,
            series,
        };
        let phases: Vec<PhaseTable> = names.iter().zip(observed).map(phase).collect();
        let largest = largest::of(&phases);
        Ok(Comparison {
            objectives: objectives::of(&sides, &judgement.objectives),
            alike: largest::alike(&phases, &largest),
            largest,
            phases,
            profiles: movers::of(&sides)?,
            unmatched: unmatched(&sides),
            sides: sides.iter().enumerate().map(summary).collect::<Result<_, _>>()?,
            judgement: judgement.clone(),
        })
    }
}

fn tallied<'a>(side: &Side<'a>) -> Result<TalliedSide<'a>, ReadError> {
    let tally = tally::of(side.run, side.workload)?;
    let phases = header::phases(side.run, side.workload, &tally.in_window)?;
    Ok(TalliedSide { side: *side, tally, phases })
}

/// Every phase of any side: the set-up first, then the phases in the order of the plans.
fn phases(sides: &[TalliedSide<'_>]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut add = |name: &str| {
        if !name.is_empty() && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    };
    let has_setup =
        |side: &TalliedSide<'_>| side.tally.endpoints.keys().any(|key| &*key.phase == evidence::Key::SETUP);
    if sides.iter().any(has_setup) {
        add(evidence::Key::SETUP);
    }
    for side in sides {
        side.phases.iter().for_each(|phase| add(&phase.name));
    }
    for side in sides {
        side.tally.endpoints.keys().for_each(|key| add(&key.phase));
    }
    names
}

fn covered(side: &TalliedSide<'_>, phase: &str) -> Option<f64> {
    side.phases.iter().find(|p| p.name == phase).map(|p| p.covered_s)
}

/// Phases and endpoints that only some sides have.
fn unmatched(sides: &[TalliedSide<'_>]) -> Vec<String> {
    let phases =
        |side: &TalliedSide<'_>| -> BTreeSet<String> { side.phases.iter().map(|p| p.name.clone()).collect() };
    let endpoints = |side: &TalliedSide<'_>| -> BTreeSet<String> {
        let requests = side.tally.endpoints.iter().filter(|(_, counts)| counts.outcomes.completed() > 0);
        requests.map(|(key, _)| key.endpoint.to_string()).collect()
    };
    let mut sentences = Vec::new();
    for (what, of) in
        [("Phase", &phases as &dyn Fn(&TalliedSide<'_>) -> BTreeSet<String>), ("Endpoint", &endpoints)]
    {
        let named: Vec<BTreeSet<String>> = sides.iter().map(of).collect();
        let all: BTreeSet<&String> = named.iter().flatten().collect();
        for name in all {
            let (with, without): (Vec<usize>, Vec<usize>) =
                (0..named.len()).partition(|side| named[*side].contains(name));
            if !without.is_empty() {
                sentences.push(format!(
                    "{what} `{name}`: in {}, not in {}.",
                    letters(&with),
                    letters(&without)
                ));
            }
        }
    }
    sentences
}

fn letters(sides: &[usize]) -> String {
    sides.iter().map(|side| LETTERS[side % MAX_SIDES]).collect::<Vec<_>>().join(", ")
}
