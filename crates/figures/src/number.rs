//! The one formatter of numbers: three significant digits and a unit. Sentences have the same digits without trailing zeros
//! ([`brief`]).
//!
//! A non-zero share never reads as `0 %`, a share below the whole never as `100 %`, and a number that was not measured
//! is [`NOT_MEASURED`], never zero.

pub mod brief;

/// Shown for a number that was not measured.
pub const NOT_MEASURED: &str = "–";
/// Shown for a number that the source of an imported run does not have.
pub const NOT_KNOWN: &str = "not known";
/// Shown for a quantile that is infinite, because failures count as infinitely slow.
pub const INFINITE: &str = "∞";
/// The sign of a number below zero: as wide as `+`, unlike a hyphen.
pub const MINUS: &str = "−";

const NANOS_PER_MICRO: f64 = 1_000.0;
const NANOS_PER_MS: f64 = 1e6;
const MICROS_PER_MS: f64 = 1_000.0;
const MS_PER_SECOND: f64 = 1_000.0;
/// From here on a length is whole seconds.
const WHOLE_FROM_S: f64 = 10.0;
const TIME_DIGITS: usize = 3;
const RATE_DIGITS: usize = 4;
const TICK_DIGITS: usize = 4;
const SHARE_DIGITS: usize = 3;

/// A whole number with thousands separators: `12,345`.
pub fn count(value: u64) -> String {
    group(&value.to_string())
}

/// `value` as `format` writes it; [`NOT_MEASURED`] without one.
pub fn or_not_measured<T>(value: Option<T>, format: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| NOT_MEASURED.to_owned(), format)
}

/// So many of what the noun names, which has a plural with `s`: `1 request`, `2,000 requests`.
pub fn counted(value: u64, noun: &str) -> String {
    format!("{} {noun}{}", count(value), if value == 1 { "" } else { "s" })
}

/// A count that may not have been measured.
pub fn count_or_none(value: Option<u64>) -> String {
    or_not_measured(value, count)
}

/// `value` with `digits` significant digits and thousands separators. Digits before the decimal point are never rounded
/// away.
pub fn significant(value: f64, digits: usize) -> String {
    if value.is_nan() {
        return NOT_MEASURED.to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { INFINITE.to_owned() } else { format!("{MINUS}{INFINITE}") };
    }
    if value == 0.0 {
        return "0".to_owned();
    }
    // The exponent is that of the rounded number, so that 9.996 becomes 10.0 and not 10.00.
    let scientific = format!("{:.*e}", digits.saturating_sub(1), value);
    let exponent: i32 = scientific.rsplit('e').next().and_then(|e| e.parse().ok()).unwrap_or(0);
    let decimals = (i32::try_from(digits).unwrap_or(i32::MAX) - 1).saturating_sub(exponent).clamp(0, 15);
    group(&format!("{value:.*}", usize::try_from(decimals).unwrap_or(0)))
}

/// A duration given in milliseconds, three significant digits, in µs, ms or s.
pub fn time(ms: f64) -> String {
    time_with(ms, TIME_DIGITS)
}

/// A duration that may not have been measured.
pub fn time_or_none(ms: Option<f64>) -> String {
    or_not_measured(ms, time)
}

/// A duration given in milliseconds with `digits` significant digits. Microseconds stay whole: times are measured in
/// whole microseconds.
pub fn time_with(ms: f64, digits: usize) -> String {
    if !ms.is_finite() {
        return significant(ms, digits);
    }
    let micros = ms * MICROS_PER_MS;
    if micros == 0.0 {
        return "0 µs".to_owned();
    }
    if micros.abs() < 0.5 {
        return "<1 µs".to_owned();
    }
    let half_step = 1.0 + 0.5 / 10f64.powi(i32::try_from(digits).unwrap_or(3));
    if (micros * half_step).abs() < MICROS_PER_MS {
        format!("{} µs", group(&format!("{micros:.0}")))
    } else if (ms * half_step).abs() < MS_PER_SECOND {
        format!("{} ms", significant(ms, digits))
    } else {
        format!("{} s", significant(ms / MS_PER_SECOND, digits))
    }
}

/// A rate per second, four significant digits: `299.7/s`.
pub fn rate(per_second: f64) -> String {
    format!("{}/s", significant(per_second, RATE_DIGITS))
}

/// A rate without its unit, four significant digits; [`NOT_MEASURED`] without one.
pub fn rate_or_none(per_second: Option<f64>) -> String {
    or_not_measured(per_second, |rate| significant(rate, RATE_DIGITS))
}

/// A duration given in nanoseconds; below a microsecond in ns.
pub fn nanoseconds(ns: f64) -> String {
    if ns != 0.0 && ns.abs() < NANOS_PER_MICRO {
        format!("{} ns", significant(ns, TIME_DIGITS))
    } else {
        time(ns / NANOS_PER_MS)
    }
}

/// A count out of `whole` in percent; [`NOT_MEASURED`] if `whole` is 0.
pub fn share(part: u64, whole: u64) -> String {
    percent(part as f64, whole as f64)
}

/// `part` of `whole` in percent with three significant digits; it may be negative or above 100 %. [`NOT_MEASURED`] if `whole`
/// is 0.
pub fn percent(part: f64, whole: f64) -> String {
    if whole == 0.0 {
        return NOT_MEASURED.to_owned();
    }
    let percent = 100.0 * part / whole;
    if !percent.is_finite() {
        return significant(percent, SHARE_DIGITS);
    }
    let sign = if percent < 0.0 { MINUS } else { "" };
    match percent.abs() {
        0.0 => "0 %".to_owned(),
        _ if part.abs() == whole.abs() => format!("{sign}100 %"),
        size if size > 100.0 => format!("{sign}{} %", group(&format!("{size:.1}"))),
        size => format!("{sign}{}", inner_percent(size)),
    }
}

/// A share from 0 to 1 in whole percent, for narrow columns: `25 %`, `<1 %`.
pub fn whole_percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0 %".to_owned(),
        percent if percent < 0.5 => "<1 %".to_owned(),
        percent if percent < 100.0 && percent > 99.5 => ">99 %".to_owned(),
        percent => format!("{percent:.0} %"),
    }
}

/// A share from 0 to 1 in percent with `digits` significant digits; exact 0 and 1 as `0 %` and `100 %`.
pub fn percent_with(share: f64, digits: usize) -> String {
    format!("{} %", significant(share * 100.0, digits))
}

/// A percentage between 0 and 100, both excluded.
fn inner_percent(percent: f64) -> String {
    if percent < 0.000_1 {
        "<0.0001 %".to_owned()
    } else if percent < 0.1 {
        without_zeros(&format!("{} %", significant(percent, SHARE_DIGITS)))
    } else if percent > 99.99 {
        ">99.99 %".to_owned()
    } else if percent > 99.9 {
        format!("{percent:.2} %")
    } else {
        format!("{} %", significant(percent, SHARE_DIGITS))
    }
}

/// CPU time in seconds, three significant digits: `0.926 CPU-s`.
pub fn cpu(seconds: f64) -> String {
    format!("{} CPU-s", significant(seconds, 3))
}

/// An amount of memory or traffic in bytes, three significant digits, binary units.
pub fn bytes(value: f64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut scaled = value;
    let mut unit = 0;
    while scaled.abs() >= 1_023.5 && unit + 1 < UNITS.len() {
        scaled /= 1_024.0;
        unit += 1;
    }
    // Adding 0 makes -0 positive.
    let text =
        if unit == 0 { group(&format!("{:.0}", scaled.round() + 0.0)) } else { significant(scaled, 3) };
    format!("{text} {}", UNITS[unit])
}

/// A duration in whole seconds: `45 s`, `1 min 45 s`, `2 h 3 min`.
pub fn duration(seconds: u64) -> String {
    let (hours, minutes, rest) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes, rest) {
        (0, 0, s) => format!("{s} s"),
        (0, m, 0) => format!("{m} min"),
        (0, m, s) => format!("{m} min {s} s"),
        (h, 0, 0) => format!("{h} h"),
        (h, m, 0) => format!("{h} h {m} min"),
        (h, m, s) => format!("{h} h {m} min {s} s"),
    }
}

/// A length in seconds, in whole seconds from 10 s on: `4.44 ms`, `1.43 s`, `1 min 45 s`.
pub fn length(seconds: f64) -> String {
    if seconds < WHOLE_FROM_S { time_tick(seconds * MS_PER_SECOND) } else { duration(seconds.round() as u64) }
}

/// From one point of run time to another, in seconds: `10 to 30 s`, `0 to 4.44 ms`.
pub fn span(begin_s: f64, end_s: f64) -> String {
    let end = match begin_s == 0.0 && end_s < WHOLE_FROM_S {
        true => length(end_s),
        false => format!("{} s", plain(end_s)),
    };
    format!("{} to {end}", plain(begin_s))
}

/// A point of run time, as on a clock: `1:45`, `1:02:03`.
pub fn clock(seconds: u64) -> String {
    let (hours, minutes, rest) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{rest:02}") } else { format!("{minutes}:{rest:02}") }
}

/// An exact instant of run time: `71.200 s`.
pub fn run_time(seconds: f64) -> String {
    format!("{seconds:.3} s")
}

/// `value` with `unit`, a unit of figures, series or profiles.
pub fn with_unit(value: Option<f64>, unit: &str) -> String {
    let Some(value) = value else { return NOT_MEASURED.to_owned() };
    match unit {
        "nanoseconds" => nanoseconds(value),
        "us" | "µs" | "microseconds" => time(value / MICROS_PER_MS),
        "ms" | "milliseconds" => time(value),
        "s" | "seconds" => time(value * MS_PER_SECOND),
        "1/s" => rate(value),
        "%" => format!("{} %", significant(value, SHARE_DIGITS)),
        "bytes" => bytes(value),
        "1" | "count" | "" => plain(value),
        other => format!("{} {other}", significant(value, 3)),
    }
}

/// The same number without trailing zeros of its fraction: `50.00 ms` as `50 ms`. For exact numbers: bounds and ticks.
pub fn without_zeros(text: &str) -> String {
    let end = text.find([' ', '/']).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    match digits.split_once('.') {
        Some(_) => digits.trim_end_matches('0').trim_end_matches('.').to_owned() + unit,
        None => text.to_owned(),
    }
}

/// The label of a tick, without needless zeros: `0.5`, `1,000`.
pub fn tick(value: f64) -> String {
    without_zeros(&significant(value, TICK_DIGITS))
}

/// The label of a tick on an axis of milliseconds: `500 µs`, `1 s`.
pub fn time_tick(ms: f64) -> String {
    without_zeros(&time(ms))
}

/// Numbers closer to 0 are written with an exponent.
const TINY: f64 = 1e-5;

/// A number without a unit: whole numbers as they are, others with four significant digits, tiny ones as `2.4e-13`.
pub fn plain(value: f64) -> String {
    if value != 0.0 && value.abs() < TINY {
        format!("{}{:.1e}", if value < 0.0 { MINUS } else { "" }, value.abs())
    } else if value.fract() == 0.0 && value.abs() < 1e15 {
        group(&format!("{value:.0}"))
    } else {
        significant(value, 4)
    }
}

/// A decimal number with separators between the thousands of its integer part.
fn group(text: &str) -> String {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |rest| (MINUS, rest));
    let (whole, fraction) = digits.split_once('.').map_or((digits, None), |(w, f)| (w, Some(f)));
    let mut grouped = String::with_capacity(text.len() + whole.len() / 3 + 1);
    grouped.push_str(sign);
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    if let Some(fraction) = fraction {
        grouped.push('.');
        grouped.push_str(fraction);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits_and_a_unit() {
        let texts = [0.0, 0.0004, 0.045, 0.9994, 0.9999, 1.0, 12.34, 99.96, 999.4, 999.9, 1_234.0, 75_000.0]
            .map(time)
            .join(" | ");
        insta::assert_snapshot!(texts, @"0 µs | <1 µs | 45 µs | 999 µs | 1.00 ms | 1.00 ms | 12.3 ms | 100 ms | 999 ms | 1.00 s | 1.23 s | 75.0 s");
        assert_eq!(time(f64::INFINITY), INFINITE);
    }

    #[test]
    fn one_is_not_written_in_the_plural_and_numbers_below_zero_have_a_minus_sign() {
        assert_eq!(
            [0, 1, 2_000].map(|n| counted(n, "request")),
            ["0 requests", "1 request", "2,000 requests"]
        );
        assert_eq!([plain(0.0), plain(2.38e-13), plain(-2e-6)], ["0", "2.4e-13", "−2.0e-6"]);
        let below = [time(-0.003), time(-12.3), bytes(-3.0), plain(-1_200.0), significant(-0.5, 3)];
        assert_eq!(below, ["−3 µs", "−12.3 ms", "−3 B", "−1,200", "−0.500"]);
        assert_eq!(significant(f64::NEG_INFINITY, 3), "−∞");
    }

    #[test]
    fn a_share_above_zero_never_reads_as_zero() {
        let texts = [
            (0, 10),
            (1, 1_000_000),
            (1, 10_000),
            (606, 10_000),
            (1, 3),
            (999_999, 1_000_000),
            (5, 5),
            (0, 0),
        ]
        .map(|(part, whole)| share(part, whole))
        .join(" | ");
        insta::assert_snapshot!(texts, @"0 % | 0.0001 % | 0.01 % | 6.06 % | 33.3 % | >99.99 % | 100 % | –");
        let signed =
            [(-1.0, 3.0), (-3.0, 3.0), (7.5, 3.0), (-2e-6, 1.0)].map(|(part, whole)| percent(part, whole));
        assert_eq!(signed, ["−33.3 %", "−100 %", "250.0 %", "−0.0002 %"]);
        assert_eq!(
            [0.0, 0.001, 0.25, 0.999, 1.0].map(whole_percent),
            ["0 %", "<1 %", "25 %", ">99 %", "100 %"]
        );
    }

    #[test]
    fn counts_rates_bytes_and_durations_have_units_and_separators() {
        let texts = [
            count(0),
            count(999),
            count(1_234_567),
            rate(299.73),
            rate(12_345.6),
            bytes(512.0),
            bytes(1_048_576.0),
            bytes(123_456_789.0),
            bytes(-0.4),
            duration(45),
            duration(105),
            duration(7_380),
            clock(3_723),
            length(0.004_44),
            length(1.43),
            length(105.2),
            span(0.0, 0.149_999_999),
            span(0.0, 10.0),
            span(10.0, 12.344),
        ]
        .join(" | ");
        insta::assert_snapshot!(texts, @"0 | 999 | 1,234,567 | 299.7/s | 12,346/s | 512 B | 1.00 MiB | 118 MiB | 0 B | 45 s | 1 min 45 s | 2 h 3 min | 1:02:03 | 4.44 ms | 1.43 s | 1 min 45 s | 0 to 150 ms | 0 to 10 s | 10 to 12.34 s");
    }
}
