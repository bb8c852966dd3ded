//! Numbers as sentences show them: the digits of tables without trailing zeros.

use super::{TIME_DIGITS, without_zeros};

pub use super::{count, counted};

/// A number with three significant digits.
pub fn significant(value: f64) -> String {
    without_zeros(&super::significant(value, TIME_DIGITS))
}

/// A share (0 to 1) in per cent: `76.1 %`.
pub fn percent(share: f64) -> String {
    without_zeros(&super::percent(share, 1.0))
}

/// A number with two significant digits, where more would pretend precision: `3.1`.
pub fn rough(value: f64) -> String {
    without_zeros(&super::significant(value, 2))
}

/// Events per second: `7,610/s`.
pub fn rate(per_second: f64) -> String {
    without_zeros(&super::rate(per_second))
}

/// Milliseconds in a fitting unit: `34.9 ms`, `7.38 s`, `620 µs`.
pub fn ms(ms: f64) -> String {
    without_zeros(&super::time(ms))
}

/// How long something lasts, given in seconds: `400 ms`, `90 s`, from two minutes on `20 min`.
pub fn length(seconds: f64) -> String {
    if seconds < 119.5 { ms(seconds * 1e3) } else { format!("{} min", significant(seconds / 60.0)) }
}

/// A value with the unit of a figure: `ms`, `1/s`, `1`, or that of a series.
pub fn quantity(value: f64, unit: &str) -> String {
    without_zeros(&super::with_unit(Some(value), unit))
}

/// The verb of so many: `was`, `were`.
pub fn were(value: u64) -> &'static str {
    if value == 1 { "was" } else { "were" }
}

/// A quantile as in objectives: `p95`, `p99.9`.
pub fn quantile(q: f64) -> String {
    format!("p{}", without_zeros(&super::significant(q * 100.0, 5)))
}

/// An effective sample size, with one decimal below a hundred: `19.8`.
pub fn sample_size(size: f64) -> String {
    if size < 1.0 { "below 1".to_owned() } else { significant((size * 10.0).round() / 10.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_of_tables_without_trailing_zeros() {
        let seen = [7610.4, 76.1, 9.0, 3.3111, 0.62, 0.0066, 0.0, -1.5].map(significant);
        assert_eq!(seen, ["7,610", "76.1", "9", "3.31", "0.62", "0.0066", "0", "−1.5"]);
        assert_eq!(
            [0.0, 0.000_458, 0.000_5, 0.05, 1.0].map(percent),
            ["0 %", "0.0458 %", "0.05 %", "5 %", "100 %"]
        );
        assert_eq!([9.0, 34.94, 7_380.0, 0.62].map(ms), ["9 ms", "34.9 ms", "7.38 s", "620 µs"]);
        assert_eq!([299.5, 7_610.4].map(rate), ["299.5/s", "7,610/s"]);
    }

    #[test]
    fn a_sample_size_below_one_has_no_decimals() {
        let seen = [0.759, 1.02, 1.26, 19.84, 6_000.4].map(sample_size);
        assert_eq!(seen, ["below 1", "1", "1.3", "19.8", "6,000"]);
    }

    #[test]
    fn quantities_have_their_unit() {
        assert_eq!(
            [quantity(7380.0, "ms"), quantity(299.5, "1/s"), quantity(0.85, "cores")],
            ["7.38 s", "299.5/s", "0.85 cores"]
        );
        assert_eq!([length(0.4), length(90.0), length(1_200.0)], ["400 ms", "90 s", "20 min"]);
        assert_eq!([quantile(0.95), quantile(0.999)], ["p95", "p99.9"]);
    }
}
