//! The head of a gRPC request.

use std::time::Duration;

use crate::headers::Headers;

/// Append the headers that every call has, in the order the specification lists them; `timeout` as
/// [`timeout_value`] has it.
pub fn push_headers(headers: &mut Headers, timeout: Option<&[u8]>) {
    headers.push(b"te", b"trailers");
    if let Some(timeout) = timeout {
        headers.push(b"grpc-timeout", timeout);
    }
    headers.push(b"content-type", b"application/grpc+proto");
}

/// A `grpc-timeout`: at most eight digits and a unit, rounded up so that the peer never gives up before the
/// caller does.
///
/// ```
/// use std::time::Duration;
/// assert_eq!(wire::grpc::timeout_value(Duration::from_millis(1500)), "1500000u");
/// ```
pub fn timeout_value(timeout: Duration) -> String {
    const MAX_VALUE: u128 = 99_999_999;
    let nanos = timeout.as_nanos();
    let units = [(1, 'n'), (1_000, 'u'), (1_000_000, 'm'), (1_000_000_000, 'S'), (60_000_000_000, 'M')];
    for (size, unit) in units {
        let value = nanos.div_ceil(size);
        if value <= MAX_VALUE {
            return format!("{value}{unit}");
        }
    }
    format!("{}H", nanos.div_ceil(3_600_000_000_000).min(MAX_VALUE))
}

/// `/package.Service/Method`, the request's path.
pub fn method_path(service: &str, method: &str) -> String {
    format!("/{service}/{method}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_fit_eight_digits_and_never_shrink() {
        let cases = [
            (Duration::ZERO, "0n"),
            (Duration::from_millis(50), "50000000n"),
            (Duration::from_nanos(100_000_001), "100001u"),
            (Duration::from_secs(10), "10000000u"),
            (Duration::from_secs(100), "100000m"),
            (Duration::from_secs(100_000), "100000S"),
            (Duration::from_secs(100_000_000), "1666667M"),
            (Duration::MAX, "99999999H"),
        ];
        for (timeout, expect) in cases {
            assert_eq!(timeout_value(timeout), expect);
        }
    }

    #[test]
    fn a_call_has_its_headers() {
        let mut headers = Headers::new();
        push_headers(&mut headers, Some(timeout_value(Duration::from_secs(1)).as_bytes()));
        assert_eq!(headers.view().get(b"te"), Some(&b"trailers"[..]));
        assert_eq!(headers.view().get(b"grpc-timeout"), Some(&b"1000000u"[..]));
        assert_eq!(headers.view().get(b"content-type"), Some(&b"application/grpc+proto"[..]));
        assert_eq!(method_path("a.B", "C"), "/a.B/C");
    }
}
