//! The output of `go tool pprof -top`, as numbers.

use std::path::Path;

use peers::go::Toolchain;

/// A line of its table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OracleRow {
    pub(crate) flat: i64,
    pub(crate) flat_share: String,
    pub(crate) cumulative: i64,
    pub(crate) cumulative_share: String,
    pub(crate) name: String,
}

/// Its table and the lines above it.
#[derive(Debug)]
pub(crate) struct OracleTop {
    pub(crate) total: i64,
    pub(crate) sample_type: String,
    pub(crate) dropped: usize,
    pub(crate) rows: Vec<OracleRow>,
}

/// The top 20 of `file` with further arguments.
pub(crate) fn oracle_top(unit: &str, arguments: &[&str], file: &Path) -> OracleTop {
    let mut all = vec!["-top".to_owned(), "-nodecount=20".to_owned()];
    match unit {
        "nanoseconds" => all.push("-unit=ns".to_owned()),
        "bytes" => all.push("-unit=B".to_owned()),
        _ => {}
    }
    all.extend(arguments.iter().map(|argument| (*argument).to_owned()));
    all.push(file.display().to_string());
    parse(&Toolchain::find().unwrap().pprof(&all).unwrap())
}

fn parse(text: &str) -> OracleTop {
    let mut top = OracleTop { total: 0, sample_type: String::new(), dropped: 0, rows: Vec::new() };
    let mut lines = text.lines();
    for line in lines.by_ref() {
        if let Some(name) = line.strip_prefix("Type: ") {
            top.sample_type = name.to_owned();
        } else if let Some(rest) = line.strip_prefix("Dropped ") {
            top.dropped = rest.split(' ').next().unwrap().parse().unwrap();
        } else if line.starts_with("Showing nodes accounting for ") {
            let (before, _) = line.rsplit_once(" total").unwrap();
            top.total = number(before.rsplit(' ').next().unwrap());
        } else if line.trim_start().starts_with("flat ") {
            break;
        }
    }
    for line in lines {
        let line = line.trim_end_matches(" (inline)").trim_end_matches(" (partial-inline)").trim();
        let mut words = line.split_whitespace();
        let mut next = || words.next().unwrap().to_owned();
        let [flat, flat_share, _sum, cumulative, cumulative_share] = std::array::from_fn(|_| next());
        let name = words.collect::<Vec<_>>().join(" ");
        top.rows.push(OracleRow {
            flat: number(&flat),
            flat_share,
            cumulative: number(&cumulative),
            cumulative_share,
            name,
        });
    }
    top
}

fn number(text: &str) -> i64 {
    text.trim_end_matches("ns")
        .trim_end_matches('B')
        .parse()
        .unwrap_or_else(|_| panic!("a whole number: {text}"))
}

/// A share as the oracle prints it.
pub(crate) fn share(value: i64, total: i64) -> String {
    let percent = if total == 0 { 0.0 } else { (value as f64 / total as f64).abs() * 100.0 };
    match percent {
        99.95..=100.05 => "100%".to_owned(),
        1.0.. => format!("{percent:.2}%"),
        _ => format!("{}%", two_significant(percent)),
    }
}

/// As C's `%.2g`.
fn two_significant(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let scientific = format!("{value:.1e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap();
    let exponent: i32 = exponent.parse().unwrap();
    let trimmed = |text: &str| {
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text.to_owned()
        }
    };
    if exponent < -4 {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}e{sign}{:02}", trimmed(mantissa), exponent.abs())
    } else {
        trimmed(&format!("{value:.*}", usize::try_from(1 - exponent).unwrap_or(0)))
    }
}
