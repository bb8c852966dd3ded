//! Metrics as lines with aligned columns.

use std::fmt::Write;

use evidence::metric::MetricKind;

use super::data::{Contains, SummaryMetric};
use super::number::{self, TimeUnit};
use super::order;

/// Whether text has the escapes of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    On,
    /// It is plain.
    Off,
}

impl Colours {
    /// The text in a style, by the parameters of the escape.
    pub(super) fn paint(self, style: &str, text: &str) -> String {
        match self {
            Colours::On => format!("\x1b[{style}m{text}\x1b[0m"),
            Colours::Off => text.to_owned(),
        }
    }

    /// The mark of what is right and what is not, in green and red.
    pub(super) fn mark(self, ok: bool) -> String {
        self.paint(good_or_bad(ok), tick(ok))
    }
}

/// Green or red.
pub(super) fn good_or_bad(ok: bool) -> &'static str {
    if ok { "32" } else { "31" }
}

pub(super) fn tick(ok: bool) -> &'static str {
    if ok { "✓" } else { "✗" }
}

/// The style of values.
pub(super) const VALUE: &str = "36";

/// How lines of metrics look.
#[derive(Debug, Clone, Copy)]
pub(super) struct TableStyle<'a> {
    pub(super) colours: Colours,
    /// The style of the dots after a name.
    pub(super) dots: &'static str,
    /// The style of what follows the first value.
    pub(super) aside: &'static str,
    pub(super) unit: Option<TimeUnit>,
    /// The values of trends, in their order.
    pub(super) trend_stats: &'a [String],
}

/// One line: a name, which may begin with spaces, and its metric.
pub(super) struct Row<'a> {
    pub(super) label: String,
    pub(super) metric: &'a SummaryMetric,
}

/// What a metric is called in its line: its name, or the tags of a part after two spaces.
pub(super) fn label(name: &str) -> String {
    match order::divided(name) {
        (_, "") => name.to_owned(),
        (_, part) => format!("  {{ {} }}", part.trim_start_matches('{').trim_end_matches('}')),
    }
}

/// The lines of all rows, without what precedes the names, whose spaces at their begin are left out.
pub(super) fn lines(rows: &[Row<'_>], style: TableStyle<'_>) -> Vec<String> {
    let cells: Vec<Cells> = rows.iter().map(|row| Cells::of(row.metric, style)).collect();
    let label_width = rows.iter().map(|row| width(&row.label)).max().unwrap_or(0);
    let trends = column_widths(cells.iter().filter_map(Cells::trend_texts));
    let values = column_widths(cells.iter().filter_map(Cells::value_texts));
    let lines = rows.iter().zip(&cells).map(|(row, cells)| {
        let dots = ".".repeat(label_width - width(&row.label) + 3) + ":";
        let name = row.label.trim_start();
        let values = match cells {
            Cells::Trend(stats) => trend_line(stats, &trends, style),
            Cells::Values(texts) => values_line(texts, &values, style),
        };
        format!("{name}{} {values}", style.colours.paint(style.dots, &dots))
    });
    lines.collect()
}

/// The values of one metric as texts.
enum Cells {
    /// Names and values.
    Trend(Vec<(String, String)>),
    /// The value, and what is said beside it.
    Values(Vec<String>),
}

impl Cells {
    fn of(metric: &SummaryMetric, style: TableStyle<'_>) -> Cells {
        let text = |name: &str| shown(metric, name, style.unit);
        match metric.kind {
            MetricKind::Trend => {
                Cells::Trend(style.trend_stats.iter().map(|stat| (stat.clone(), text(stat))).collect())
            }
            MetricKind::Counter => Cells::Values(vec![text("count"), text("rate")]),
            MetricKind::Gauge => Cells::Values(vec![
                text("value"),
                format!("min={}", text("min")),
                format!("max={}", text("max")),
            ]),
            MetricKind::Rate => {
                let passes = metric.value("passes");
                let [some, all] = [passes, passes + metric.value("fails")].map(number::javascript);
                Cells::Values(vec![text("rate"), format!("{some} out of {all}")])
            }
        }
    }

    fn trend_texts(&self) -> Option<Vec<&str>> {
        match self {
            Cells::Trend(stats) => Some(stats.iter().map(|(_, text)| text.as_str()).collect()),
            Cells::Values(_) => None,
        }
    }

    fn value_texts(&self) -> Option<Vec<&str>> {
        match self {
            Cells::Trend(_) => None,
            Cells::Values(texts) => Some(texts.iter().map(String::as_str).collect()),
        }
    }
}

/// A value of a metric as it is shown.
pub(super) fn shown(metric: &SummaryMetric, name: &str, unit: Option<TimeUnit>) -> String {
    let value = metric.value(name);
    let text = match (metric.kind, metric.contains) {
        (MetricKind::Trend, _) if name == "count" => number::javascript(value),
        (MetricKind::Rate, _) => number::share(value),
        (_, Contains::Default) => number::rounded(value, 6),
        (_, Contains::Time) => number::duration(value, unit),
        (_, Contains::Data) => number::bytes(value),
    };
    match (metric.kind, name) {
        (MetricKind::Counter, "rate") => text + "/s",
        _ => text,
    }
}

fn trend_line(stats: &[(String, String)], widths: &[usize], style: TableStyle<'_>) -> String {
    let parts = stats.iter().zip(widths).map(|((name, text), column)| {
        format!("{name}={}{}", style.colours.paint(VALUE, text), padding(text, *column))
    });
    parts.collect::<Vec<_>>().join(" ")
}

fn values_line(texts: &[String], widths: &[usize], style: TableStyle<'_>) -> String {
    let [value, asides @ ..] = texts else { return String::new() };
    let [column, columns @ ..] = widths else { return String::new() };
    let mut line = style.colours.paint(VALUE, value) + &padding(value, *column);
    for (aside, column) in asides.iter().zip(columns) {
        // One alone is the end of its line.
        let padding = if asides.len() > 1 { padding(aside, *column) } else { String::new() };
        let _ = write!(line, " {}{padding}", style.colours.paint(style.aside, aside));
    }
    line
}

fn column_widths<'a>(rows: impl Iterator<Item = Vec<&'a str>>) -> Vec<usize> {
    rows.fold(Vec::new(), |mut widths, texts| {
        widths.resize(widths.len().max(texts.len()), 0);
        for (column, text) in widths.iter_mut().zip(texts) {
            *column = (*column).max(width(text));
        }
        widths
    })
}

fn padding(text: &str, column: usize) -> String {
    " ".repeat(column.saturating_sub(width(text)))
}

fn width(text: &str) -> usize {
    text.chars().count()
}
