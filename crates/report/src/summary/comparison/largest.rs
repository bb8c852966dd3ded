//! The largest difference of each measure among the endpoints that all sides have.

use serde::Serialize;

use super::{Difference, LETTERS, MAX_SIDES, Measure, PhaseTable};

/// The measures that are searched, in the order of a tie.
const MEASURES: [&str; 4] = ["p50", "p95", "throughput", "failed"];

/// The factor below which a difference is left out.
const WORTH_A_LINE: f64 = 1.05;

/// The difference of one measure that is the largest of all endpoints and phases, by its factor.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LargestDifference {
    /// `p50`, `p95`, `throughput` or `failed`.
    pub measure: String,
    /// The measure's unit.
    pub unit: String,
    pub phase: String,
    pub scenario: String,
    pub endpoint: String,
    /// What the endpoint is called in tables.
    #[serde(skip)]
    pub label: String,
    /// The letter of the side that differs from A.
    pub side: &'static str,
    /// The number of A.
    pub baseline: f64,
    /// The number of the other side.
    pub value: f64,
    /// Whether the numbers of A and of the other side are quantiles with fewer than 20 samples above them.
    pub rough: [bool; 2],
    /// The other side's number divided by that of A; none where that is 0.
    pub ratio: Option<f64>,
}

impl LargestDifference {
    /// Whether either number is rough.
    pub fn is_rough(&self) -> bool {
        self.rough.contains(&true)
    }

    /// How many times as large the larger number is; infinite where the smaller one is 0.
    pub fn factor(&self) -> f64 {
        let (low, high) = (self.baseline.min(self.value), self.baseline.max(self.value));
        if low > 0.0 { high / low } else { f64::INFINITY }
    }
}

/// One for each measure that differs anywhere by [`WORTH_A_LINE`]: rough quantiles last, else the largest factor first. A
/// difference that a rule refuses is not among them, and a share of failures that is 0 on one side comes last of the known:
/// its factor says nothing.
pub(super) fn of(phases: &[PhaseTable]) -> Vec<LargestDifference> {
    let mut found: Vec<LargestDifference> =
        MEASURES.iter().filter_map(|name| of_measure(phases, name)).collect();
    found.retain(|of| of.factor() >= WORTH_A_LINE);
    let rank = |of: &LargestDifference| if of.factor().is_finite() { of.factor() } else { 0.0 };
    found.sort_by(|a, b| a.is_rough().cmp(&b.is_rough()).then(rank(b).total_cmp(&rank(a))));
    found
}

/// The measures of which differences are known, and none is among these.
pub(super) fn alike(phases: &[PhaseTable], found: &[LargestDifference]) -> Vec<&'static str> {
    let endpoints = || phases.iter().filter(|phase| phase.is_measured).flat_map(PhaseTable::requests);
    let is_known = |name: &str| {
        let its = endpoints().flat_map(|of| &of.measures).filter(|measure| measure.name == name);
        its.flat_map(known).next().is_some()
    };
    let is_alike = |name: &&str| is_known(name) && !found.iter().any(|of| of.measure == *name);
    MEASURES.into_iter().filter(is_alike).collect()
}

fn of_measure(phases: &[PhaseTable], name: &str) -> Option<LargestDifference> {
    let mut largest: Option<LargestDifference> = None;
    for phase in phases.iter().filter(|phase| phase.is_measured) {
        for endpoint in phase.requests() {
            let its = endpoint.measures.iter().filter(|measure| measure.name == name);
            for (side, measure, ratio) in its.flat_map(known) {
                let [Some(baseline), Some(value)] = [0, side].map(|side| measure.values[side].finite())
                else {
                    continue;
                };
                let of = LargestDifference {
                    measure: measure.name.clone(),
                    unit: measure.unit.clone(),
                    phase: phase.name.clone(),
                    scenario: endpoint.scenario.clone(),
                    endpoint: endpoint.endpoint.clone(),
                    label: endpoint.label.clone(),
                    side: LETTERS[side % MAX_SIDES],
                    baseline,
                    value,
                    rough: [0, side].map(|side| measure.rough.contains(&side)),
                    ratio,
                };
                if baseline != value && largest.as_ref().is_none_or(|before| is_larger(&of, before)) {
                    largest = Some(of);
                }
            }
        }
    }
    largest
}

/// One that is worth a line before one that is not, what is known before what is rough, then by the factor; where both are
/// infinite by the difference.
fn is_larger(of: &LargestDifference, than: &LargestDifference) -> bool {
    let rank = |of: &LargestDifference| (of.factor() >= WORTH_A_LINE, !of.is_rough());
    let size = |of: &LargestDifference| (of.factor(), (of.value - of.baseline).abs());
    let (rank, other) = (rank(of), rank(than));
    rank > other || rank == other && size(of) > size(than)
}

/// The sides of which the difference is known, with the ratio.
fn known(measure: &Measure) -> impl Iterator<Item = (usize, &Measure, Option<f64>)> {
    measure.differences.iter().enumerate().filter_map(move |(at, difference)| match difference {
        Difference::Known { ratio, .. } => Some((at + 1, measure, *ratio)),
        Difference::Refused { .. } | Difference::Unknown => None,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::{EndpointTable, SideValue};
    use super::*;

    fn endpoint(name: &str, measures: Vec<Measure>) -> EndpointTable {
        EndpointTable {
            scenario: "shop".to_owned(),
            endpoint: name.to_owned(),
            label: name.to_owned(),
            is_setup: name == "log in",
            refused: vec![Vec::new()],
            measures,
            failures: BTreeMap::new(),
        }
    }

    fn measure(name: &str, values: [f64; 3]) -> Measure {
        Measure::of(name, "ms", values.map(SideValue::Finite).into())
    }

    fn phase(name: &str, endpoints: Vec<EndpointTable>) -> PhaseTable {
        let (costs, series) = (Vec::new(), Vec::new());
        let is_measured = name == "steady";
        PhaseTable { name: name.to_owned(), is_measured, covered_s: Vec::new(), endpoints, costs, series }
    }

    #[test]
    fn the_largest_factor_of_each_measure_comes_first_whichever_way_it_points() {
        let refused =
            Measure::refusable("p95", "ms", [1.0, 900.0, 1.0].map(SideValue::Finite).into(), &|_| {
                vec!["C1".to_owned()]
            });
        let list = vec![measure("p50", [2.0, 3.0, 2.0]), refused, measure("failed", [0.0, 3.0, 1.0])];
        let search = vec![
            measure("p50", [8.0, 8.0, 2.0]),
            measure("throughput", [100.0, 90.0, 100.0]),
            measure("failed", [1.0, 2.0, 2.0]),
        ];
        let login = endpoint("log in", vec![measure("p50", [1.0, 60.0, 1.0])]);
        let whole = endpoint("", vec![measure("p50", [1.0, 100.0, 1.0])]);
        let phases = [
            phase("warm-up", vec![endpoint("list", vec![measure("p50", [1.0, 50.0, 1.0])])]),
            phase("steady", vec![whole, login, endpoint("list", list), endpoint("search", search)]),
        ];
        let found = of(&phases);
        let named: Vec<_> =
            found.iter().map(|of| (&*of.measure, &*of.endpoint, of.side, of.baseline, of.value)).collect();
        let expected = [
            ("p50", "search", "C", 8.0, 2.0),
            ("throughput", "search", "B", 100.0, 90.0),
            ("failed", "list", "B", 0.0, 3.0),
        ];
        assert_eq!(named, expected, "neither what is refused, nor the warm-up, logins or whole iterations");
        assert_eq!((found[0].ratio, found[2].ratio), (Some(0.25), None));
    }

    #[test]
    fn what_is_rough_comes_after_what_is_known_and_what_hardly_differs_is_only_named() {
        let rough = |values| Measure { rough: vec![1], ..measure("p95", values) };
        let list = vec![measure("p50", [2.0, 2.2, 2.0]), rough([2.0, 9.0, 2.0]), measure("failed", [2.0; 3])];
        let search = vec![measure("p95", [8.0, 8.8, 8.0]), measure("throughput", [100.0, 99.7, 100.0])];
        let phases = [phase("steady", vec![endpoint("list", list.clone()), endpoint("search", search)])];
        let named = |found: &[LargestDifference]| -> Vec<(String, String, bool)> {
            found.iter().map(|of| (of.measure.clone(), of.endpoint.clone(), of.is_rough())).collect()
        };
        let found = of(&phases);
        let expected = [("p50", "list", false), ("p95", "search", false)];
        assert_eq!(named(&found), expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c)));
        assert_eq!(alike(&phases, &found), ["throughput", "failed"]);
        let phases = [phase("steady", vec![endpoint("list", list)])];
        let found = of(&phases);
        let expected = [("p50", "list", false), ("p95", "list", true)];
        assert_eq!(named(&found), expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c)));
    }
}
