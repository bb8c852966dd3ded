//! Quantities in the form that users write: `1m30s`, `300/s`, `0.1%`, `100MB`.

use std::time::Duration;

use crate::schedule::{MAX_RATE, MAX_STAGE};

/// A number and its unit, with or without blanks between them.
pub(crate) fn split_number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let digits = |c: char| c.is_ascii_digit() || c == '.' || c == '_';
    let end = text.find(|c: char| !digits(c)).unwrap_or(text.len());
    let number: f64 = text[..end].replace('_', "").parse().ok()?;
    Some((number, text[end..].trim()))
}

/// The nanoseconds of a unit of time.
fn unit_ns(unit: &str) -> Option<f64> {
    Some(match unit {
        "ns" => 1.0,
        "us" | "µs" | "μs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3600e9,
        _ => return None,
    })
}

/// A duration: one number with a unit, or several: `1m30s`.
///
/// # Errors
/// A message, if the text is not a duration or longer than 30 days.
pub fn duration(text: &str) -> Result<Duration, String> {
    let malformed = || {
        let bare = split_number(text).filter(|(_, unit)| unit.is_empty()).map(|_| text.trim());
        match bare {
            Some(number) => {
                format!("`{text}` is not a duration without a unit; write `{number}s` or `{number}ms`")
            }
            None if is_negative(text) => format!("`{text}` is not a duration: it is below 0"),
            None => format!(
                "`{text}` is not a duration; write a number with a unit, such as `500ms`, `10s`, `1m30s`"
            ),
        }
    };
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(malformed());
    }
    let mut nanos = 0.0;
    while !rest.is_empty() {
        let (number, after) = split_number(rest).ok_or_else(malformed)?;
        let end = after.find(|c: char| c.is_ascii_digit() || c.is_whitespace()).unwrap_or(after.len());
        nanos += number * unit_ns(&after[..end]).ok_or_else(malformed)?;
        rest = after[end..].trim_start();
    }
    if nanos > MAX_STAGE.as_nanos() as f64 {
        return Err(format!("`{text}` is longer than 30 days"));
    }
    Ok(Duration::from_nanos(nanos.round() as u64))
}

fn is_negative(text: &str) -> bool {
    text.trim().strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// A rate in events a second: `300/s`, `20/min`, `10k/s`.
///
/// # Errors
/// A message, if the text is not a rate or above the highest rate of a schedule.
pub fn rate(text: &str) -> Result<f64, String> {
    let malformed = || match is_negative(text) {
        true => format!("`{text}` is not a rate: it is below 0; write one such as `300/s`"),
        false => {
            format!("`{text}` is not a rate; write a number and a unit of time, such as `300/s` or `20/min`")
        }
    };
    let (number, unit) = split_number(text).ok_or_else(malformed)?;
    let (number, unit) = unit.strip_prefix('k').map_or((number, unit), |unit| (number * 1e3, unit));
    let per = unit.strip_prefix('/').and_then(|unit| unit_ns(unit.trim())).ok_or_else(malformed)?;
    let rate = number * 1e9 / per;
    if rate > MAX_RATE {
        return Err(format!("`{text}` is more than {MAX_RATE:.0} a second"));
    }
    Ok(rate)
}

/// A share, 0 to 1: `0.1%` or `0.001`.
pub fn share(text: &str) -> Option<f64> {
    match split_number(text)? {
        // Parsed with the exponent −2: a division by 100 would round a second time.
        (_, "%") => {
            format!("{}e-2", text.trim().trim_end_matches('%').trim_end().replace('_', "")).parse().ok()
        }
        (number, "") => Some(number),
        _ => None,
    }
}

/// A number of bytes: `100MB` (10⁶), `64MiB` (2²⁰), `4096`.
pub fn bytes(text: &str) -> Option<f64> {
    let (number, unit) = split_number(text)?;
    let unit_bytes = match unit {
        "" | "B" => 1.0,
        "KB" | "kB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        "KiB" => 1024.0,
        "MiB" => 1024.0 * 1024.0,
        "GiB" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    Some(number * unit_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_with_their_units() {
        let check = |text: &str, ms: u64| assert_eq!(duration(text), Ok(Duration::from_millis(ms)), "{text}");
        check("500ms", 500);
        check("1.5s", 1_500);
        check("1m30s", 90_000);
        check("2 min", 120_000);
        check("1h 1s", 3_601_000);
        for wrong in ["", "10", "s", "10 days", "-1s", "1s!", "999999999h", "1..2s"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_without_a_unit_or_below_zero_are_told_from_others() {
        for (wrong, why) in
            [("30", "write `30s` or `30ms`"), ("-5s", "below 0"), ("5 sec", "such as `500ms`")]
        {
            assert!(duration(wrong).is_err_and(|said| said.contains(why)), "{wrong}");
        }
        assert!(rate("-5/s").is_err_and(|said| said.contains("below 0")));
    }

    #[test]
    fn rates_of_every_unit_are_converted_to_a_second() {
        assert_eq!(rate("300/s"), Ok(300.0));
        assert_eq!(rate("30 / min"), Ok(0.5));
        assert_eq!(rate("3600/h"), Ok(1.0));
        assert_eq!(rate("1.5k/s"), Ok(1_500.0));
        for wrong in ["300", "300/d", "/s", "-1/s", "1e9/s", "99999999999/s"] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn shares_and_bytes_are_read_with_their_units() {
        assert_eq!((share("0.1%"), share("0.5"), share("1s")), (Some(0.001), Some(0.5), None));
        assert_eq!((bytes("100MB"), bytes("1 KiB"), bytes("1XB")), (Some(1e8), Some(1024.0), None));
    }
}
