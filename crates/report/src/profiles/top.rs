//! The table of functions.

use ::profile::{Kind, Row, Sort, Top};

use super::table::aligned;
use super::{TOO_FEW, amount, counted, emptiness, is_too_few, percent};
use crate::number;
use crate::terminal::line::visible;

/// The functions of a profile as text, each number under its head.
pub fn top(top: &Top) -> String {
    let mut text = heading(top);
    if let Some(words) = emptiness(top.kind, top.sampling) {
        text.push_str(&format!("{words}\n"));
    }
    if top.rows.is_empty() {
        return text;
    }
    let total = top.total as f64;
    let shown: i64 = top.rows.iter().fold(0, |sum, row| sum.saturating_add(row.flat));
    text.push_str(&format!(
        "{} of {} functions, by {}; their own values are {} of the total\n",
        top.rows.len(),
        top.functions,
        if top.sort == Sort::Flat {
            "what they cost themselves"
        } else {
            "what they cost with what they call"
        },
        percent(shown as f64, total),
    ));
    if top.dropped > 0 {
        text.push_str(&format!("{} functions with a small share are left out\n", top.dropped));
    }
    if top.negative < 0 {
        let negative = amount(top.negative as f64, &top.sample_type);
        text.push_str(&format!("{negative} of it are stacks below zero: less than at the start\n"));
    }
    text.push('\n');
    let mut sum = 0_i64;
    let rows: Vec<Vec<String>> = top
        .rows
        .iter()
        .map(|row| {
            sum = sum.saturating_add(row.flat);
            vec![
                amount(row.flat as f64, &top.sample_type),
                percent(row.flat as f64, total),
                percent(sum as f64, total),
                amount(row.cumulative as f64, &top.sample_type),
                percent(row.cumulative as f64, total),
                row.samples.map_or_else(|| number::NOT_MEASURED.to_owned(), |count| format!("{count:.0}")),
                named(top, row),
            ]
        })
        .collect();
    text.push_str(&aligned(&["flat", "flat %", "sum %", "cum", "cum %", "samples", "function"], &rows));
    if top.rows.iter().any(|row| is_too_few(top.kind, row)) {
        let least = top.kind.least_samples();
        text.push_str(&format!(
            "\n[{TOO_FEW}]: fewer than {least} say where to look, and no more (rule Q8)\n"
        ));
    }
    text
}

/// The function's name, with what to know of it.
fn named(top: &Top, row: &Row) -> String {
    let name = visible(&row.name);
    if is_too_few(top.kind, row) { format!("{name} [{TOO_FEW}]") } else { name }
}

/// What was measured, how much of it, and how long.
fn heading(top: &Top) -> String {
    let mut text =
        format!("{}: {} in all", counted(&top.sample_type), amount(top.total as f64, &top.sample_type));
    if let Some(samples) = top.samples.filter(|_| top.kind != Kind::State) {
        let least = if top.kind == Kind::Contention { "at most " } else { "" };
        text.push_str(&format!(", from {least}{} samples", number::plain(samples.round())));
    }
    if top.duration_ns > 0 {
        let seconds = top.duration_ns as f64 / 1e9;
        text.push_str(&format!(", over {}", number::time(seconds * 1e3)));
        if top.kind == Kind::Cpu && top.sample_type.unit == "nanoseconds" {
            let cores = top.total as f64 / top.duration_ns as f64;
            text.push_str(&format!(": {} of a core", percent(cores, 1.0)));
        }
    } else if top.kind.accumulates() {
        text.push_str(", since the process began");
    }
    text + "\n"
}
