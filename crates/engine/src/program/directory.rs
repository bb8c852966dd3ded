//! The origins and endpoints of a run: those of the plan, and those that iterations meet while they run.
//!
//! Loops share it. It only grows, so that an index stays valid, and what has an index is read without a lock. One is
//! taken when a loop first meets a name.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::{Mutex, OnceLock, PoisonError};

use evidence::Name;
use workload::message::Method;

use super::origin::Origin;
use crate::index::{EndpointIndex, OriginIndex, ScenarioIndex};

/// The most endpoints with a name of their own, unless the plan itself has more.
const MAX_NAMES: usize = 256;
/// The name of the endpoints that all further names of a scenario are counted for.
const OTHERS: &str = "all other names";
/// How many folded names are counted at most.
const MAX_FOLDED: usize = MAX_NAMES * 100;

/// One step of one scenario, or one name that a script gives to requests, for which load is counted.
#[derive(Debug, PartialEq)]
pub(crate) struct Endpoint {
    pub(crate) scenario: ScenarioIndex,
    pub(crate) name: Name,
    pub(crate) checks: Vec<Name>,
    /// The method of a gRPC call.
    pub(crate) method: Option<Method>,
}

/// The origins and endpoints of a run.
#[derive(Debug)]
pub(crate) struct Directory {
    origins: Table<Origin>,
    endpoints: Table<Endpoint>,
    growth: Mutex<Growth>,
}

/// What changes while the directory grows.
#[derive(Debug)]
struct Growth {
    endpoints: usize,
    /// Hashes of folded names: only how many there are is needed.
    folded: HashSet<u64>,
}

impl Directory {
    pub(super) fn new(origins: Vec<Origin>, endpoints: Vec<Endpoint>, scenarios: usize) -> Directory {
        // Beside the scenarios' own there are the steps of the run's setup.
        let named = endpoints.len().max(MAX_NAMES);
        let growth = Growth { endpoints: endpoints.len(), folded: HashSet::new() };
        Directory {
            origins: Table::filled(origins, 0),
            endpoints: Table::filled(endpoints, named + scenarios + 1),
            growth: Mutex::new(growth),
        }
    }

    pub(crate) fn origin(&self, index: OriginIndex) -> &Origin {
        self.origins.get(index.0)
    }

    pub(crate) fn endpoint(&self, index: EndpointIndex) -> &Endpoint {
        self.endpoints.get(index.0)
    }

    pub(crate) fn origins(&self) -> impl Iterator<Item = (OriginIndex, &Origin)> {
        self.origins.iter().enumerate().map(|(index, origin)| (OriginIndex(index), origin))
    }

    /// The endpoint of this name in a scenario, which is added if it is new. Where there are too many, it is one that
    /// all further names of the scenario share.
    fn meet_endpoint(&self, scenario: ScenarioIndex, name: &str) -> EndpointIndex {
        // Of one name only the first endpoint is found: steps that differ in their checks may share it.
        let known = |name: &str| {
            let is_same = |e: &Endpoint| e.scenario == scenario && *e.name == *name;
            self.endpoints.iter().position(is_same).map(EndpointIndex)
        };
        let add = |growth: &mut Growth, name: &str| {
            let endpoint = Endpoint { scenario, name: name.into(), checks: Vec::new(), method: None };
            self.endpoints.set(growth.endpoints, endpoint);
            growth.endpoints += 1;
            EndpointIndex(growth.endpoints - 1)
        };
        let mut growth = self.growth.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = known(name) {
            return known;
        }
        if growth.endpoints < MAX_NAMES {
            return add(&mut growth, name);
        }
        if growth.folded.len() < MAX_FOLDED {
            growth.folded.insert(fingerprint(scenario, name));
        }
        known(OTHERS).unwrap_or_else(|| add(&mut growth, OTHERS))
    }

    /// How many names were folded because there are too many.
    pub(crate) fn folded_endpoints(&self) -> u64 {
        self.growth.lock().unwrap_or_else(PoisonError::into_inner).folded.len() as u64
    }
}

fn fingerprint(scenario: ScenarioIndex, name: &str) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one((scenario.0, name))
}

/// The names that one loop has met, by their hashes, so that it takes no lock for them again.
#[derive(Debug, Default)]
pub(crate) struct MetNames {
    endpoints: HashMap<u64, EndpointIndex>,
}

impl MetNames {
    /// The endpoint of this name in a scenario, which is added to the directory if it is new.
    pub(crate) fn endpoint(
        &mut self,
        directory: &Directory,
        scenario: ScenarioIndex,
        name: &str,
    ) -> EndpointIndex {
        let fingerprint = fingerprint(scenario, name);
        if let Some(known) = self.endpoints.get(&fingerprint) {
            return *known;
        }
        let met = directory.meet_endpoint(scenario, name);
        if self.endpoints.len() < MAX_NAMES + MAX_FOLDED {
            self.endpoints.insert(fingerprint, met);
        }
        met
    }
}

/// A list that only grows, up to a fixed length, and that is read without a lock.
#[derive(Debug)]
struct Table<T> {
    cells: Box<[OnceLock<T>]>,
}

impl<T> Table<T> {
    /// These items, with space for others up to `capacity`.
    fn filled(items: Vec<T>, capacity: usize) -> Table<T> {
        let empty = capacity.saturating_sub(items.len());
        let filled = items.into_iter().map(OnceLock::from);
        Table { cells: filled.chain(std::iter::repeat_with(OnceLock::new).take(empty)).collect() }
    }

    fn get(&self, index: usize) -> &T {
        self.cells[index].get().expect("an index is given out when its cell is filled")
    }

    fn set(&self, index: usize, item: T) {
        let is_new = self.cells[index].set(item).is_ok();
        debug_assert!(is_new, "a cell is filled once");
    }

    fn iter(&self) -> impl Iterator<Item = &T> {
        self.cells.iter().map_while(OnceLock::get)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory() -> Directory {
        Directory::new(Vec::new(), Vec::new(), 2)
    }

    #[test]
    fn names_past_the_limit_are_one_endpoint_in_each_scenario_and_are_counted_once() {
        let (directory, mut first, mut second) = (directory(), MetNames::default(), MetNames::default());
        let all: Vec<EndpointIndex> =
            (0..300).map(|n| first.endpoint(&directory, ScenarioIndex(0), &format!("/{n}"))).collect();
        for n in (0..300).rev() {
            assert_eq!(second.endpoint(&directory, ScenarioIndex(0), &format!("/{n}")), all[n]);
        }
        let name = |index: EndpointIndex| directory.endpoint(index).name.to_string();
        assert_eq!((name(all[0]), name(all[255])), ("/0".to_owned(), "/255".to_owned()));
        assert!(all[256..].iter().all(|index| name(*index) == OTHERS && *index == all[256]));
        assert_eq!(directory.folded_endpoints(), 44);
        let elsewhere = first.endpoint(&directory, ScenarioIndex(1), "/0");
        assert_eq!(directory.endpoint(elsewhere).scenario, ScenarioIndex(1));
        assert_eq!((name(elsewhere), directory.folded_endpoints()), (OTHERS.to_owned(), 45));
    }

    #[test]
    fn loops_that_meet_names_at_once_agree_on_their_indexes() {
        let directory = directory();
        let meet = || {
            let mut met = MetNames::default();
            (0..400).map(|n| met.endpoint(&directory, ScenarioIndex(n % 2), &format!("{n}")).0).collect()
        };
        let all: Vec<Vec<usize>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(meet)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(all.iter().all(|one| *one == all[0]));
        assert_eq!(directory.endpoints.iter().count(), MAX_NAMES + 2);
    }
}
