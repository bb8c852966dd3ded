//! Numbers as reports show them: read back with their unit, and compared within half a unit of the last digit shown.

use std::collections::BTreeMap;

/// What a report should show somewhere.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expected {
    /// A number, in the base unit of its dimension: ms, bytes, shares from 0 to 1; else as it is.
    Number(f64),
    /// A quantile in ms that is rough: marked with `~`.
    Rough(f64),
    /// A quantile in ms, somewhere in its bucket.
    Between(f64, f64),
    /// No number: not measured, not known, or not finite.
    Missing,
    Text(String),
}

impl Expected {
    /// A number that may be missing.
    pub(crate) fn of(value: Option<f64>) -> Expected {
        value.map_or(Expected::Missing, Expected::Number)
    }
}

/// What is shown, or should be, by what it is about.
pub(crate) type Numbers = BTreeMap<String, Expected>;

/// What is shown where there is no number.
const MISSING: [&str; 4] = ["–", "not known", "∞", ""];

/// Units, and what one of them is in the base unit.
const UNITS: [(&str, f64); 18] = [
    ("ns", 1e-6),
    ("µs", 1e-3),
    ("ms", 1.0),
    ("s", 1e3),
    ("%", 0.01),
    ("/s", 1.0),
    ("B", 1.0),
    ("KiB", 1_024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
    ("bytes/s", 1.0),
    ("cores", 1.0),
    ("CPU-s", 1.0),
    ("Hz", 1.0),
    ("s/s", 1.0),
    ("1/s", 1.0),
    ("", 1.0),
];

/// Every number lies in this range of the value that is shown.
#[derive(Debug, PartialEq)]
struct Range {
    low: f64,
    high: f64,
}

/// The range of numbers that are shown so; none for a text that is not a number.
fn range_of(text: &str) -> Option<Range> {
    let (bound, text) = match text.split_at_checked(1)? {
        (sign @ ("<" | ">"), rest) => (Some(sign), rest),
        _ => (None, text),
    };
    let end = text.find(|c: char| !matches!(c, '0'..='9' | ',' | '.' | '-')).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let (_, scale) = UNITS.iter().find(|(name, _)| *name == unit.trim())?;
    let value: f64 = digits.replace(',', "").parse().ok()?;
    let decimals = digits.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let half = 0.5 / 10f64.powi(i32::try_from(decimals).unwrap());
    Some(match bound {
        Some("<") => Range { low: 0.0, high: value * scale },
        Some(_) => Range { low: value * scale, high: f64::INFINITY },
        None => Range { low: (value - half) * scale, high: (value + half) * scale },
    })
}

/// Why `text` does not show what is expected.
pub(crate) fn disagreement(text: &str, expected: &Expected) -> Option<String> {
    let (is_marked, number) = text.strip_prefix('~').map_or((false, text), |rest| (true, rest));
    let value = match expected {
        Expected::Text(expected) => {
            return (text != expected).then(|| format!("shows `{text}`, not `{expected}`"));
        }
        Expected::Missing => {
            return (!MISSING.contains(&text)).then(|| format!("shows `{text}` where there is no number"));
        }
        Expected::Between(low, high) => {
            let overlaps = range_of(number).is_some_and(|range| range.low <= *high && *low <= range.high);
            return (!overlaps).then(|| format!("shows `{text}`, not between {low} and {high}"));
        }
        Expected::Number(value) | Expected::Rough(value) => *value,
    };
    let Some(Range { low, high }) = range_of(number) else {
        return Some(format!("shows `{text}`, not {value}"));
    };
    let slack = 1e-9 * value.abs();
    if value < low - slack || value > high + slack {
        return Some(format!("shows `{text}`, not {value}"));
    }
    let is_rough = matches!(expected, Expected::Rough(_));
    (is_marked != is_rough).then(|| format!("shows `{text}`; it is rough: {is_rough}"))
}

/// Why two readers of the run do not give the same number.
pub(crate) fn difference(one: &Expected, other: &Expected) -> Option<String> {
    use Expected::{Between, Number, Rough};
    let slack = |value: f64| 1e-9 * value.abs().max(1e-9);
    let is_same = match (one, other) {
        (Number(a) | Rough(a), Number(b)) => (a - b).abs() <= slack(*a),
        (Number(a) | Rough(a), Between(low, high)) => *a >= low - slack(*a) && *a <= high + slack(*a),
        (one, other) => one == other,
    };
    (!is_same).then(|| format!("{one:?} is not {other:?}"))
}

#[test]
fn a_number_is_compared_within_its_last_digit() {
    let shows = |text: &str, value: f64| disagreement(text, &Expected::Number(value)).is_none();
    assert!(shows("9.01 ms", 9.0149) && !shows("9.01 ms", 9.0151) && !shows("9.01 ms", 9.0049));
    assert!(shows("45 µs", 0.0451) && shows("1.23 s", 1_234.0) && shows("1,234", 1_234.0));
    assert!(!shows("1,234", 1_235.0) && shows("14.2 %", 0.1415) && !shows("14.2 %", 0.1425 + 1e-6));
    assert!(shows("<0.01 %", 0.000_09) && !shows("<0.01 %", 0.000_11) && shows(">99.99 %", 0.999_99));
    assert!(shows("1.97 KiB", 2_014.0) && shows("60.00/s", 60.0) && !shows("60.00/s", 60.006));
    assert!(!shows("12 parsecs", 12.0) && !shows("–", 0.0) && !shows("~9.01 ms", 9.01));
    assert_eq!(disagreement("~9.01 ms", &Expected::Rough(9.01)), None);
    assert_eq!(disagreement("–", &Expected::Missing), None);
    assert!(disagreement("0", &Expected::Missing).is_some());
}
