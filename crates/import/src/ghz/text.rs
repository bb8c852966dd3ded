//! What ghz prints: `Summary:` and the distributions below it.

use std::io::BufRead;

use super::{CallFigures, TimedCalls};
use crate::ImportError;
use crate::event::Receive;
use crate::figure::Quantity;
use crate::lines::{LineError, Reading, for_each_line};
use crate::parse::quoted;

/// Times have two decimals: half of 0.01 in 1.00 s.
const ROUNDING: f64 = 0.005;

/// The section of the text that a line belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Before,
    Summary,
    Histogram,
    Latencies,
    Statuses,
    Errors,
    Other,
}

/// A figure of the text: its name, what it is, its value.
struct TextFigure {
    name: String,
    quantity: Quantity,
    value: f64,
}

impl TextFigure {
    fn new(name: impl Into<String>, quantity: Quantity, value: f64) -> TextFigure {
        TextFigure { name: name.into(), quantity, value }
    }
}

pub(crate) fn read(input: &mut dyn BufRead, receiver: &mut dyn Receive) -> Result<Reading, ImportError> {
    let mut section = Section::Before;
    let mut figures = CallFigures::default();
    let reading = for_each_line(input, |line| {
        let line = std::str::from_utf8(line).map_err(|_| LineError::from("not UTF-8"))?;
        let is_head = !line.starts_with([' ', '\t']);
        match line.trim() {
            "Summary:" => section = Section::Summary,
            "Latency distribution:" => section = Section::Latencies,
            "Status code distribution:" => section = Section::Statuses,
            "Response time histogram:" => section = Section::Histogram,
            "Error distribution:" => section = Section::Errors,
            head if is_head && head.ends_with(':') => section = Section::Other,
            text => {
                let figure = match section {
                    Section::Summary => summary(text)?,
                    Section::Latencies => Some(latency(text)?),
                    Section::Statuses => Some(status(text)?),
                    Section::Histogram => {
                        let count = bracketed(text)?;
                        figures.histogram = Some(figures.histogram.unwrap_or(0) + count);
                        None
                    }
                    Section::Errors => {
                        figures.errors = Some(figures.errors.unwrap_or(0) + bracketed(text)?);
                        None
                    }
                    Section::Before | Section::Other => None,
                };
                if let Some(figure) = figure {
                    figures.put(&figure.name, figure.quantity, Some(figure.value), receiver)?;
                }
            }
        }
        Ok(())
    })?;
    if section == Section::Before {
        return Err(ImportError::Refused("has no `Summary:`, which ghz prints".to_owned()));
    }
    figures.summarise(TimedCalls::Successes, ROUNDING, receiver)?;
    Ok(reading)
}

/// `Average: 2.83 ms`.
fn summary(text: &str) -> Result<Option<TextFigure>, LineError> {
    let Some((name, value)) = text.split_once(':') else { return Err("a line without a colon".into()) };
    let value = value.trim();
    Ok(Some(match name {
        "Count" => TextFigure::new("count", Quantity::Count, number(value)?),
        "Requests/sec" => TextFigure::new("rate", Quantity::Rate, number(value)?),
        "Slowest" => TextFigure::new("max", Quantity::Time, ms(value)?),
        "Fastest" => TextFigure::new("min", Quantity::Time, ms(value)?),
        "Average" => TextFigure::new("avg", Quantity::Time, ms(value)?),
        "Total" => TextFigure::new("total time", Quantity::Time, ms(value)?),
        _ => return Ok(None),
    }))
}

/// `95 % in 3.02 ms`.
fn latency(text: &str) -> Result<TextFigure, LineError> {
    let (percent, value) = text.split_once("% in ").ok_or_else(|| LineError::from("no percentile"))?;
    Ok(TextFigure::new(format!("p{}", number(percent.trim())?), Quantity::Time, ms(value.trim())?))
}

/// `[OK]   60 responses`.
fn status(text: &str) -> Result<TextFigure, LineError> {
    let (name, count) = text
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
        .ok_or_else(|| LineError::from("no status in brackets"))?;
    let count = count.trim().strip_suffix("responses").unwrap_or_default().trim();
    Ok(TextFigure::new(format!("status {name}"), Quantity::Count, number(count)?))
}

/// The count in `0.010 [1321] |∎∎∎` or `[2] rpc error`.
fn bracketed(text: &str) -> Result<u64, LineError> {
    let count = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    let count = count.and_then(|(count, _)| count.trim().parse().ok());
    count.ok_or_else(|| LineError::from("no count in brackets"))
}

/// A number, or Go's `NaN`, which is named with its figure.
fn number(text: &str) -> Result<f64, LineError> {
    text.parse().map_err(|_| LineError::Malformed(format!("{} is not a number", quoted(text))))
}

/// A time with its unit, in milliseconds.
fn ms(text: &str) -> Result<f64, LineError> {
    let (value, unit) = text.split_once(' ').ok_or_else(|| LineError::from("a time without a unit"))?;
    let factor = match unit.trim() {
        "ns" => 1e-6,
        "us" | "µs" => 1e-3,
        "ms" => 1.0,
        "s" => 1e3,
        "m" | "min" => 6e4,
        "h" => 3.6e6,
        _ => return Err("a time in an unknown unit".into()),
    };
    Ok(number(value)? * factor)
}
