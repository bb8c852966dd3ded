//! Numbers of a comparison as text, the same in every report.

use crate::number;
use crate::profiles;
use crate::summary::{Difference, LETTERS, MAX_SIDES, Measure, ProfilePair, SeriesPair, TargetSeries, Value};

/// A side's letter.
pub(super) fn letter(side: usize) -> &'static str {
    LETTERS[side % MAX_SIDES]
}

/// The letters of several sides: `A, B`.
pub(super) fn letters(sides: &[usize]) -> String {
    sides.iter().map(|side| letter(*side)).collect::<Vec<_>>().join(", ")
}

/// A value with its unit.
pub(super) fn value(value: Value, unit: &str) -> String {
    match value {
        Value::Missing => number::NOT_MEASURED.to_owned(),
        Value::Infinite => number::INFINITE.to_owned(),
        Value::Finite(value) => number::with_unit(Some(value), unit),
    }
}

/// A difference and a ratio: `+1.20 ms` and `1.31`.
pub(super) fn difference(measure: &Measure, side: usize) -> [String; 2] {
    let none = || number::NOT_MEASURED.to_owned();
    match measure.differences.get(side.saturating_sub(1)) {
        Some(Difference::Known { difference, ratio }) => {
            let unit = if measure.unit == "%" { "pp" } else { &measure.unit };
            let sign = if *difference > 0.0 { "+" } else { "" };
            let ratio = ratio.map_or_else(none, |ratio| number::significant(ratio, 3));
            [format!("{sign}{}", number::with_unit(Some(*difference), unit)), ratio]
        }
        Some(Difference::Refused { rules }) => ["refused".to_owned(), rules.join(", ")],
        Some(Difference::Unknown) | None => [none(), none()],
    }
}

/// Whether rules refuse the difference of a side.
pub(super) fn is_refused(measure: &Measure, side: usize) -> bool {
    matches!(measure.differences.get(side.saturating_sub(1)), Some(Difference::Refused { .. }))
}

/// Series of a target that moved less are left to the reports with more room.
const STRIKING: f64 = 1.1;

/// Those of a target's series, the generator's apart, that differ by a tenth, furthest first; `most` of them.
pub(super) fn striking(target: &TargetSeries, most: usize) -> Vec<&SeriesPair> {
    let of_the_generator = target.target == evidence::SeriesKey::GENERATOR;
    let far = target.series.iter().filter(|pair| !of_the_generator && pair.factor() > STRIKING);
    far.take(most).collect()
}

/// How many functions that moved are shown.
const MOVERS: usize = 12;

/// What a pair of profiles is: `cpu of api at 15m: B against A`.
pub(super) fn profile_title(pair: &ProfilePair) -> String {
    format!("{} of {} at {}: {} against A", pair.kind, pair.target, pair.mark, letter(pair.side))
}

/// What moved between a pair of profiles, or why that cannot be told.
pub(super) fn profile_text(pair: &ProfilePair) -> String {
    match &pair.moved {
        Some(moved) => profiles::comparison(moved, MOVERS),
        None => format!("Not compared: {}.\n", pair.note),
    }
}
