//! The largest difference of each measure among the endpoints that all sides have.

use serde::Serialize;

use super::{Difference, LETTERS, MAX_SIDES, Measure, PhaseTable};

/// The measures that are searched, in the order of a tie.
const MEASURES: [&str; 4] = ["p50", "p95", "throughput", "failed"];

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
    /// The other side's number divided by that of A; none where that is 0.
    pub ratio: Option<f64>,
}

impl LargestDifference {
    /// How many times as large the larger number is; infinite where the smaller one is 0.
    pub fn factor(&self) -> f64 {
        let (low, high) = (self.baseline.min(self.value), self.baseline.max(self.value));
        if low > 0.0 { high / low } else { f64::INFINITY }
    }
}

/// One for each measure that differs anywhere, the largest factor first. A difference that a rule refuses is not among them,
/// and a share of failures that is 0 on one side comes last: its factor says nothing.
pub(super) fn of(phases: &[PhaseTable]) -> Vec<LargestDifference> {
    let mut found: Vec<LargestDifference> =
        MEASURES.iter().filter_map(|name| of_measure(phases, name)).collect();
    let rank = |of: &LargestDifference| if of.factor().is_finite() { of.factor() } else { 0.0 };
    found.sort_by(|a, b| rank(b).total_cmp(&rank(a)));
    found
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

/// By the factor; where both are infinite by the difference.
fn is_larger(of: &LargestDifference, than: &LargestDifference) -> bool {
    let difference = |of: &LargestDifference| (of.value - of.baseline).abs();
    let (factor, other) = (of.factor(), than.factor());
    factor > other || factor == other && difference(of) > difference(than)
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
}
