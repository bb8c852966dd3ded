//! The last minute of a run, a column a second.

use figures::live::{LiveFigures, LiveSecond};

use super::lines::{LEVELS, titled};
use crate::document::terminal::line::{TextLine, Tone};
use crate::number;

/// How many seconds are shown, where the terminal is wide enough.
pub(super) const HISTORY_S: u32 = 60;
/// Columns of a line beside its history: the title, and the highest value.
const BESIDE: usize = 30;
/// The fewest columns of a history.
const FEWEST: usize = 8;

/// Throughput and the 95th percentile of successes, each with its highest value.
pub(super) fn lines(figures: &LiveFigures, width: usize) -> [TextLine; 2] {
    let columns = width.saturating_sub(BESIDE).clamp(FEWEST, HISTORY_S as usize) as u32;
    let end = figures.complete_s();
    let second = |at: u32| figures.second(at);
    let shown = || (end.saturating_sub(columns)..end).map(second);
    let throughput = |counts: &LiveSecond| counts.completed() as f64;
    let p95_ms = |counts: &LiveSecond| counts.response.quantile(0.95).finite_us().map(|us| us / 1_000.0);
    [
        line("rate", shown().map(|counts| counts.map(throughput)).collect(), number::rate),
        line("p95", shown().map(|counts| counts.and_then(p95_ms)).collect(), number::time),
    ]
}

/// Values as columns; the highest has the full height, and where there is none the column is blank.
fn line(title: &str, values: Vec<Option<f64>>, shown: impl Fn(f64) -> String) -> TextLine {
    let mut line = titled(title);
    let most = values.iter().flatten().copied().fold(0.0, f64::max);
    if most > 0.0 {
        let level =
            |value: f64| ((value / most * LEVELS.len() as f64).ceil() as usize).clamp(1, LEVELS.len()) - 1;
        let column = |value: &Option<f64>| value.map_or(' ', |value| LEVELS[level(value)]);
        line.add(Tone::Accent, &values.iter().map(column).collect::<String>());
        line.add(Tone::Dim, &format!(" up to {}", shown(most)));
    }
    line
}
