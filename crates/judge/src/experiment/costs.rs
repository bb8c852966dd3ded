//! In what requests spend their time: functions by profiles, statements by the database's own account. What moved most is
//! where to look for the cause; it decides nothing.

use std::collections::{BTreeMap, BTreeSet};

use evidence::{CostPlace, MovedCost};

use super::JudgedPair;

/// Of what is listed, how much may be luck.
const FALSE_DISCOVERIES: f64 = 0.05;
/// The most that is listed.
const MOST: usize = 10;
/// What differs by less than this share of the largest difference is left out.
const LEAST: f64 = 0.01;
/// Fewer pairs show nothing.
const FEWEST_PAIRS: usize = 3;
/// A function with fewer samples in all pairs is not compared.
const FEWEST_SAMPLES: f64 = 25.0;
/// What is known of a variance from all places together counts as so many degrees of freedom.
const PRIOR: f64 = 4.0;
/// Times are not known more exactly than this share of them.
const OTHER_ERROR: f64 = 0.000_1;

/// The time that requests of both runs of a pair spend in one place.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    pub place: CostPlace,
    /// Its name, or the text of the statement.
    pub name: String,
    /// Milliseconds of a request, in A and in B.
    pub ms: [f64; 2],
    /// The number of samples that each is made of; none where it was counted.
    pub samples: Option<[f64; 2]>,
}

/// The statements of both runs of a pair: milliseconds of a request by text. One that is not among those with the most time
/// in one of them took next to none there.
pub(super) fn paired(a: BTreeMap<String, f64>, b: BTreeMap<String, f64>) -> Vec<Cost> {
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let of = |side: &BTreeMap<String, f64>, name: &String| side.get(name).copied().unwrap_or(0.0);
    let cost = |name: &String| Cost {
        place: CostPlace::Statement,
        name: name.clone(),
        ms: [of(&a, name), of(&b, name)],
        samples: None,
    };
    names.into_iter().map(cost).collect()
}

/// The costs of one place in all pairs.
#[derive(Default)]
struct PlaceTotals {
    /// B's less A's, of each pair.
    differences: Vec<f64>,
    /// The sums over all pairs.
    ms: [f64; 2],
    samples: [f64; 2],
    /// The sum of the variances that sampling leaves to the differences.
    variance: f64,
}

impl PlaceTotals {
    fn add(&mut self, cost: &Cost) {
        self.differences.push(cost.ms[1] - cost.ms[0]);
        for side in [0, 1] {
            let ms = cost.ms[side];
            self.ms[side] += ms;
            let samples = cost.samples.map_or(f64::INFINITY, |samples| samples[side]);
            self.samples[side] += samples;
            // Samples are Poisson's: their number is its own variance.
            let sampled = if samples > 0.0 { ms * ms / samples } else { 0.0 };
            self.variance += sampled + (ms * OTHER_ERROR).powi(2);
        }
    }

    /// The variance of a difference that sampling leaves.
    fn sampled(&self) -> f64 {
        self.variance / self.differences.len() as f64
    }

    /// The sum of squared deviations from the mean difference.
    fn squares(&self) -> f64 {
        let mean = stats::mean(&self.differences).unwrap_or_default();
        self.differences.iter().map(|difference| (difference - mean).powi(2)).sum()
    }

    fn has_enough(&self) -> bool {
        self.samples[0].max(self.samples[1]) >= FEWEST_SAMPLES && self.sampled() > 0.0
    }
}

/// The places whose time moved, the largest differences first.
///
/// A few pairs do not know the variance of each place. How much more than sampling explains the differences of all places
/// vary counts as [`PRIOR`] further degrees of freedom (a moderated t test: G. K. Smyth, Statistical Applications in Genetics
/// and Molecular Biology 3, 2004, with a prior that is chosen and not fitted); the variance is never below that of sampling.
pub(super) fn moved_most(pairs: &[JudgedPair]) -> Vec<MovedCost> {
    let mut moved = Vec::new();
    for place in [CostPlace::Function, CostPlace::Statement] {
        moved.extend(tested(pairs, place));
    }
    let levels: Vec<f64> = moved.iter().map(|moved| moved.p).collect();
    let kept = stats::benjamini_hochberg(&levels, FALSE_DISCOVERIES);
    let mut moved: Vec<MovedCost> =
        moved.into_iter().zip(kept).filter(|(_, is_kept)| *is_kept).map(|(moved, _)| moved).collect();
    let size = |moved: &MovedCost| (moved.ms[1] - moved.ms[0]).abs();
    moved.sort_by(|one, other| size(other).total_cmp(&size(one)));
    let least = moved.first().map_or(0.0, size) * LEAST;
    moved.retain(|moved| size(moved) >= least);
    moved.truncate(MOST);
    moved
}

fn tested(pairs: &[JudgedPair], kind: CostPlace) -> Vec<MovedCost> {
    let observed: Vec<Vec<&Cost>> = pairs
        .iter()
        .map(|pair| pair.costs.iter().filter(|cost| cost.place == kind).collect::<Vec<_>>())
        .filter(|costs| !costs.is_empty())
        .collect();
    if observed.len() < FEWEST_PAIRS {
        return Vec::new();
    }
    let names: BTreeSet<&str> = observed.iter().flatten().map(|cost| cost.name.as_str()).collect();
    let nothing = |name: &str| Cost {
        place: kind,
        name: name.to_owned(),
        ms: [0.0; 2],
        samples: (kind == CostPlace::Function).then_some([0.0; 2]),
    };
    let mut places: Vec<(&str, PlaceTotals)> = Vec::new();
    for name in names {
        let mut place = PlaceTotals::default();
        for costs in &observed {
            match costs.iter().find(|cost| cost.name == name) {
                Some(cost) => place.add(cost),
                None => place.add(&nothing(name)),
            }
        }
        if place.has_enough() {
            places.push((name, place));
        }
    }
    let count = observed.len() as f64;
    let dispersion = dispersion(&places, count);
    let answer = |(name, place): (&str, PlaceTotals)| MovedCost {
        place: kind,
        name: name.to_owned(),
        ms: place.ms.map(|sum| sum / count),
        pairs: observed.len() as u32,
        p: p(&place, dispersion),
    };
    places.into_iter().map(answer).collect()
}

/// By how much the differences of all places vary more than sampling explains; at least 1.
fn dispersion(places: &[(&str, PlaceTotals)], pairs: f64) -> f64 {
    let ratios: Vec<f64> =
        places.iter().map(|(_, place)| place.squares() / (pairs - 1.0) / place.sampled()).collect();
    stats::quantile(&ratios, 0.5).unwrap_or(1.0).max(1.0)
}

fn p(place: &PlaceTotals, dispersion: f64) -> f64 {
    let count = place.differences.len() as f64;
    let mean = stats::mean(&place.differences).unwrap_or_default();
    let prior = PRIOR * dispersion * place.sampled();
    let variance = (prior + place.squares()) / (PRIOR + count - 1.0);
    let error = (variance.max(place.sampled()) / count).sqrt();
    stats::t_two_sided(mean / error, (PRIOR + count - 1.0) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Conditions, JudgedPair};
    use evidence::PairOrder;

    fn pairs(count: u32, costs: impl Fn(u32) -> Vec<Cost>) -> Vec<JudgedPair> {
        let pair = |number| JudgedPair {
            number,
            order: PairOrder::Ab,
            values: Vec::new(),
            by_second: Vec::new(),
            probe: Vec::new(),
            others: Vec::new(),
            costs: costs(number),
            conditions: [Conditions::default(); 2],
            share_of_b: None,
            load: None,
            findings: Vec::new(),
        };
        (1..=count).map(pair).collect()
    }

    /// A function with so many samples in A and in B, of a fiftieth of a millisecond each.
    fn function(name: &str, samples: [f64; 2]) -> Cost {
        let ms = samples.map(|samples| samples / 50.0);
        Cost { place: CostPlace::Function, name: name.to_owned(), ms, samples: Some(samples) }
    }

    /// A number around 0 that differs by seed.
    fn noise(seed: u32) -> f64 {
        f64::from(seed.wrapping_mul(2_654_435_761) >> 16) / 32_768.0 - 1.0
    }

    #[test]
    fn a_new_function_comes_first_and_what_only_varies_is_left_out() {
        let costs = |number| {
            let varied = |salt: u32, mean: f64| mean + mean.sqrt() * noise(number * 31 + salt);
            let mut costs: Vec<Cost> = (0..40)
                .map(|i| function(&format!("f{i}"), [varied(i * 2, 30.0), varied(i * 2 + 1, 30.0)]))
                .collect();
            costs.push(function("burn", [0.0, varied(99, 12.0)]));
            costs.push(function("rare", [0.0, 1.0]));
            costs
        };
        let moved = moved_most(&pairs(6, costs));
        assert_eq!(moved[0].name, "burn", "{moved:?}");
        assert!(moved.len() <= 2, "{moved:?}");
        assert_eq!((moved[0].ms[0], moved[0].pairs), (0.0, 6));
        assert!(moved_most(&pairs(2, costs)).is_empty(), "two pairs show nothing");
    }

    #[test]
    fn a_statement_that_takes_longer_moves_and_one_that_only_one_side_lists_counts_as_none() {
        let statements = |number: u32| {
            let of = |shift: f64, salt| shift * (1.0 + 0.05 * noise(number * 7 + salt));
            let a = BTreeMap::from([("SELECT a".to_owned(), of(0.2, 1)), ("INSERT".to_owned(), of(1.0, 2))]);
            let b = BTreeMap::from([
                ("SELECT a".to_owned(), of(2.0, 3)),
                ("INSERT".to_owned(), of(1.0, 4)),
                ("SELECT b".to_owned(), of(0.5, 5)),
            ]);
            paired(a, b)
        };
        let moved = moved_most(&pairs(6, statements));
        let names: Vec<&str> = moved.iter().map(|moved| moved.name.as_str()).collect();
        assert_eq!(names, ["SELECT a", "SELECT b"]);
        assert!((moved[0].ms[1] - 2.0).abs() < 0.1, "{moved:?}");
    }
}
