//! Two runs that are compared, as the rules of pairs see them.

use std::collections::BTreeMap;

use evidence::{Judgement, Manifest, Provenance, Run, Scope};
use figures::{Row, RowKey, is_any_or};
use workload::Workload;

use crate::facts::Facts;

/// A run with its facts and its judgement.
pub(crate) struct JudgedRun<'a> {
    /// The name shown to the reader: its file.
    pub(crate) name: &'a str,
    pub(crate) run: &'a dyn Run,
    pub(crate) workload: &'a Workload,
    pub(crate) provenance: Provenance,
    pub(crate) facts: Facts<'a>,
    pub(crate) judgement: Judgement,
    /// Bytes received, by endpoint; absent where they were not counted.
    pub(crate) bytes_in: BTreeMap<RowKey, u64>,
}

impl<'a> JudgedRun<'a> {
    pub(crate) fn manifest(&self) -> &'a Manifest {
        self.run.manifest()
    }

    /// The format that the evidence was imported from, if it was.
    pub(crate) fn imported_from(&self) -> Option<&'a str> {
        self.manifest().source.as_ref().map(|source| source.format.as_str())
    }

    /// Whether any scenario in `scope` is an open model.
    pub(crate) fn is_open(&self, scope: &Scope) -> bool {
        let mut scenarios = self.workload.scenarios.iter();
        scenarios.any(|s| is_any_or(scope.scenario.as_ref(), &s.name) && s.executor.is_open())
    }

    fn endpoint(&self, key: &RowKey) -> Option<&Row> {
        self.facts.figures.endpoints().find(|endpoint| endpoint.key == *key)
    }
}

/// The baseline and a run that is compared with it.
pub(crate) struct Pair<'p, 'a> {
    pub(crate) base: &'p JudgedRun<'a>,
    pub(crate) new: &'p JudgedRun<'a>,
    /// The index of `new` among the compared runs.
    pub(crate) side: usize,
}

/// An endpoint that both runs have.
pub(crate) struct EndpointPair<'p> {
    pub(crate) base: &'p Row,
    pub(crate) new: &'p Row,
}

impl<'p> Pair<'p, '_> {
    /// The endpoints that both have.
    pub(crate) fn endpoints(&self) -> impl Iterator<Item = EndpointPair<'p>> {
        let (base, new) = (self.base, self.new);
        let pair = move |base| Some(EndpointPair { base, new: new.endpoint(&base.key)? });
        base.facts.figures.endpoints().filter_map(pair)
    }

    pub(crate) fn both(&self) -> [&'p JudgedRun<'_>; 2] {
        [self.base, self.new]
    }
}

/// The values of a setting on both sides, if they differ: `cores 2 against 4`.
pub(crate) fn difference(name: &str, [base, new]: [Option<&str>; 2]) -> Option<String> {
    let shown = |side: Option<&str>| side.unwrap_or("unknown").to_owned();
    (base != new && (base.is_some() || new.is_some()))
        .then(|| format!("{name} {} against {}", shown(base), shown(new)))
}
