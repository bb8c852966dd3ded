//! Numbers as k6 shows them: as JavaScript writes them, durations, bytes, shares; and as Go writes them in output files.

/// From here on JavaScript writes an exponent, and `toFixed` does not round.
const EXPONENT_FROM: f64 = 1e21;
/// Names of the powers of 1000 bytes.
const BYTE_UNITS: [&str; 9] = ["B", "kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"];
/// One minute in milliseconds.
const MINUTE_MS: f64 = 60_000.0;

/// The unit that durations are shown in, where one is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    Seconds,
    Milliseconds,
    Microseconds,
}

impl TimeUnit {
    /// Name as an option, name as a suffix, how many of it are a millisecond.
    const ALL: [(TimeUnit, &'static str, &'static str, f64); 3] = [
        (TimeUnit::Seconds, "s", "s", 0.001),
        (TimeUnit::Milliseconds, "ms", "ms", 1.0),
        (TimeUnit::Microseconds, "us", "µs", 1000.0),
    ];

    /// The unit that `summaryTimeUnit` names (`s`, `ms`, `us`); none for any other text.
    #[must_use]
    pub fn from_name(name: &str) -> Option<TimeUnit> {
        Self::ALL.iter().find(|(_, option, _, _)| *option == name).map(|(unit, ..)| *unit)
    }

    /// What `summaryTimeUnit` calls it.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().1
    }

    fn row(self) -> &'static (TimeUnit, &'static str, &'static str, f64) {
        let row = Self::ALL.iter().find(|(unit, ..)| *unit == self);
        row.expect("every unit has a row")
    }
}

/// A number as JavaScript's `String(value)` writes it.
#[must_use]
pub fn javascript(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || (1e-6..EXPONENT_FROM).contains(&size) {
        return positive_zero(value).to_string();
    }
    if !value.is_finite() {
        return format!("{value}").replace("inf", "Infinity");
    }
    let (digits, exponent) = digits_and_exponent(value);
    format!("{digits}e{exponent:+}")
}

/// A number as Go's `strconv` writes it with `g`, which is what the lines of `-o json` have.
#[must_use]
pub fn go(value: f64) -> String {
    let (digits, exponent) = digits_and_exponent(value);
    if value == 0.0 || !value.is_finite() || (-4..6).contains(&exponent) {
        return value.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

/// JavaScript writes no sign before zero.
fn positive_zero(value: f64) -> f64 {
    if value == 0.0 { 0.0 } else { value }
}

/// The fewest digits that are this number, the point after the first, and the power of ten that they are multiplied by.
fn digits_and_exponent(value: f64) -> (String, i32) {
    let text = format!("{value:e}");
    let parts = text.split_once('e').map(|(digits, exponent)| (digits.to_owned(), exponent.parse()));
    match parts {
        Some((digits, Ok(exponent))) => (digits, exponent),
        _ => (text, 0),
    }
}

/// A number with so many digits after the point, halves away from zero, as JavaScript's `toFixed` writes it.
#[must_use]
pub fn fixed(value: f64, digits: usize) -> String {
    if !value.is_finite() || value.abs() >= EXPONENT_FROM {
        return javascript(value);
    }
    let value = positive_zero(value);
    // Rust rounds exact halves to the even digit. A half has one binary digit more than decimal ones are kept.
    let doubled = value * 2_f64.powi(digits as i32 + 1);
    let longer = format!("{value:.*}", digits + 1);
    let is_half = doubled.fract() == 0.0 && longer.ends_with('5');
    let rounded = match is_half {
        true if value > 0.0 => value.next_up(),
        true => value.next_down(),
        false => value,
    };
    format!("{rounded:.digits$}")
}

/// The same without zeros at the end.
#[must_use]
pub fn rounded(value: f64, digits: usize) -> String {
    javascript(parsed(&fixed(value, digits)))
}

fn truncated(value: f64, digits: i32) -> String {
    let scale = 10_f64.powi(digits);
    rounded((value * scale).trunc() / scale, digits.unsigned_abs() as usize)
}

fn parsed(text: &str) -> f64 {
    text.parse().unwrap_or(f64::NAN)
}

/// A share from 0 to 1 as percents with two digits, the rest cut off: `66.66%`.
#[must_use]
pub fn share(value: f64) -> String {
    format!("{}%", fixed((value * 100.0 * 100.0).trunc() / 100.0, 2))
}

/// A number of bytes in powers of 1000: `9.3 kB`.
#[must_use]
pub fn bytes(count: f64) -> String {
    let exponent = (count.ln() / 1000_f64.ln()).floor();
    if exponent.is_nan() || count < 10.0 {
        return format!("{} B", javascript(count));
    }
    let unit = BYTE_UNITS.get(exponent as usize).copied().unwrap_or("undefined");
    let scaled = (count / 1000_f64.powf(exponent) * 10.0 + 0.5).floor() / 10.0;
    let digits = usize::from(scaled < 10.0);
    format!("{} {unit}", fixed(scaled, digits))
}

/// A duration in milliseconds, in `unit` or in what suits its size: `1.5µs`, `2.25ms`, `1m5s`. Negative ones are shown in
/// nanoseconds, as k6 does.
#[must_use]
pub fn duration(ms: f64, unit: Option<TimeUnit>) -> String {
    if let Some(unit) = unit {
        let (_, _, suffix, per_ms) = unit.row();
        return format!("{}{suffix}", fixed(ms * per_ms, 2));
    }
    if ms == 0.0 {
        return "0s".to_owned();
    }
    if ms < 0.001 {
        return format!("{}ns", javascript((ms * 1e6).trunc()));
    }
    if ms < 1.0 {
        return format!("{}µs", truncated(ms * 1000.0, 2));
    }
    if ms < 1000.0 {
        return format!("{}ms", truncated(ms, 2));
    }
    let minutes = (ms / MINUTE_MS).trunc();
    let seconds = truncated((ms % MINUTE_MS) / 1000.0, if minutes < 1.0 { 2 } else { 0 });
    if minutes < 1.0 {
        return format!("{seconds}s");
    }
    let hours = (minutes / 60.0).trunc();
    let rest = format!("{}m{seconds}s", javascript(minutes % 60.0));
    if hours < 1.0 { rest } else { format!("{}h{rest}", javascript(hours)) }
}

#[cfg(test)]
mod tests;
