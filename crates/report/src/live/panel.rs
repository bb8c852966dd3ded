//! The live display as a few lines that are rewritten in place.

use evidence::Histogram;

use super::{LiveView, Now, failure_tone, failures, left, loads, progress};
use crate::number;
use crate::terminal::Style;
use crate::terminal::line::{Line, Tone};

/// Columns of the bar that shows how far the run is.
const BAR: usize = 24;
/// Columns of the histogram.
const COLUMNS: usize = 32;
/// How full a column of the histogram is, from barely to wholly.
pub(super) const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// As many kinds of failures are named.
const KINDS: usize = 5;
/// The percentiles shown.
const PERCENTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)];

impl LiveView {
    /// How many lines [`LiveView::panel`] has.
    pub const PANEL_LINES: usize = 6;

    /// [`LiveView::PANEL_LINES`] lines, none wider than `width` columns, joined by newlines, without one at the
    /// end: for a terminal on which they are rewritten in place.
    pub fn panel(&self, style: Style, width: usize) -> String {
        let now = self.now();
        let lines: [Line; Self::PANEL_LINES] =
            [head(&now), load(&now), answers(&now), times(&now), shape(&now), kinds(&now)];
        lines.map(|line| line.render(style, width)).join("\n")
    }
}

fn head(now: &Now) -> Line {
    let mut line = Line::new();
    line.add(Tone::Strong, &progress(now)).add(Tone::Normal, "  ");
    line.add(Tone::Accent, &bar(now)).add(Tone::Normal, "  ");
    line.add(Tone::Accent, &now.phase).add(Tone::Dim, &format!("  {}", left(now)));
    line
}

/// A line that begins with what it is about.
fn titled(title: &str) -> Line {
    let mut line = Line::new();
    line.add(Tone::Dim, &format!("  {title:<9}"));
    line
}

fn load(now: &Now) -> Line {
    let mut line = titled("load");
    line.add(Tone::Normal, &loads(now)).add(Tone::Dim, " · ");
    line.add(Tone::Normal, &format!("{} in flight", number::count(now.in_flight)));
    line
}

fn answers(now: &Now) -> Line {
    let mut line = titled("answers");
    line.add(Tone::Normal, &number::count(now.answered)).add(Tone::Dim, " · ");
    line.add(failure_tone(now), &failures(now));
    line
}

fn times(now: &Now) -> Line {
    let mut line = titled("times");
    for (place, (name, quantile)) in PERCENTILES.into_iter().enumerate() {
        let time = now.response.quantile(quantile).finite_us().map(|us| us / 1_000.0);
        line.add(Tone::Dim, if place > 0 { " · " } else { "" });
        line.add(Tone::Normal, &format!("{name} {}", number::time_or_none(time)));
    }
    let longest = now.response.max_us().map(|us| us as f64 / 1_000.0);
    line.add(Tone::Dim, " · ").add(Tone::Normal, &format!("max {}", number::time_or_none(longest)));
    line
}

/// How response times are spread between the shortest and the longest.
fn shape(now: &Now) -> Line {
    let mut line = titled("");
    if let (Some(shortest), Some(longest)) = (now.response.min_us(), now.response.max_us()) {
        let time = |us: u64| number::time(us as f64 / 1_000.0);
        line.add(Tone::Dim, &format!("{} ", time(shortest)));
        line.add(Tone::Accent, &columns(&now.response, (shortest, longest)));
        line.add(Tone::Dim, &format!(" {}", time(longest)));
    }
    line
}

fn kinds(now: &Now) -> Line {
    let mut line = titled(if now.failures.is_empty() { "" } else { "failed" });
    for (place, (outcome, n)) in now.failures.iter().take(KINDS).enumerate() {
        line.add(Tone::Dim, if place > 0 { " · " } else { "" });
        line.add(Tone::Bad, &format!("{} {outcome}", number::count(*n)));
    }
    if now.failures.len() > KINDS {
        line.add(Tone::Dim, &format!(" · {} more kinds", now.failures.len() - KINDS));
    }
    line
}

/// The histogram between two times as columns of equal ratio, the fullest one full: long times are rare and far
/// away, and on an even scale there would be nothing but them. A column of nothing is a blank.
fn columns(response: &Histogram, (shortest, longest): (u64, u64)) -> String {
    let low = (shortest.max(1) as f64).ln();
    let width = ((longest.max(1) as f64).ln() - low).max(f64::MIN_POSITIVE);
    let mut counts = [0u64; COLUMNS];
    for (from, _, count) in response.buckets() {
        let place = ((from.max(1) as f64).ln() - low) / width * COLUMNS as f64;
        counts[(place as usize).min(COLUMNS - 1)] += count;
    }
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let level = |count: u64| match count {
        0 => ' ',
        count => LEVELS[((count * LEVELS.len() as u64).div_ceil(most) - 1).min(7) as usize],
    };
    counts.into_iter().map(level).collect()
}

fn bar(now: &Now) -> String {
    let by_time = f64::from(now.elapsed_s) / f64::from(now.total_s.max(1));
    let by_number = now.iterations.map_or(0.0, |(done, wanted)| done as f64 / wanted.max(1) as f64);
    let filled = ((by_time.max(by_number) * BAR as f64) as usize).min(BAR);
    "━".repeat(filled) + &"┄".repeat(BAR - filled)
}
