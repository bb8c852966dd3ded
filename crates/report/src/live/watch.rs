//! The observed series, as lines that are rewritten in place.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use evidence::{Observed, SeriesKey, TerminalText};

use super::lines::LEVELS;
use crate::document::terminal::Style;
use crate::document::terminal::line::{TextLine, Tone, rendered};
use crate::number;

/// The most values of a series that are drawn.
const MAX_DRAWN: usize = 30;
/// A series without a sample for more than this many seconds is shown without a value.
const STALE_S: u32 = 15;
/// Columns of a series' name.
const NAME_COLUMNS: usize = 40;
/// Columns of a series' value.
const VALUE_COLUMNS: usize = 14;

/// The last samples of each observed series.
#[derive(Debug, Clone, Default)]
pub struct WatchView {
    length_s: Option<u64>,
    second: u32,
    targets: BTreeMap<String, BTreeMap<SeriesKey, RecentValues>>,
}

#[derive(Debug, Clone, Default)]
struct RecentValues {
    second: u32,
    values: VecDeque<f64>,
}

impl WatchView {
    /// A view for observation of this length, or until it is stopped.
    pub fn new(length: Option<Duration>) -> WatchView {
        WatchView { length_s: length.map(|length| length.as_secs()), ..WatchView::default() }
    }

    /// Add samples. Those of the generator are left out.
    pub fn take(&mut self, observed: &Observed) {
        for (key, sample) in observed.samples.iter().filter(|(key, _)| &*key.target != SeriesKey::GENERATOR) {
            let second = sample.at.second();
            self.second = self.second.max(second);
            let series = self.targets.entry(key.target.to_string()).or_default();
            let recent = series.entry(key.clone()).or_default();
            recent.second = second;
            recent.values.push_back(sample.value);
            if recent.values.len() > MAX_DRAWN {
                recent.values.pop_front();
            }
        }
    }

    /// Lines of at most `width` columns, fewer than `rows`, joined by newlines, without one at the end.
    pub fn panel(&self, style: Style, width: usize, rows: usize) -> TerminalText {
        let mut lines = vec![self.head()];
        for (target, series) in &self.targets {
            let mut title = TextLine::new();
            title.add(Tone::Strong, target);
            lines.push(title);
            lines.extend(series.iter().map(|(key, recent)| self.row(key, recent)));
        }
        let most = rows.saturating_sub(1).max(2);
        if lines.len() > most {
            let hidden = lines.len() - most + 1;
            lines.truncate(most - 1);
            let mut more = TextLine::new();
            more.add(Tone::Dim, &format!("  {hidden} more lines do not fit here; the run file has all"));
            lines.push(more);
        }
        rendered(&lines, style, width)
    }

    fn head(&self) -> TextLine {
        let mut line = TextLine::new();
        let second = u64::from(self.second);
        line.add(Tone::Strong, &number::clock(second)).add(Tone::Dim, " · ").add(Tone::Accent, "watching");
        let remaining = match self.length_s {
            Some(length_s) => format!(" · {} left", number::duration(length_s.saturating_sub(second))),
            None => " · until Ctrl-C".to_owned(),
        };
        line.add(Tone::Dim, &remaining);
        line
    }

    fn row(&self, key: &SeriesKey, recent: &RecentValues) -> TextLine {
        let mut line = TextLine::new();
        let part = if key.part.is_empty() { String::new() } else { format!(" {}", key.part) };
        line.add(Tone::Normal, &format!("  {}", cut(&format!("{}{part}", key.name)))).pad_to(NAME_COLUMNS);
        let is_fresh = self.second.saturating_sub(recent.second) <= STALE_S;
        let value = recent.values.back().copied().filter(|_| is_fresh);
        line.add(Tone::Normal, &format!(" {}", number::with_unit(value, &key.unit)));
        line.pad_to(NAME_COLUMNS + VALUE_COLUMNS)
            .add(Tone::Normal, " ")
            .add(Tone::Accent, &columns(&recent.values));
        line
    }
}

/// A name cut to its columns.
fn cut(name: &str) -> String {
    match name.char_indices().nth(NAME_COLUMNS - 4) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

/// A column per value, between the lowest and the highest of them.
fn columns(values: &VecDeque<f64>) -> String {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let column = |value: &f64| {
        let share = if high > low { (value - low) / (high - low) } else { 0.0 };
        LEVELS[((share * LEVELS.len() as f64) as usize).min(LEVELS.len() - 1)]
    };
    values.iter().map(column).collect()
}

#[cfg(test)]
mod tests {
    use evidence::{Instant, Sample};

    use super::*;

    fn observed(second: u64, value: f64) -> Observed {
        let at = Instant::at(Duration::from_secs(second));
        let keys = [
            SeriesKey::new("cpu", "web", "cores"),
            SeriesKey::new("go_goroutines", "web", "1"),
            SeriesKey::new("pg_statement_time", "db", "s").part("42 SELECT something long from somewhere"),
            SeriesKey::new("observer_cpu", SeriesKey::GENERATOR, "cores"),
        ];
        let samples = keys.map(|key| (key, Sample { at, value })).to_vec();
        Observed { samples, ..Observed::default() }
    }

    #[test]
    fn each_series_is_shown_with_its_last_value_and_its_history() {
        let mut view = WatchView::new(Some(Duration::from_secs(90)));
        for (second, value) in [0.25, 0.5, 1.0, 0.5].into_iter().enumerate() {
            view.take(&observed(second as u64, value));
        }
        insta::assert_snapshot!(view.panel(Style::Plain, 80, 24), @r"
        0:03 · watching · 1 min 27 s left
        db
          pg_statement_time 42 SELECT somethin…  500 ms        ▁▃█▃
        web
          cpu                                    0.500 cores   ▁▃█▃
          go_goroutines                          0.5000        ▁▃█▃
        ");
        let small = view.panel(Style::Plain, 40, 5);
        let lines: Vec<&str> = small.lines().collect();
        assert_eq!((lines.len(), lines[3].trim_start().starts_with("3 more lines")), (4, true), "{small}");
        assert!(lines.iter().all(|line| line.chars().count() <= 40), "{small}");
    }

    #[test]
    fn a_series_without_recent_samples_has_no_value_and_memory_is_bounded() {
        let mut view = WatchView::new(None);
        view.take(&observed(0, 1.0));
        let mut later = observed(1, 2.0);
        later.samples.truncate(1);
        for second in 1..100 {
            later.samples[0].1.at = Instant::at(Duration::from_secs(second));
            view.take(&later);
        }
        insta::assert_snapshot!(view.panel(Style::Plain, 100, 24), @r"
        1:39 · watching · until Ctrl-C
        db
          pg_statement_time 42 SELECT somethin…  –             ▁
        web
          cpu                                    2.00 cores    ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁
          go_goroutines                          –             ▁
        ");
    }
}
