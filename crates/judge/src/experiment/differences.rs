//! The differences of one metric within pairs.

use stats::Paired;
use workload::experiment::GateMetric;

use super::slot::SlotValue;

/// The differences of one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Differences {
    /// One for each pair, more is positive: of logarithms, or of shares. Infinite where one run alone has an infinite value, not
    /// a number where one was not measured.
    pub values: Vec<f64>,
    /// The same without a lag that both runs may have in common; infinite where that may be all there is. None where the
    /// metric has no lag.
    pub without_lag: Option<Vec<f64>>,
    /// The least deviation that may be taken for known.
    pub least: f64,
    /// How many runs have no value, where any has none, in a sentence.
    pub gaps: Option<String>,
}

/// Why pairs have no differences, in a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoDifferences(String);

impl Differences {
    /// The differences of these pairs.
    ///
    /// # Errors
    /// [`NoDifferences`] if nothing is known of half of the pairs, or a value is 0.
    pub fn from_pairs(metric: &GateMetric, pairs: &[[SlotValue; 2]]) -> Result<Differences, NoDifferences> {
        let (mut values, mut without_lag, mut squares) = (Vec::new(), Vec::new(), 0.0);
        for (index, [a, b]) in pairs.iter().enumerate() {
            let (difference, difference_without_lag) = match (a, b) {
                (SlotValue::Known { value: a, .. }, SlotValue::Known { value: b, .. })
                    if !metric.quantity.is_share() && (*a <= 0.0 || *b <= 0.0) =>
                {
                    let why = format!("In pair {} it is 0, which has no ratio.", index + 1);
                    return Err(NoDifferences(why));
                }
                (
                    SlotValue::Known { value: of_a, error: error_of_a, lag: lag_of_a },
                    SlotValue::Known { value: of_b, error: error_of_b, lag: lag_of_b },
                ) => {
                    squares += error_of_a.powi(2) + error_of_b.powi(2);
                    let lag = lag_of_a.max(*lag_of_b);
                    let without = if lag < of_a.min(*of_b) {
                        (of_b - lag).ln() - (of_a - lag).ln()
                    } else {
                        f64::INFINITY
                    };
                    (if metric.quantity.is_share() { of_b - of_a } else { of_b.ln() - of_a.ln() }, without)
                }
                (SlotValue::Known { .. }, SlotValue::Infinite) => (f64::INFINITY, f64::INFINITY),
                (SlotValue::Infinite, SlotValue::Known { .. }) => (f64::NEG_INFINITY, f64::INFINITY),
                _ => (f64::NAN, f64::INFINITY),
            };
            values.push(difference);
            without_lag.push(difference_without_lag);
        }
        let gaps = gaps(pairs);
        let unknown = values.iter().filter(|difference| difference.is_nan()).count();
        if let Some(gaps) = gaps.clone().filter(|_| unknown > 0 && 2 * unknown >= pairs.len()) {
            return Err(NoDifferences(gaps));
        }
        let known = values.iter().filter(|difference| difference.is_finite()).count();
        let least = (squares / known.max(1) as f64).sqrt();
        let has_lag = pairs.iter().flatten().any(|side| side.lag() > 0.0);
        Ok(Differences { values, without_lag: has_lag.then_some(without_lag), least, gaps })
    }

    /// The differences of pairs of which each has one.
    ///
    /// # Errors
    /// [`NoDifferences`] for these pairs, or if one of them has none.
    pub fn of_all(metric: &GateMetric, pairs: &[[SlotValue; 2]]) -> Result<Differences, NoDifferences> {
        let differences = Differences::from_pairs(metric, pairs)?;
        match differences.gaps {
            Some(gaps) => Err(NoDifferences(gaps)),
            None => Ok(differences),
        }
    }

    /// All of them; none where one is not finite.
    pub(super) fn paired(&self) -> Option<Paired> {
        Paired::from_differences(&self.values, self.least)
    }
}

/// How many runs have no value, and why the first has none.
fn gaps(pairs: &[[SlotValue; 2]]) -> Option<String> {
    let why = |side: &SlotValue| side.known().err();
    let with_value = |side: usize| pairs.iter().filter(|pair| pair[side].known().is_ok()).count();
    let (index, arm, why) = pairs.iter().enumerate().find_map(|(index, [a, b])| {
        why(a).map(|why| (index, "A", why)).or_else(|| why(b).map(|why| (index, "B", why)))
    })?;
    let [a, b] = [0, 1].map(with_value);
    Some(format!(
        "Of {} pairs A has a value in {a} and B in {b}; in pair {} {arm} has none: {why}",
        pairs.len(),
        index + 1
    ))
}
