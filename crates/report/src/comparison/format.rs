//! Parts of a comparison as text, the same in every report.

use evidence::{ComparisonJudgement, SidedFinding, TerminalText};

use crate::card::{self, FindingCard};
use crate::number;
use crate::profiles;
use crate::summary::{
    Difference, Header, LETTERS, MAX_SIDES, Measure, PhaseTable, ProfilePair, SeriesPair, SideValue,
    TargetSeries,
};

/// A series whose mean moved by a smaller factor is left to reports with more space.
const MOVED_FACTOR: f64 = 1.1;
/// How many functions that moved are shown.
const MAX_MOVERS: usize = 12;

/// Before a quantile with few samples above it.
pub(super) const ROUGH: &str = "~";

pub(super) fn letter(side: usize) -> &'static str {
    LETTERS[side % MAX_SIDES]
}

/// The letters of several sides: `A, B`.
pub(super) fn letters(sides: &[usize]) -> String {
    sides.iter().map(|side| letter(*side)).collect::<Vec<_>>().join(", ")
}

/// The findings by rule; their places begin with the letters of their runs.
pub(super) fn cards(judgement: &ComparisonJudgement) -> Vec<FindingCard> {
    let place = |found: &SidedFinding| -> String {
        format!("{} · {}", letters(&found.sides), card::scope(&found.finding.scope))
    };
    card::cards(judgement.findings.iter().map(|found| (place(found), &found.finding)))
}

/// The heads of the columns of a table: each side, then for each side but A the difference and the ratio.
pub(super) fn heads(sides: usize) -> Vec<String> {
    let values = (0..sides).map(|side| letter(side).to_owned());
    let differences = (1..sides).flat_map(|side| {
        let letter = letter(side);
        [format!("{letter} − A"), format!("{letter} ÷ A")]
    });
    values.chain(differences).collect()
}

/// The plan, start, length and end of a run.
pub(super) fn run_in_words(run: &Header) -> String {
    let duration = number::length(run.elapsed_s);
    format!("{} · {} · {duration} · {}", run.name, run.started_at, run.end_in_words())
}

/// The length of a phase on each side.
pub(super) fn phase_lengths(phase: &PhaseTable) -> Vec<String> {
    let length = |covered_s: &Option<f64>| match covered_s {
        Some(seconds) => format!("{} s", number::plain(*seconds)),
        None => "absent".to_owned(),
    };
    phase.covered_s.iter().map(length).collect()
}

/// The seconds that the costs of a phase are of: one sentence where all are of the same ones on each side.
pub(super) fn cost_seconds(phase: &PhaseTable) -> Vec<String> {
    let Some(first) = phase.costs.first() else { return Vec::new() };
    let sides = |measure: &Measure| -> String {
        let is_alike = measure.seconds.windows(2).all(|pair| pair[0] == pair[1]);
        match measure.seconds.first() {
            Some(seconds) if is_alike => seconds.to_string(),
            _ => {
                let each = measure.seconds.iter().enumerate();
                let each: Vec<String> = each.map(|(side, of)| format!("{} {of}", letter(side))).collect();
                each.join("; ")
            }
        }
    };
    if phase.costs.iter().all(|measure| measure.seconds == first.seconds) {
        return vec![format!("Costs and answers of {}.", sides(first))];
    }
    phase.costs.iter().map(|measure| format!("{}: {}.", measure.name, sides(measure))).collect()
}

/// The sections that end a comparison: their heads and their sentences.
pub(super) fn conclusions(judgement: &ComparisonJudgement) -> [(&'static str, &[String]); 3] {
    [
        ("What this comparison supports", &judgement.supports),
        ("What it does not support", &judgement.does_not_support),
        ("What would decide it", &judgement.would_settle),
    ]
}

fn value(value: SideValue, unit: &str) -> String {
    match value {
        SideValue::Missing => number::NOT_MEASURED.to_owned(),
        SideValue::Infinite => number::INFINITE.to_owned(),
        SideValue::Finite(value) => number::with_unit(Some(value), unit),
    }
}

/// The number of a side; `~` where it is rough.
pub(super) fn of_side(measure: &Measure, side: usize) -> String {
    let of = measure.values.get(side).copied().unwrap_or(SideValue::Missing);
    let is_rough = measure.rough.contains(&side) && of.finite().is_some();
    format!("{}{}", if is_rough { ROUGH } else { "" }, value(of, &measure.unit))
}

/// A factor: `× 1.31`, and `× ~1.31` between rough numbers.
pub(super) fn factor(ratio: f64, is_rough: bool) -> String {
    format!("× {}{}", if is_rough { ROUGH } else { "" }, number::significant(ratio, 3))
}

/// A difference and a ratio: `+1.20 ms` and `1.31`.
pub(super) fn difference(measure: &Measure, side: usize) -> [String; 2] {
    let none = || number::NOT_MEASURED.to_owned();
    match measure.differences.get(side.saturating_sub(1)) {
        Some(Difference::Known { difference, ratio }) => {
            let unit = if measure.unit == "%" { "pp" } else { &measure.unit };
            let sign = if *difference > 0.0 { "+" } else { "" };
            let ratio = number::or_not_measured(*ratio, |ratio| number::significant(ratio, 3));
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

/// At most `most` series of a target whose means moved by a tenth or more, furthest first; none of the generator.
pub(super) fn moved(target: &TargetSeries, most: usize) -> Vec<&SeriesPair> {
    let is_generator = target.target == evidence::SeriesKey::GENERATOR;
    let moved = target.series.iter().filter(|pair| !is_generator && pair.factor() > MOVED_FACTOR);
    moved.take(most).collect()
}

/// The title of a pair of profiles: `cpu of api at 15m: B against A`.
pub(super) fn profile_title(pair: &ProfilePair) -> String {
    format!("{} of {} at {}: {} against A", pair.kind, pair.target, pair.mark, letter(pair.side))
}

/// What moved between a pair of profiles, or why they cannot be compared.
pub(super) fn profile_text(pair: &ProfilePair) -> TerminalText {
    match &pair.moved {
        Some(moved) => profiles::comparison(moved, MAX_MOVERS),
        None => {
            let mut text = TerminalText::default();
            text.line(format_args!("Not compared: {}.", pair.note));
            text
        }
    }
}
