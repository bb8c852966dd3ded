//! The summary that k6 showed before version 1, and that `textSummary` of its library still makes.

use std::fmt::Write;

use super::data::{Check, Group, SummaryData};
use super::order;
use super::table::{self, Colours, Row, TableStyle, good_or_bad, tick};

/// The text of `--summary-mode=legacy`, as k6 writes it to standard output.
pub(super) fn legacy(data: &SummaryData, colours: Colours) -> String {
    format!("\n{}\n\n", legacy_text(data, " ", colours))
}

/// The text that `textSummary` of k6's library makes, every line after `indent`.
pub(super) fn legacy_text(data: &SummaryData, indent: &str, colours: Colours) -> String {
    let mut lines = Vec::new();
    add_group(&mut lines, &data.root, &format!("{indent}    "), colours);
    add_metrics(&mut lines, data, indent, colours);
    lines.join("\n")
}

fn add_group(lines: &mut Vec<String>, group: &Group, indent: &str, colours: Colours) {
    let mut inner = indent.to_owned();
    if !group.name.is_empty() {
        lines.extend([format!("{indent}█ {}", group.name), String::new()]);
        inner.push_str("  ");
    }
    lines.extend(group.checks.iter().map(|check| check_text(check, &inner, colours)));
    if !group.checks.is_empty() {
        lines.push(String::new());
    }
    for within in &group.groups {
        add_group(lines, within, &inner, colours);
    }
}

fn check_text(check: &Check, indent: &str, colours: Colours) -> String {
    let ok = check.fails == 0;
    let mut text = format!("{indent}{} {}", tick(ok), check.name);
    if !ok {
        let _ = write!(text, "\n{indent} {}", counts(check));
    }
    colours.paint(good_or_bad(ok), &text)
}

/// How often a check passed and failed.
pub(super) fn counts(check: &Check) -> String {
    let share = 100 * check.passes / (check.passes + check.fails).max(1);
    format!("↳  {share}% — ✓ {} / ✗ {}", check.passes, check.fails)
}

fn add_metrics(lines: &mut Vec<String>, data: &SummaryData, indent: &str, colours: Colours) {
    let style = TableStyle {
        colours,
        dots: "2",
        aside: "36;2",
        unit: data.options.time_unit,
        trend_stats: &data.options.trend_stats,
    };
    let names = order::ordered(data.total.metrics.keys().map(String::as_str));
    let rows: Vec<Row<'_>> = names
        .iter()
        .map(|name| Row { label: table::label(name), metric: &data.total.metrics[*name] })
        .collect();
    let texts = table::lines(&rows, style);
    lines.extend(names.iter().zip(&rows).zip(texts).map(|((name, row), text)| {
        let thresholds = &row.metric.thresholds;
        let mark = if thresholds.is_empty() {
            " ".to_owned()
        } else {
            colours.mark(thresholds.iter().all(|threshold| threshold.ok))
        };
        let deeper = if order::is_part(name) { "  " } else { "" };
        format!("{indent}  {deeper}{mark} {text}")
    }));
}
