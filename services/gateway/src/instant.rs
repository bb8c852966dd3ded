//! RFC 3339, parsed strictly and formatted. Pure, and parsing does not allocate: every sample has a timestamp.

/// Microseconds from 1970-01-01T00:00:00Z to 9999-12-31T23:59:59.999999Z.
const LAST_US: i64 = 253_402_300_799_999_999;
const DAY_S: i64 = 86_400;

/// The instant that an RFC 3339 text names, in microseconds since 1970, cut to whole ones; `None` for any other text
/// and for instants before 1970. A second of 60 is read as the one after 59.
#[must_use]
pub fn parse(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let (civil, rest) = (bytes.get(..19)?, bytes.get(19..)?);
    let separators = [(4, b'-'), (7, b'-'), (13, b':'), (16, b':')];
    if separators.iter().any(|&(at, byte)| civil[at] != byte) || !matches!(civil[10], b'T' | b't' | b' ') {
        return None;
    }
    let [year, month, day] = [number(&civil[..4])?, number(&civil[5..7])?, number(&civil[8..10])?];
    let [hour, minute, second] = [number(&civil[11..13])?, number(&civil[14..16])?, number(&civil[17..19])?];
    if !(1..=12).contains(&month) || day < 1 || day > month_days(year, month) {
        return None;
    }
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let (fraction_us, zone) = fraction(rest)?;
    let local_s = days(year, month, day) * DAY_S + hour * 3600 + minute * 60 + second;
    let instant_us = (local_s - offset_s(zone)?) * 1_000_000 + fraction_us;
    (0..=LAST_US).contains(&instant_us).then_some(instant_us)
}

/// The text of an instant in microseconds since 1970; `None` before 1970 and after the year 9999.
#[must_use]
pub fn text(instant_us: i64) -> Option<String> {
    if !(0..=LAST_US).contains(&instant_us) {
        return None;
    }
    let (seconds, us) = (instant_us / 1_000_000, instant_us % 1_000_000);
    let (year, month, day) = civil(seconds / DAY_S);
    let second = seconds % DAY_S;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    Some(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{us:06}Z"))
}

fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0')))
}

/// The fraction of a second in microseconds, and what follows it.
fn fraction(rest: &[u8]) -> Option<(i64, &[u8])> {
    let Some(digits) = rest.strip_prefix(b".") else { return Some((0, rest)) };
    let count = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    // RFC 3339 has no maximum; no device measures below the attosecond.
    if !(1..=18).contains(&count) {
        return None;
    }
    let (digits, zone) = digits.split_at(count);
    let whole = number(&digits[..count.min(6)])?;
    Some((whole * 10_i64.pow(6 - count.min(6) as u32), zone))
}

fn offset_s(zone: &[u8]) -> Option<i64> {
    if matches!(zone, b"Z" | b"z") {
        return Some(0);
    }
    let [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] = zone else { return None };
    let (hours, minutes) = (number(&[*h1, *h2])?, number(&[*m1, *m2])?);
    if hours > 23 || minutes > 59 {
        return None;
    }
    let offset_s = hours * 3600 + minutes * 60;
    Some(if *sign == b'-' { -offset_s } else { offset_s })
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn month_days(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar, counted in years that begin in March.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let before = 365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    before + (153 * month + 2) / 5 + day - 1 - 719_468
}

/// Year, month and day of a day since 1970-01-01: the year is estimated and corrected.
fn civil(day: i64) -> (i64, i64, i64) {
    let mut year = 1970 + day / 366;
    while days(year + 1, 1, 1) <= day {
        year += 1;
    }
    let mut month = 1;
    while month < 12 && days(year, month + 1, 1) <= day {
        month += 1;
    }
    (year, month, day - days(year, month, 1) + 1)
}

#[cfg(test)]
mod tests {
    use kit::clock::UtcMs;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_rfc_3339_is_read() {
        for text in [
            "2026-01-01T00:00:00Z",
            "2026-01-01t00:00:00.5z",
            "2026-01-01 00:00:00+05:30",
            "2024-02-29T23:59:60Z",
            "1970-01-01T00:00:00-00:00",
            "9999-12-31T23:59:59.999999999Z",
        ] {
            assert!(parse(text).is_some(), "{text}");
        }
        for text in [
            "",
            "now",
            "2026-01-01",
            "2026-01-01T00:00Z",
            "2026-01-01T00:00:00",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T24:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-01-01T00:00:00+0530",
            "2026-01-01T00:00:00Z[UTC]",
            "20260101T000000Z",
            "1969-12-31T23:59:59Z",
            "+002026-01-01T00:00:00Z",
            "2026-01-01T00:00:00.0000000000000000000Z",
            "２026-01-01T00:00:00Z",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn agrees_with_the_calendar_of_jiff(us in 0..=LAST_US) {
            let text = text(us).unwrap();
            prop_assert_eq!(parse(&text), Some(us));
            prop_assert_eq!(UtcMs::parse(&text), Some(UtcMs(us / 1000)));
        }

        #[test]
        fn zones_shift_the_instant(us in 86_400_000_000..=LAST_US - 86_400_000_000, minutes in 0_i64..1440) {
            let local = text(us).unwrap();
            let local = local.trim_end_matches('Z');
            let zone = format!("{:02}:{:02}", minutes / 60, minutes % 60);
            prop_assert_eq!(parse(&format!("{local}+{zone}")), Some(us - minutes * 60_000_000));
            prop_assert_eq!(parse(&format!("{local}-{zone}")), Some(us + minutes * 60_000_000));
        }

        #[test]
        fn any_text_is_parsed_without_a_panic(text in "[-+0-9TtZz:. ]{0,40}") {
            let _either = parse(&text);
        }
    }
}
