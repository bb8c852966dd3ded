//! What observers see, as lines that are rewritten in place.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use evidence::{Observed, SeriesKey};

use super::panel::LEVELS;
use crate::number;
use crate::terminal::Style;
use crate::terminal::line::{Line, Tone};

/// Values of a series that are drawn.
const DRAWN: usize = 30;
/// What was not seen for so many seconds has no value any more.
const STALE_S: u32 = 15;
/// Columns of a series' name, and of its value.
const NAME_COLUMNS: usize = 40;
const VALUE_COLUMNS: usize = 14;

/// What observers of targets saw last, and a little before.
#[derive(Debug, Clone, Default)]
pub struct WatchView {
    length_s: Option<u64>,
    second: u32,
    targets: BTreeMap<String, BTreeMap<SeriesKey, Recent>>,
}

#[derive(Debug, Clone, Default)]
struct Recent {
    second: u32,
    values: VecDeque<f64>,
}

impl WatchView {
    /// Of a watch that lasts so long, or until it is stopped.
    pub fn new(length: Option<Duration>) -> WatchView {
        WatchView { length_s: length.map(|length| length.as_secs()), ..WatchView::default() }
    }

    /// Take in what was seen. What the generator says of itself is left out.
    pub fn take(&mut self, seen: &Observed) {
        for (key, sample) in seen.samples.iter().filter(|(key, _)| &*key.target != SeriesKey::GENERATOR) {
            let second = sample.at.second();
            self.second = self.second.max(second);
            let series = self.targets.entry(key.target.to_string()).or_default();
            let recent = series.entry(key.clone()).or_default();
            recent.second = second;
            recent.values.push_back(sample.value);
            if recent.values.len() > DRAWN {
                recent.values.pop_front();
            }
        }
    }

    /// Lines no wider than the terminal's columns and fewer than its rows, joined by newlines, without one at the end.
    pub fn panel(&self, style: Style, (width, rows): (usize, usize)) -> String {
        let mut lines = vec![self.head()];
        for (target, series) in &self.targets {
            let mut title = Line::new();
            title.add(Tone::Strong, target);
            lines.push(title);
            lines.extend(series.iter().map(|(key, recent)| self.row(key, recent)));
        }
        let room = rows.saturating_sub(1).max(2);
        if lines.len() > room {
            let hidden = lines.len() - room + 1;
            lines.truncate(room - 1);
            let mut more = Line::new();
            more.add(
                Tone::Dim,
                &format!("  {hidden} more lines have no room here; the run file has them all"),
            );
            lines.push(more);
        }
        lines.iter().map(|line| line.render(style, width)).collect::<Vec<_>>().join("\n")
    }

    fn head(&self) -> Line {
        let mut line = Line::new();
        let second = u64::from(self.second);
        line.add(Tone::Strong, &number::clock(second)).add(Tone::Dim, " · ").add(Tone::Accent, "watching");
        let left = match self.length_s {
            Some(length_s) => format!(" · {} left", number::span(length_s.saturating_sub(second))),
            None => " · until Ctrl-C".to_owned(),
        };
        line.add(Tone::Dim, &left);
        line
    }

    fn row(&self, key: &SeriesKey, recent: &Recent) -> Line {
        let mut line = Line::new();
        let part = if key.part.is_empty() { String::new() } else { format!(" {}", key.part) };
        line.add(Tone::Normal, &format!("  {}", cut(&format!("{}{part}", key.name)))).pad_to(NAME_COLUMNS);
        let is_fresh = self.second.saturating_sub(recent.second) <= STALE_S;
        let value = recent.values.back().copied().filter(|_| is_fresh);
        line.add(Tone::Normal, &format!(" {}", number::with_unit(value, &key.unit)));
        line.pad_to(NAME_COLUMNS + VALUE_COLUMNS)
            .add(Tone::Normal, " ")
            .add(Tone::Accent, &drawn(&recent.values));
        line
    }
}

/// A name that leaves room for its value.
fn cut(name: &str) -> String {
    match name.char_indices().nth(NAME_COLUMNS - 4) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

/// A column for each value, between the lowest and the highest of them.
fn drawn(values: &VecDeque<f64>) -> String {
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

    fn seen(second: u64, value: f64) -> Observed {
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
    fn each_series_has_its_value_and_its_course() {
        let mut view = WatchView::new(Some(Duration::from_secs(90)));
        for (second, value) in [0.25, 0.5, 1.0, 0.5].into_iter().enumerate() {
            view.take(&seen(second as u64, value));
        }
        insta::assert_snapshot!(view.panel(Style::Plain, (80, 24)), @r"
        0:03 · watching · 1 min 27 s left
        db
          pg_statement_time 42 SELECT somethin…  500 ms        ▁▃█▃
        web
          cpu                                    0.500 cores   ▁▃█▃
          go_goroutines                          0.5000        ▁▃█▃
        ");
        let small = view.panel(Style::Plain, (40, 5));
        let lines: Vec<&str> = small.lines().collect();
        assert_eq!((lines.len(), lines[3].trim_start().starts_with("3 more lines")), (4, true), "{small}");
        assert!(lines.iter().all(|line| line.chars().count() <= 40), "{small}");
    }

    #[test]
    fn what_is_not_seen_any_more_has_no_value_and_memory_is_bounded() {
        let mut view = WatchView::new(None);
        view.take(&seen(0, 1.0));
        let mut later = seen(1, 2.0);
        later.samples.truncate(1);
        for second in 1..100 {
            later.samples[0].1.at = Instant::at(Duration::from_secs(second));
            view.take(&later);
        }
        insta::assert_snapshot!(view.panel(Style::Plain, (100, 24)), @r"
        1:39 · watching · until Ctrl-C
        db
          pg_statement_time 42 SELECT somethin…  –             ▁
        web
          cpu                                    2.00 cores    ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁
          go_goroutines                          –             ▁
        ");
    }
}
