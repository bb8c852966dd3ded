//! Several runs laid side by side: what the renderers need of them, worked out once.
//!
//! The first run is the baseline. Phases, scenarios and endpoints are matched by name; what one side has alone is told.
//! Nothing here judges: where a rule refuses a difference, the difference is not formed.

mod costs;
mod endpoints;
mod movers;
mod series;

use std::collections::BTreeSet;

use evidence::run::ReadError;
use evidence::{ComparisonJudgement, Run};
use serde::Serialize;
use workload::Workload;

use super::sweep::{self, Sweep};
use super::{Header, PhaseSpan};
use super::{ReportError, Timeline, header, timeline};

pub use endpoints::EndpointTable;
pub use movers::ProfilePair;
pub use series::{SeriesPair, TargetSeries};

/// How many runs may be laid side by side.
pub const MAX_SIDES: usize = 10;
/// The names of the sides.
pub const LETTERS: [&str; MAX_SIDES] = ["A", "B", "C", "D", "E", "F", "G", "H", "I", "J"];

/// One run of a comparison.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    /// What a reader knows it by: its file.
    pub name: &'a str,
    /// What was recorded.
    pub run: &'a dyn Run,
    /// What it offered.
    pub workload: &'a Workload,
}

/// What is known of one run.
#[derive(Debug, Clone, Serialize)]
pub struct SideSummary {
    /// Its letter: `A` is the baseline.
    pub letter: &'static str,
    /// What a reader knows it by: its file.
    pub name: String,
    /// What it was and how it ended.
    pub run: Header,
    /// Its phases.
    pub phases: Vec<PhaseSpan>,
    /// The run over time, for plots.
    #[serde(skip)]
    pub timeline: Timeline,
}

/// A number of one side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "is", content = "value")]
pub enum Value {
    /// It was not measured there.
    Missing,
    /// It is beyond all answers: too many failed.
    Infinite,
    /// It is this.
    Finite(f64),
}

impl Value {
    pub(super) fn of(value: Option<f64>) -> Value {
        value.filter(|v| v.is_finite()).map_or(Value::Missing, Value::Finite)
    }

    /// The number, if there is one.
    pub fn finite(self) -> Option<f64> {
        match self {
            Value::Finite(value) => Some(value),
            Value::Missing | Value::Infinite => None,
        }
    }
}

/// What one side's number is against the baseline's.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "is")]
pub enum Difference {
    /// One of the two was not measured, or is infinite.
    Unknown,
    /// It must not be formed, by these rules.
    Refused {
        /// Their short names.
        rules: Vec<String>,
    },
    /// It is this much.
    Known {
        /// This side's number less the baseline's, in its unit.
        difference: f64,
        /// This side's number over the baseline's; none where the baseline's is 0.
        ratio: Option<f64>,
    },
}

/// One measure over all sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measure {
    /// What it is.
    pub name: String,
    /// Its unit: `ms`, `1/s`, `%`, `bytes`, `cores`, `s`, `1`.
    pub unit: String,
    /// One value a side.
    pub values: Vec<Value>,
    /// One difference for each side but the baseline.
    pub differences: Vec<Difference>,
}

impl Measure {
    /// With the differences of its values, unless `refused` names rules for a side.
    fn of((name, unit): (&str, &str), values: Vec<Value>, refused: &dyn Fn(usize) -> Vec<String>) -> Measure {
        let base = values.first().copied().unwrap_or(Value::Missing);
        let differences = values.iter().enumerate().skip(1).map(|(side, value)| {
            let rules = refused(side);
            match (base.finite(), value.finite()) {
                _ if !rules.is_empty() => Difference::Refused { rules },
                (Some(base), Some(value)) => {
                    Difference::Known { difference: value - base, ratio: (base != 0.0).then(|| value / base) }
                }
                _ => Difference::Unknown,
            }
        });
        let differences = differences.collect();
        Measure { name: name.to_owned(), unit: unit.to_owned(), values, differences }
    }

    fn is_measured(&self) -> bool {
        self.values.iter().any(|value| *value != Value::Missing)
    }
}

/// One phase over all sides.
#[derive(Debug, Clone, Serialize)]
pub struct PhaseTable {
    /// Its name.
    pub name: String,
    /// How long it is on each side, in seconds with evidence; none where a side has no such phase.
    pub covered_s: Vec<Option<f64>>,
    /// Its endpoints, in the baseline's order.
    pub endpoints: Vec<EndpointTable>,
    /// What a request cost.
    pub costs: Vec<Measure>,
    /// What observers saw of each target.
    pub series: Vec<TargetSeries>,
}

/// Several runs side by side.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    /// The runs, the baseline first.
    pub sides: Vec<SideSummary>,
    /// What the judge said.
    pub judgement: ComparisonJudgement,
    /// Phase by phase.
    pub phases: Vec<PhaseTable>,
    /// Profiles of the same target, kind and mark, and what moved between them.
    pub profiles: Vec<ProfilePair>,
    /// What only some sides have, in sentences.
    pub unmatched: Vec<String>,
}

/// One side with what one pass over it yields.
struct Swept<'a> {
    side: Side<'a>,
    sweep: Sweep,
    phases: Vec<PhaseSpan>,
}

impl Comparison {
    /// Work out everything the renderers need of `sides`, which were judged so.
    ///
    /// # Errors
    /// [`ReportError::Read`] when the evidence cannot be read.
    pub fn of(sides: &[Side<'_>], judgement: &ComparisonJudgement) -> Result<Comparison, ReportError> {
        let sides: Vec<Swept<'_>> = sides.iter().map(swept).collect::<Result<_, _>>()?;
        let summary = |(place, side): (usize, &Swept<'_>)| -> Result<SideSummary, ReadError> {
            Ok(SideSummary {
                letter: LETTERS[place % MAX_SIDES],
                name: side.side.name.to_owned(),
                run: header::of(side.side.run, side.side.workload),
                phases: side.phases.clone(),
                timeline: timeline::of(side.side.run, &side.sweep)?,
            })
        };
        let phase = |name: &String| -> Result<PhaseTable, ReadError> {
            Ok(PhaseTable {
                name: name.clone(),
                covered_s: sides.iter().map(|s| covered(s, name)).collect(),
                endpoints: endpoints::of(&sides, name, judgement),
                costs: costs::of(&sides, name)?,
                series: series::of(&sides, name)?,
            })
        };
        Ok(Comparison {
            phases: phases(&sides).iter().map(phase).collect::<Result<_, _>>()?,
            profiles: movers::of(&sides)?,
            unmatched: unmatched(&sides),
            sides: sides.iter().enumerate().map(summary).collect::<Result<_, _>>()?,
            judgement: judgement.clone(),
        })
    }
}

fn swept<'a>(side: &Side<'a>) -> Result<Swept<'a>, ReadError> {
    Ok(Swept {
        side: *side,
        sweep: sweep::of(side.run)?,
        phases: header::phases(side.workload, side.run.seconds()),
    })
}

/// Every phase that any side has numbers of: the set-up first, then in the order of the plans.
fn phases(sides: &[Swept<'_>]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut add = |name: &str| {
        if !name.is_empty() && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    };
    let has_setup = |side: &Swept<'_>| side.sweep.places.keys().any(|place| &*place.phase == "setup");
    if sides.iter().any(has_setup) {
        add("setup");
    }
    for side in sides {
        side.phases.iter().for_each(|phase| add(&phase.name));
    }
    for side in sides {
        side.sweep.places.keys().for_each(|place| add(&place.phase));
    }
    names
}

fn covered(side: &Swept<'_>, phase: &str) -> Option<f64> {
    side.phases.iter().find(|p| p.name == phase).map(|p| p.covered_s)
}

/// Phases and endpoints that only some sides have.
fn unmatched(sides: &[Swept<'_>]) -> Vec<String> {
    let phases =
        |side: &Swept<'_>| -> BTreeSet<String> { side.phases.iter().map(|p| p.name.clone()).collect() };
    let endpoints = |side: &Swept<'_>| -> BTreeSet<String> {
        let requests = side.sweep.places.iter().filter(|(_, tally)| tally.outcomes.answered() > 0);
        requests.map(|(place, _)| place.endpoint.to_string()).collect()
    };
    let mut told = Vec::new();
    for (what, of) in
        [("Phase", &phases as &dyn Fn(&Swept<'_>) -> BTreeSet<String>), ("Endpoint", &endpoints)]
    {
        let named: Vec<BTreeSet<String>> = sides.iter().map(of).collect();
        let all: BTreeSet<&String> = named.iter().flatten().collect();
        for name in all {
            let (with, without): (Vec<usize>, Vec<usize>) =
                (0..named.len()).partition(|side| named[*side].contains(name));
            if !without.is_empty() {
                told.push(format!("{what} `{name}`: in {}, not in {}.", letters(&with), letters(&without)));
            }
        }
    }
    told
}

fn letters(sides: &[usize]) -> String {
    sides.iter().map(|side| LETTERS[side % MAX_SIDES]).collect::<Vec<_>>().join(", ")
}
