//! What the rules of pairs may know of each run.

use std::collections::BTreeMap;

use evidence::run::select;
use evidence::{Judgement, Manifest, Metric, Run, Scope};
use workload::Workload;

use super::{Provenance, Side};
use crate::JudgeError;
use crate::facts::{Cell, Facts, Place};

/// A run with all that is drawn from it.
pub(crate) struct Known<'a> {
    pub(crate) run: &'a dyn Run,
    pub(crate) workload: &'a Workload,
    pub(crate) provenance: Provenance,
    pub(crate) facts: Facts<'a>,
    pub(crate) judgement: Judgement,
    /// Bytes received, by place; absent where they were not counted.
    pub(crate) bytes_in: BTreeMap<Place, u64>,
}

impl<'a> Known<'a> {
    pub(crate) fn of(side: &Side<'a>) -> Result<Known<'a>, JudgeError> {
        let mut bytes_in: BTreeMap<Place, u64> = BTreeMap::new();
        for (id, key) in select(side.run.keys(), Metric::BytesIn, |_| true) {
            let place = Place {
                phase: key.phase.clone(),
                scenario: key.scenario.clone(),
                endpoint: key.endpoint.clone(),
            };
            *bytes_in.entry(place).or_default() += side.run.total(id)?;
        }
        Ok(Known {
            run: side.run,
            workload: side.workload,
            provenance: side.provenance,
            facts: Facts::of(side.run, side.workload)?,
            judgement: crate::judge(side.run, side.workload)?,
            bytes_in,
        })
    }

    pub(crate) fn manifest(&self) -> &'a Manifest {
        self.run.manifest()
    }

    /// What the evidence was imported from, if another tool took it.
    pub(crate) fn imported_from(&self) -> Option<&'a str> {
        self.manifest().source.as_ref().map(|source| source.format.as_str())
    }

    /// Whether anything in `scope` came at a rate of its own.
    pub(crate) fn is_open(&self, scope: &Scope) -> bool {
        let is_in = |name: &str| scope.scenario.as_deref().is_none_or(|wanted| wanted == name);
        self.workload.scenarios.iter().any(|s| is_in(&s.name) && s.executor.is_open())
    }

    fn cell(&self, place: &Place) -> Option<&Cell> {
        self.facts.tables.cells.iter().find(|cell| cell.place == *place)
    }
}

/// Two runs, the baseline and another.
pub(crate) struct Pair<'p, 'a> {
    pub(crate) base: &'p Known<'a>,
    pub(crate) new: &'p Known<'a>,
}

impl<'p> Pair<'p, '_> {
    /// What both have: the baseline's cell, then the other's.
    pub(crate) fn cells(&self) -> impl Iterator<Item = (&'p Cell, &'p Cell)> {
        let (base, new) = (self.base, self.new);
        base.facts.tables.cells.iter().filter_map(move |cell| Some((cell, new.cell(&cell.place)?)))
    }

    pub(crate) fn both(&self) -> [&'p Known<'_>; 2] {
        [self.base, self.new]
    }
}

/// What both sides of a setting are, if they differ: `cores: 2 against 4`.
pub(crate) fn difference(name: &str, [base, new]: [Option<&str>; 2]) -> Option<String> {
    let words = |side: Option<&str>| side.unwrap_or("not known").to_owned();
    (base != new && (base.is_some() || new.is_some()))
        .then(|| format!("{name} {} against {}", words(base), words(new)))
}
