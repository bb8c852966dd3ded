//! Durations as k6 writes them: `1m30s`, `500ms`, `1d`.

use std::time::Duration;

const UNITS: [(&str, f64); 7] =
    [("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3_600.0)];

/// A duration; none where the text is none.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    if let Ok(milliseconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(milliseconds / 1e3).ok();
    }
    let (days, mut rest) = match text.split_once('d') {
        Some((days, rest)) => (days.parse::<u32>().ok()?, rest),
        None => (0, text),
    };
    let mut seconds = f64::from(days) * 86_400.0;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..end].parse().ok()?;
        let unit_end =
            rest[end..].find(|c: char| c.is_ascii_digit() || c == '.').map_or(rest.len(), |at| end + at);
        let (_, unit) = UNITS.iter().find(|(name, _)| *name == &rest[end..unit_end])?;
        seconds += number * unit;
        rest = &rest[unit_end..];
    }
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_k6_writes_them() {
        for (text, seconds) in
            [("1m30s", 90.0), ("500ms", 0.5), ("1.5s", 1.5), ("250", 0.25), ("1d2h", 93_600.0), ("", 0.0)]
        {
            assert_eq!(parse(text), Duration::try_from_secs_f64(seconds).ok(), "{text}");
        }
        for wrong in ["1x", "s", "1.2.3s", "-1s", "1e400"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
