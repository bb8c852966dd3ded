//! The objectives as they form.

use unicode_width::UnicodeWidthStr;

use super::Drawing;
use crate::document::terminal::line::{TextLine, Tone};
use crate::live::objective::{IntervalNow, ObjectiveNow, Stage, StopNow};
use crate::number;
use crate::text::fit;

/// Columns of the gauge, at least and at most.
const GAUGE: [usize; 2] = [13, 61];
/// Columns of the value so far.
const VALUE: usize = 10;
/// Columns of the words at the end.
const WORDS: usize = 22;
/// Columns of an objective's text at most, on a screen of 100 columns or more and on a narrower one.
const SOURCE: [usize; 2] = [44, 28];
/// From so many columns on there is space for all that is known.
const WIDE: usize = 100;

impl Drawing<'_> {
    /// A heading, and a line for each objective as far as there are lines; those that are decided against come first.
    pub(super) fn objectives(&self, rows: usize) -> Vec<TextLine> {
        let mut all: Vec<&ObjectiveNow> = self.screen.objectives.iter().collect();
        let space = rows.saturating_sub(1);
        all.sort_by_key(|objective| urgency(objective.stage));
        let mut title = TextLine::new();
        title.add(Tone::Dim, "   objectives so far");
        if all.len() > space {
            let more = match all.len() - space {
                1 => "1 more does not fit".to_owned(),
                n => format!("{n} more do not fit"),
            };
            title.add(Tone::Dim, &format!(", {more}"));
        }
        let is_wide = self.columns >= WIDE;
        let [wide, narrow] = SOURCE;
        let most = if is_wide { wide } else { narrow.min(self.columns.saturating_sub(3 + VALUE + 2)) };
        let sources = all.iter().map(|objective| in_columns(&objective.source, most));
        let source = sources.map(|source| source.width()).max().unwrap_or(0);
        let gauge = self.columns.saturating_sub(3 + source + VALUE + 2 + WORDS + 2);
        let widths = Widths { source, gauge, is_wide };
        std::iter::once(title)
            .chain(all.into_iter().take(space).map(|objective| row(objective, &widths)))
            .collect()
    }
}

/// What fits into a line.
struct Widths {
    source: usize,
    gauge: usize,
    is_wide: bool,
}

/// An objective's text in so many columns: without blanks where it is too wide, and cut before its bound where it still is.
fn in_columns(source: &str, columns: usize) -> String {
    if source.width() <= columns {
        return source.to_owned();
    }
    let packed = source.replace(' ', "");
    match packed.rfind(['<', '>']).map(|at| packed.split_at(at)) {
        Some((measure, bound)) if bound.width() < columns => fit(measure, columns - bound.width()) + bound,
        _ => fit(&packed, columns),
    }
}

/// What a reader must see first.
fn urgency(stage: Stage) -> u8 {
    match stage {
        Stage::Violated | Stage::ValueOnly { holds: false } => 0,
        Stage::Open { .. } => 1,
        Stage::Met | Stage::ValueOnly { holds: true } => 2,
        Stage::NothingCounted | Stage::AtTheEnd => 3,
    }
}

fn row(objective: &ObjectiveNow, widths: &Widths) -> TextLine {
    let Widths { source, gauge, is_wide } = *widths;
    let (mark, tone) = match objective.stage {
        Stage::Met | Stage::ValueOnly { holds: true } => ("✓", Tone::Good),
        Stage::Violated | Stage::ValueOnly { holds: false } => ("✗", Tone::Bad),
        Stage::Open { .. } => ("?", Tone::Warn),
        Stage::NothingCounted | Stage::AtTheEnd => ("·", Tone::Dim),
    };
    let mut line = TextLine::new();
    line.add(tone, &format!(" {mark} "));
    line.add(Tone::Normal, &in_columns(&objective.source, source)).pad_to(3 + source);
    let value = objective.value.map(|value| match value.is_infinite() {
        true => "failing".to_owned(),
        false => value_text(value, objective.unit),
    });
    line.add_right(Tone::Strong, &value.unwrap_or_else(|| number::NOT_MEASURED.to_owned()), VALUE);
    let [least, most] = GAUGE;
    if gauge >= least {
        let columns = gauge.min(most);
        line.add(Tone::Normal, "  ");
        match &objective.interval {
            Some(interval) => line.extend(drawn(interval, columns, tone)),
            None => line.add(Tone::Normal, &" ".repeat(columns)),
        };
    }
    line.add(Tone::Normal, "  ");
    match &objective.stop {
        Some(StopNow { failing_since_s: Some(since_s), not_before_s }) => {
            let since =
                if is_wide { format!(" since {}", number::clock((*since_s).into())) } else { String::new() };
            let from = number::clock((*not_before_s).into());
            line.add(Tone::Bad, &format!("fails{since}, ends run {from}"));
        }
        Some(StopNow { failing_since_s: None, not_before_s }) if is_wide => {
            line.add(tone, &objective.stage.words());
            let from = number::clock((*not_before_s).into());
            line.add(Tone::Dim, &format!(" · can end the run from {from} on"));
        }
        _ => {
            line.add(tone, &objective.stage.words());
        }
    }
    line
}

fn value_text(value: f64, unit: &str) -> String {
    match unit {
        "ms" => number::time(value),
        "1/s" => number::rate(value),
        _ => number::percent_with(value, 3),
    }
}

/// The interval on a scale from no share to twice the share that is allowed: `├──●──┤    ┃`. What is beyond the scale is at
/// its end.
fn drawn(interval: &IntervalNow, columns: usize, tone: Tone) -> TextLine {
    let IntervalNow { observed, lower, upper, allowed } = *interval;
    let most = if allowed > 0.0 { 2.0 * allowed } else { (2.0 * upper).max(f64::MIN_POSITIVE) };
    let last = columns - 1;
    let at = |share: f64| ((share / most * last as f64).round() as usize).min(last);
    let (lower_at, upper_at, observed_at, bound_at) = (at(lower), at(upper), at(observed), at(allowed));
    let mut line = TextLine::new();
    for column in 0..columns {
        let is_within = (lower_at..=upper_at).contains(&column);
        let (tone, glyph) = match column {
            _ if column == observed_at => (tone, "●"),
            _ if column == bound_at => (Tone::Strong, "┃"),
            _ if column == last && upper > most => (tone, "▶"),
            _ if column == lower_at && is_within => (tone, "├"),
            _ if column == upper_at => (tone, "┤"),
            _ if is_within => (tone, "─"),
            _ => (Tone::Dim, "·"),
        };
        line.add(tone, glyph);
    }
    line
}
