//! Numbers as findings show them. No decision is made with the rounded values.

/// A count with separated thousands: `10,192`.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number with three significant digits, or without decimals, whichever is more precise.
pub(crate) fn significant(value: f64) -> String {
    if !value.is_finite() {
        return "∞".to_owned();
    }
    let size = value.abs();
    if size >= 99.95 {
        let sign = if value < 0.0 { "-" } else { "" };
        return format!("{sign}{}", count(size.round() as u64));
    }
    let decimals = match size {
        s if s >= 9.995 => 1,
        s if s >= 0.9995 => 2,
        s if s >= 0.0995 => 3,
        _ => 4,
    };
    let text = format!("{value:.decimals$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// An effective sample size, with one decimal below a hundred: `19.8`.
pub(crate) fn sample_size(size: f64) -> String {
    if size < 1.0 { "below 1".to_owned() } else { significant((size * 10.0).round() / 10.0) }
}

/// A share (0 to 1) in per cent: `76.1 %`.
pub(crate) fn percent(share: f64) -> String {
    format!("{} %", significant(share * 100.0))
}

/// Events a second: `7,610/s`.
pub(crate) fn rate(per_second: f64) -> String {
    format!("{}/s", significant(per_second))
}

/// Milliseconds; from one second on, seconds: `34.9 ms`, `7.38 s`.
pub(crate) fn ms(ms: f64) -> String {
    if ms.is_finite() && ms.abs() >= 1_000.0 {
        format!("{} s", significant(ms / 1_000.0))
    } else {
        format!("{} ms", significant(ms))
    }
}

/// How long something lasts, given in seconds: `400 ms`, `90 s`, from two minutes on `20 min`.
pub(crate) fn length(seconds: f64) -> String {
    if seconds < 119.5 { ms(seconds * 1e3) } else { format!("{} min", significant(seconds / 60.0)) }
}

/// A value with the unit of a figure: `ms`, `1/s`, `1`, or that of a series.
pub(crate) fn quantity(value: f64, unit: &str) -> String {
    match unit {
        "ms" => ms(value),
        "1/s" => rate(value),
        "bytes" => format!("{} MiB", significant(value / f64::from(1 << 20))),
        "1" | "" => significant(value),
        unit => format!("{} {unit}", significant(value)),
    }
}

/// A quantile as in objectives: `p95`, `p99.9`.
pub(crate) fn quantile(q: f64) -> String {
    format!("p{}", significant(q * 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_thousands_are_separated() {
        let seen: Vec<_> =
            [7610.4, 76.1, 9.0, 3.3111, 0.62, 0.0066, 0.0, -1.5].iter().map(|n| significant(*n)).collect();
        assert_eq!(seen, ["7,610", "76.1", "9", "3.31", "0.62", "0.0066", "0", "-1.5"]);
        assert_eq!(
            (count(999), count(1_000), count(1_234_567)),
            ("999".into(), "1,000".into(), "1,234,567".into())
        );
    }

    #[test]
    fn a_sample_size_below_one_has_no_decimals() {
        let seen = [0.759, 1.02, 1.26, 19.84, 6_000.4].map(sample_size);
        assert_eq!(seen, ["below 1", "1", "1.3", "19.8", "6,000"]);
    }

    #[test]
    fn quantities_have_their_unit() {
        let seen =
            [quantity(7380.0, "ms"), quantity(34.9, "ms"), quantity(299.5, "1/s"), quantity(0.85, "cores")];
        assert_eq!(seen, ["7.38 s", "34.9 ms", "300/s", "0.85 cores"]);
        assert_eq!([length(0.4), length(90.0), length(1_200.0)], ["400 ms", "90 s", "20 min"]);
        assert_eq!((percent(0.761), quantile(0.999)), ("76.1 %".to_owned(), "p99.9".to_owned()));
    }
}
