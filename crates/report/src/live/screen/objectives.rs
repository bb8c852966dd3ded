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
/// Columns between two parts of a row.
const GAP: usize = 2;
/// Columns of an objective's text at most, on a screen of 100 columns or more and on a narrower one.
const SOURCE: [usize; 2] = [44, 28];
/// The same where there is no space for shares beside it.
const SHORT_SOURCE: [usize; 2] = [24, 20];
/// From so many columns on there is space for all that is known.
const WIDE: usize = 100;
const SHARE: &str = "slow or failed";

impl Drawing<'_> {
    /// A heading, and a line for each objective as far as there are lines; those that are decided against come first.
    pub(super) fn objectives(&self, rows: usize) -> Vec<TextLine> {
        let mut all: Vec<&ObjectiveNow> = self.screen.objectives.iter().collect();
        let space = rows.saturating_sub(1);
        all.sort_by_key(|objective| urgency(objective.stage));
        let hidden = all.len().saturating_sub(space);
        all.truncate(space);
        let shown = Shown {
            is_wide: self.columns >= WIDE,
            is_stopping: self.choice.is_stopping,
            is_load_missed: self.screen.is_load_missed,
        };
        let widths = Widths::of(&all, shown, self.columns);
        std::iter::once(heading(&widths, hidden))
            .chain(all.into_iter().map(|objective| row(objective, &widths)))
            .collect()
    }
}

/// What is said of objectives.
#[derive(Clone, Copy)]
struct Shown {
    is_wide: bool,
    is_stopping: bool,
    /// Whether so many arrivals were not offered that no objective on the load can be met.
    is_load_missed: bool,
}

/// What fits into a line.
struct Widths {
    shown: Shown,
    source: usize,
    /// None where there is no space for shares; else whether it is said in full.
    share: Option<(usize, ShareText)>,
    /// None where there is no space for it.
    gauge: Option<usize>,
}

/// How a share is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ShareText {
    /// `0.8 %, 5 % allowed`
    InFull,
    /// `0.8 % of 5 %`
    Brief,
}

impl ShareText {
    fn of(self, interval: &IntervalNow) -> String {
        let observed = number::percent_with(interval.observed, 2);
        // As it was asked for.
        let allowed = format!("{} %", (interval.allowed * 1e8).round() / 1e6);
        match self {
            ShareText::InFull => format!("{observed}, {allowed} allowed"),
            ShareText::Brief => format!("{observed} of {allowed}"),
        }
    }
}

impl Widths {
    fn of(all: &[&ObjectiveNow], shown: Shown, columns: usize) -> Widths {
        let [wide, narrow] = SOURCE;
        let most = if shown.is_wide { wide } else { narrow.min(columns.saturating_sub(3 + VALUE + GAP)) };
        let widest = |of: &dyn Fn(&ObjectiveNow) -> usize| all.iter().map(|o| of(o)).max().unwrap_or(0);
        let words = widest(&|objective| state(objective, shown).width());
        let source_of = |most: usize| widest(&|objective| in_columns(&objective.source, most).width());
        let beside = |source: usize| 3 + source + VALUE + GAP + words;
        let share_of = |text: ShareText| {
            let shares = widest(&|o| o.interval.map_or(0, |interval| text.of(&interval).width()));
            (shares > 0).then(|| (shares.max(SHARE.width()), text))
        };
        // Where the share does not fit, the objective's text is cut for it.
        let [less, least_source] = SHORT_SOURCE.map(|short| short.min(most));
        let fitting = [
            (most, ShareText::InFull),
            (most, ShareText::Brief),
            (less, ShareText::Brief),
            (least_source, ShareText::Brief),
        ];
        let fitting = fitting.into_iter().filter_map(|(most, text)| Some((source_of(most), share_of(text)?)));
        let fitted =
            fitting.into_iter().find(|(source, (share, _))| beside(*source) + GAP + share <= columns);
        let (source, share) =
            fitted.map_or_else(|| (source_of(most), None), |(source, share)| (source, Some(share)));
        let beside = beside(source);
        let free = columns.saturating_sub(beside + 2 * GAP + share.map_or(0, |(share, _)| share));
        let [least, most] = GAUGE;
        Widths { shown, source, share, gauge: (free >= least).then(|| free.min(most)) }
    }
}

fn heading(widths: &Widths, hidden: usize) -> TextLine {
    let mut line = TextLine::new();
    line.add(Tone::Dim, "   objectives so far");
    let value_end = 3 + widths.source + VALUE;
    match hidden {
        0 => {}
        1 => drop(line.add(Tone::Dim, ", 1 more does not fit")),
        n => drop(line.add(Tone::Dim, &format!(", {n} more do not fit"))),
    }
    if widths.share.is_some() && line.width() <= value_end {
        line.pad_to(value_end + GAP).add(Tone::Dim, SHARE);
    }
    line
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
        Stage::Open { .. } | Stage::OpenEarly => 1,
        Stage::Met | Stage::ValueOnly { holds: true } => 2,
        Stage::NothingCounted | Stage::AtTheEnd => 3,
    }
}

fn row(objective: &ObjectiveNow, widths: &Widths) -> TextLine {
    let (mark, tone) = match objective.stage {
        stage if widths.shown.is_load_missed && stage != Stage::Violated => ("?", Tone::Warn),
        Stage::Met | Stage::ValueOnly { holds: true } => ("✓", Tone::Good),
        Stage::Violated | Stage::ValueOnly { holds: false } => ("✗", Tone::Bad),
        Stage::Open { .. } | Stage::OpenEarly => ("?", Tone::Warn),
        Stage::NothingCounted | Stage::AtTheEnd => ("·", Tone::Dim),
    };
    let mut line = TextLine::new();
    line.add(tone, &format!(" {mark} "));
    line.add(Tone::Normal, &in_columns(&objective.source, widths.source)).pad_to(3 + widths.source);
    let value = objective.value.map(|value| match value.is_infinite() {
        true => "failing".to_owned(),
        false => value_text(value, objective.unit),
    });
    line.add_right(Tone::Strong, &value.unwrap_or_else(|| number::NOT_MEASURED.to_owned()), VALUE);
    if let Some((columns, text)) = widths.share {
        let share = objective.interval.map(|interval| text.of(&interval)).unwrap_or_default();
        let end = line.width() + GAP + columns;
        line.add(Tone::Normal, "  ").add(Tone::Normal, &share).pad_to(end);
    }
    if let Some(columns) = widths.gauge {
        line.add(Tone::Normal, "  ");
        match &objective.interval {
            Some(interval) => line.extend(drawn(interval, columns, tone)),
            None => line.add(Tone::Normal, &" ".repeat(columns)),
        };
    }
    let ends_run = objective.stop.is_some_and(|stop| stop.failing_since_s.is_some());
    line.add(Tone::Normal, "  ")
        .add(if ends_run { Tone::Bad } else { tone }, &state(objective, widths.shown));
    line
}

/// How far it is decided, and whether it ends the run.
fn state(objective: &ObjectiveNow, shown: Shown) -> String {
    let words = match shown.is_load_missed {
        // What is violated stays so: fewer arrivals do not excuse it.
        true if objective.stage != Stage::Violated => "cannot be met: arrivals were not offered".to_owned(),
        _ => objective.stage.words(shown.is_stopping),
    };
    match objective.stop {
        Some(StopNow { failing_since_s: Some(since_s), not_before_s }) => {
            let since = if shown.is_wide {
                format!(" since {}", number::clock(since_s.into()))
            } else {
                String::new()
            };
            format!("fails{since}, ends run {}", number::clock(not_before_s.into()))
        }
        Some(StopNow { failing_since_s: None, not_before_s }) if shown.is_wide => {
            format!("{words} · can end the run from {} on", number::clock(not_before_s.into()))
        }
        _ => words,
    }
}

fn value_text(value: f64, unit: &str) -> String {
    match unit {
        "1" => number::percent_with(value, 3),
        unit => number::with_unit(Some(value), unit),
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
