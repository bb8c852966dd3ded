//! What ghz prints: `Summary:` and the distributions below it.

use std::io::BufRead;

use super::figure;
use crate::ImportError;
use crate::event::{Event, Receive};
use crate::lines::{Fault, Reading, each};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Before,
    Summary,
    Latencies,
    Statuses,
    Other,
}

pub(crate) fn read(input: &mut dyn BufRead, receiver: &mut dyn Receive) -> Result<Reading, ImportError> {
    let mut part = Part::Before;
    let reading = each(input, |line| {
        let line = std::str::from_utf8(line).map_err(|_| Fault::from("not UTF-8"))?;
        let is_head = !line.starts_with([' ', '\t']);
        match line.trim() {
            "Summary:" => part = Part::Summary,
            "Latency distribution:" => part = Part::Latencies,
            "Status code distribution:" => part = Part::Statuses,
            head if is_head && head.ends_with(':') => part = Part::Other,
            text => {
                let figure = match part {
                    Part::Summary => summary(text)?,
                    Part::Latencies => Some(latency(text)?),
                    Part::Statuses => Some(status(text)?),
                    Part::Before | Part::Other => None,
                };
                if let Some((name, value, unit)) = figure {
                    receiver.receive(Event::Figure(figure_of(&name, value, unit)))?;
                }
            }
        }
        Ok(())
    })?;
    if part == Part::Before {
        return Err(ImportError::Refused("has no `Summary:`, as ghz prints it".to_owned()));
    }
    Ok(reading)
}

fn figure_of(name: &str, value: f64, unit: &str) -> evidence::SourceFigure {
    figure(name, value, unit)
}

type Found = (String, f64, &'static str);

/// `Average: 2.83 ms`.
fn summary(text: &str) -> Result<Option<Found>, Fault> {
    let Some((name, value)) = text.split_once(':') else { return Err("a line without a colon".into()) };
    let value = value.trim();
    Ok(Some(match name {
        "Count" => ("count".to_owned(), number(value)?, "1"),
        "Requests/sec" => ("rate".to_owned(), number(value)?, "1/s"),
        "Slowest" => ("max".to_owned(), ms(value)?, "ms"),
        "Fastest" => ("min".to_owned(), ms(value)?, "ms"),
        "Average" => ("avg".to_owned(), ms(value)?, "ms"),
        "Total" => ("total time".to_owned(), ms(value)?, "ms"),
        _ => return Ok(None),
    }))
}

/// `95 % in 3.02 ms`.
fn latency(text: &str) -> Result<Found, Fault> {
    let (percent, value) = text.split_once("% in ").ok_or_else(|| Fault::from("no percentile"))?;
    Ok((format!("p{}", number(percent.trim())?), ms(value.trim())?, "ms"))
}

/// `[OK]   60 responses`.
fn status(text: &str) -> Result<Found, Fault> {
    let (name, count) = text
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
        .ok_or_else(|| Fault::from("no status in brackets"))?;
    let count = count.trim().strip_suffix("responses").unwrap_or_default().trim();
    Ok((format!("status {name}"), number(count)?, "1"))
}

fn number(text: &str) -> Result<f64, Fault> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(Fault::Malformed(format!("`{}` is no number", text.chars().take(40).collect::<String>()))),
    }
}

/// A time with its unit, in milliseconds.
fn ms(text: &str) -> Result<f64, Fault> {
    let (value, unit) = text.split_once(' ').ok_or_else(|| Fault::from("a time without a unit"))?;
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
