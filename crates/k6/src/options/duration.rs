//! Durations as k6 reads and writes them: those of Go, with days and with numbers of milliseconds.

use std::fmt;
use std::time::Duration;

/// The units of a duration, in nanoseconds; a unit that begins like another one comes before it.
const UNITS: [(&str, i64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", SECOND),
    ("m", 60 * SECOND),
    ("h", 3_600 * SECOND),
];
const SECOND: i64 = 1_000_000_000;
const DAY: i64 = 24 * 3_600 * SECOND;

/// A duration of an option, in nanoseconds; options may say a negative one, which is refused where it makes no sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct OptionDuration(pub i64);

impl OptionDuration {
    /// So many seconds.
    pub const fn from_secs(seconds: i64) -> OptionDuration {
        OptionDuration(seconds * SECOND)
    }

    /// A duration with units: `1m30s`, `500ms`, `1d2h`; or `0`.
    ///
    /// # Errors
    /// A message, if the text is not a duration or longer than 292 years.
    pub fn parse(text: &str) -> Result<OptionDuration, String> {
        let (sign, rest) = split_sign(text);
        // Days come first, whole, and only once.
        let (days, rest) = match rest.split_once('d') {
            Some((days, rest)) => (days.parse::<u32>().map_err(|_| malformed(text))?, rest),
            None if rest.is_empty() => return Err(malformed(text)),
            None => (0, rest),
        };
        let days = i64::from(days).checked_mul(DAY);
        let time = match rest {
            "" | "0" => Some(0),
            rest => sum_of_units(rest).map_err(|()| malformed(text))?,
        };
        let total = days.zip(time).and_then(|(days, time)| days.checked_add(time));
        let total = total.ok_or_else(|| format!("{text:?} is longer than 292 years"))?;
        Ok(OptionDuration(sign * total))
    }

    /// The same, or a number without unit, which is one of milliseconds.
    ///
    /// # Errors
    /// As [`OptionDuration::parse`].
    pub fn parse_or_millis(text: &str) -> Result<OptionDuration, String> {
        match text.parse::<f64>() {
            Ok(millis) => OptionDuration::from_millis(millis),
            Err(_) => OptionDuration::parse(text),
        }
    }

    /// So many milliseconds.
    ///
    /// # Errors
    /// A message, if that is longer than 292 years.
    pub fn from_millis(millis: f64) -> Result<OptionDuration, String> {
        let nanos = millis * 1e6;
        match nanos.abs() < i64::MAX as f64 {
            true => Ok(OptionDuration(nanos as i64)),
            false => Err(format!("{millis} ms is longer than 292 years")),
        }
    }

    /// How many a second there are, if there are so many in each of these durations.
    pub(super) fn rate_of(self, count: i64) -> f64 {
        count as f64 * SECOND as f64 / self.0 as f64
    }

    /// The duration, where it is not negative.
    pub fn unsigned(self) -> Option<Duration> {
        u64::try_from(self.0).ok().map(Duration::from_nanos)
    }
}

fn split_sign(text: &str) -> (i64, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    }
}

fn malformed(text: &str) -> String {
    format!("{text:?} is not a duration; write a number with a unit, such as \"500ms\", \"10s\", \"1m30s\"")
}

/// The sum of numbers with units; none if it overflows.
///
/// # Errors
/// If the text is something else.
fn sum_of_units(text: &str) -> Result<Option<i64>, ()> {
    let mut sum = Some(0i64);
    let mut rest = text;
    loop {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or(())?;
        let (number, after) = rest.split_at(end);
        let (unit, nanos) = UNITS
            .iter()
            .filter(|(unit, _)| after.starts_with(unit))
            .max_by_key(|(unit, _)| unit.len())
            .ok_or(())?;
        sum = sum.zip(times(number, *nanos)?).and_then(|(sum, part)| sum.checked_add(part));
        rest = &after[unit.len()..];
        if rest.is_empty() {
            return Ok(sum);
        }
    }
}

/// A decimal number of units in nanoseconds, rounded down; none if it overflows.
///
/// # Errors
/// If the text is not a decimal number.
fn times(number: &str, unit: i64) -> Result<Option<i64>, ()> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return Err(());
    }
    // More digits than these are less than a nanosecond of the longest unit.
    let fraction = &fraction[..fraction.len().min(18)];
    let digits = |text: &str| if text.is_empty() { Some(0) } else { text.parse::<i64>().ok() };
    let part = i128::from(digits(fraction).ok_or(())?) * i128::from(unit) / 10i128.pow(fraction.len() as u32);
    let whole = digits(whole).and_then(|whole| whole.checked_mul(unit));
    Ok(whole.and_then(|whole| whole.checked_add(i64::try_from(part).ok()?)))
}

/// As Go writes durations: `1m30s`, `1h0m0.5s`, `500ms`, `0s`.
impl fmt::Display for OptionDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let total = self.0.unsigned_abs();
        let sign = if self.0 < 0 { "-" } else { "" };
        let second = SECOND.unsigned_abs();
        if total == 0 {
            return f.write_str("0s");
        }
        if total < second {
            let small = [(1_000_000, "ms"), (1_000, "µs"), (1, "ns")];
            let (unit, name) = small.into_iter().find(|(unit, _)| total >= *unit).unwrap_or((1, "ns"));
            return write!(f, "{sign}{}{name}", decimal(total, unit));
        }
        let minutes = total / (60 * second);
        f.write_str(sign)?;
        if minutes >= 60 {
            write!(f, "{}h", minutes / 60)?;
        }
        if minutes > 0 {
            write!(f, "{}m", minutes % 60)?;
        }
        write!(f, "{}s", decimal(total % (60 * second), second))
    }
}

/// A number of nanoseconds in units of so many, as a decimal without trailing zeros.
fn decimal(nanos: u64, unit: u64) -> String {
    let width = unit.ilog10() as usize;
    let text =
        if width == 0 { nanos.to_string() } else { format!("{}.{:0width$}", nanos / unit, nanos % unit) };
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

impl From<Duration> for OptionDuration {
    fn from(duration: Duration) -> OptionDuration {
        OptionDuration(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What k6 v1.8.1 shows in the options of a script whose `minIterationDuration` is this text.
    #[test]
    fn texts_are_read_as_k6_reads_them() {
        let cases = [
            ("1d", "24h0m0s"),
            ("-1d2h", "-26h0m0s"),
            ("1e3", "1s"),
            ("5.5", "5.5ms"),
            ("+5s", "5s"),
            ("1d0", "24h0m0s"),
            (".5s", "500ms"),
            ("1.s", "1s"),
            ("-5", "-5ms"),
            ("1µs", "1µs"),
            ("1us", "1µs"),
            ("3ns", "3ns"),
            ("9223372036854775807ns", "2562047h47m16.854775807s"),
            ("0", "0s"),
            ("-0", "0s"),
            ("1m30s", "1m30s"),
            ("90000", "1m30s"),
            ("1h30m0.5s", "1h30m0.5s"),
            ("1.5ms", "1.5ms"),
            ("1d2h3m4.5s", "26h3m4.5s"),
        ];
        for (text, shown) in cases {
            assert_eq!(
                OptionDuration::parse_or_millis(text).map(|d| d.to_string()),
                Ok(shown.into()),
                "{text}"
            );
        }
        let wrong = [
            "", "1.5d", "1h1d", "d", "1d1d", "1d2h3", ".", "s", "1h2", "1d -1h", "2562048h", "1D", "1S",
            "5 s", "x", "200000d", "1e400", "NaN", "1..2s",
        ];
        for text in wrong {
            assert!(OptionDuration::parse_or_millis(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_number_of_a_flag_has_a_unit() {
        assert_eq!(OptionDuration::parse("0"), Ok(OptionDuration(0)));
        assert!(OptionDuration::parse("5").is_err());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(nanos in -i64::MAX..=i64::MAX) {
            let duration = OptionDuration(nanos);
            let read = OptionDuration::parse(&duration.to_string()).expect("it was written");
            prop_assert_eq!(read, duration);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[-+]?[0-9.dhmsµnu ]{0,12}") {
            let _ = OptionDuration::parse_or_millis(&text);
        }
    }
}
