//! The table of functions.

use ::profile::{Kind, Row, Sort, Top};
use evidence::TerminalText;

use super::table::aligned;
use super::{TOO_FEW, amount, empty_note, has_too_few_samples, type_and_unit};
use crate::number;
use crate::text::visible;

/// The functions of a profile as text.
pub fn top(top: &Top) -> TerminalText {
    let mut text = TerminalText::default();
    text.line(heading(top));
    if let Some(note) = empty_note(top.kind, top.sampling) {
        text.line(note);
    }
    if top.rows.is_empty() {
        return text;
    }
    let total = top.total as f64;
    let shown: i64 = top.rows.iter().fold(0, |sum, row| sum.saturating_add(row.flat));
    text.line(format_args!(
        "{} of {} functions, by {}; their flat values are {} of the total",
        top.rows.len(),
        top.functions,
        if top.sort == Sort::Flat { "flat value" } else { "cumulative value" },
        number::percent(shown as f64, total),
    ));
    if top.dropped > 0 {
        text.line(format_args!("{} functions with a small share are left out", top.dropped));
    }
    if top.negative < 0 {
        let negative = amount(top.negative as f64, &top.sample_type);
        text.line(format_args!("{negative} of it are negative stacks: less than at the start"));
    }
    text.line("");
    let mut sum = 0_i64;
    let rows: Vec<Vec<String>> = top
        .rows
        .iter()
        .map(|row| {
            sum = sum.saturating_add(row.flat);
            vec![
                amount(row.flat as f64, &top.sample_type),
                number::percent(row.flat as f64, total),
                number::percent(sum as f64, total),
                amount(row.cumulative as f64, &top.sample_type),
                number::percent(row.cumulative as f64, total),
                number::or_not_measured(row.samples, |count| number::plain(count.round())),
                named(top, row),
            ]
        })
        .collect();
    text.append(&aligned(&["flat", "flat %", "sum %", "cum", "cum %", "samples", "function"], &rows));
    if top.rows.iter().any(|row| has_too_few_samples(top.kind, row)) {
        let least = top.kind.least_samples();
        text.line("").line(format_args!(
            "[{TOO_FEW}]: fewer than {least}; they show where to look, nothing more (rule Q8)"
        ));
    }
    text
}

/// The function's name, marked if it has too few samples.
fn named(top: &Top, row: &Row) -> String {
    let name = visible(&row.name);
    if has_too_few_samples(top.kind, row) { format!("{name} [{TOO_FEW}]") } else { name }
}

/// The sample type, the total, the number of samples and the duration.
fn heading(top: &Top) -> String {
    let mut text =
        format!("{}: {} in all", type_and_unit(&top.sample_type), amount(top.total as f64, &top.sample_type));
    if let Some(samples) = top.samples.filter(|_| top.kind != Kind::State) {
        let least = if top.kind == Kind::Contention { "at most " } else { "" };
        text.push_str(&format!(", from {least}{} samples", number::plain(samples.round())));
    }
    if top.duration_ns > 0 {
        let seconds = top.duration_ns as f64 / 1e9;
        text.push_str(&format!(", over {}", number::time(seconds * 1e3)));
        if top.kind == Kind::Cpu && top.sample_type.unit == "nanoseconds" {
            let cores = top.total as f64 / top.duration_ns as f64;
            text.push_str(&format!(": {} of a core", number::percent(cores, 1.0)));
        }
    } else if top.kind.accumulates() {
        text.push_str(", since the process started");
    }
    text
}
