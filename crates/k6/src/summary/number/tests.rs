use proptest::prelude::*;

use super::*;

/// What k6 1.8.1 showed for a gauge with this value: of time, and of plain numbers.
const GAUGES: &[(f64, &str, &str)] = &[
    (0.0, "0s", "0"),
    (1e-9, "0ns", "0"),
    (1e-6, "1ns", "0.000001"),
    (5e-7, "0ns", "0"),
    (9.9e-7, "0ns", "0.000001"),
    (0.000_999_99, "999ns", "0.001"),
    (0.001, "1µs", "0.001"),
    (0.999_999_99, "999.99µs", "1"),
    (1.005, "1ms", "1.005"),
    (1.115, "1.11ms", "1.115"),
    (9.9999, "9.99ms", "9.9999"),
    (999.999, "999.99ms", "999.999"),
    (1005.5, "1s", "1005.5"),
    (9950.0, "9.94s", "9950"),
    (59_999.999, "59.99s", "59999.999"),
    (60_000.0, "1m0s", "60000"),
    (61_999.99, "1m1s", "61999.99"),
    (3_599_999.0, "59m59s", "3599999"),
    (3_661_500.0, "1h1m1s", "3661500"),
    (86_400_000.0, "24h0m0s", "86400000"),
    (1e20, "27777777777777h46m40s", "100000000000000000000"),
    (1e21, "277777777777777h46m40s", "1e+21"),
    (1.5e24, "416666666666666700h40m34s", "1.5e+24"),
    (1e27, "277777777777777770000h56m55s", "1e+27"),
    (1e300, "2.777777777777778e+293h24m20s", "1e+300"),
    (1_234_567.123_456_5, "20m34s", "1234567.123457"),
    (-0.000_001, "-1ns", "-0.000001"),
    (-5e-7, "0ns", "0"),
    (-1.005, "-1004999ns", "-1.005"),
    (-1_234_567.123_456_5, "-1234567123456ns", "-1234567.123457"),
    (-1e15, "-1e+21ns", "-1000000000000000"),
];

#[test]
fn durations_and_plain_numbers_are_those_of_k6() {
    for &(value, time, plain) in GAUGES {
        assert_eq!([duration(value, None), rounded(value, 6)], [time, plain], "{value}");
    }
}

#[test]
fn a_unit_that_was_asked_for_has_two_digits() {
    let shown = ["us", "ms", "s"].map(|name| duration(1234.5678, TimeUnit::from_name(name)));
    assert_eq!(shown, ["1234567.80µs", "1234.57ms", "1.23s"]);
    assert_eq!([TimeUnit::from_name("m"), TimeUnit::from_name("")], [None, None]);
    assert_eq!(
        ["s", "ms", "us"].map(|name| TimeUnit::from_name(name).map(TimeUnit::name)),
        [Some("s"), Some("ms"), Some("us")]
    );
}

/// What the engine of k6 1.8.1 has for `toFixed(0)`, `toFixed(1)`, `toFixed(2)`.
#[test]
fn halves_are_rounded_away_from_zero_and_what_is_no_half_is_not() {
    for (value, expected) in [
        (0.5, ["1", "0.5", "0.50"]),
        (2.5, ["3", "2.5", "2.50"]),
        (0.125, ["0", "0.1", "0.13"]),
        (0.375, ["0", "0.4", "0.38"]),
        (0.045, ["0", "0.0", "0.04"]),
        (1.005, ["1", "1.0", "1.00"]),
        (9.95, ["10", "9.9", "9.95"]),
        (-2.5, ["-3", "-2.5", "-2.50"]),
        (-0.0, ["0", "0.0", "0.00"]),
        (-0.001, ["-0", "-0.0", "-0.00"]),
        (1e20, ["100000000000000000000", "100000000000000000000.0", "100000000000000000000.00"]),
        (1e21, ["1e+21"; 3]),
    ] {
        assert_eq!([0, 1, 2].map(|digits| fixed(value, digits)), expected, "{value}");
    }
}

#[test]
fn bytes_are_in_powers_of_1000() {
    for (count, expected) in [
        (0.0, "0 B"),
        (9.5, "9.5 B"),
        (999.0, "999 B"),
        (1e3, "1.0 kB"),
        (9_950.0, "10 kB"),
        (999_999.0, "1000 kB"),
        (1e6, "1.0 MB"),
        (1e9, "1.0 GB"),
        (1e24, "1.0 YB"),
        (-5e9, "-5000000000 B"),
    ] {
        assert_eq!(bytes(count), expected, "{count}");
    }
}

#[test]
fn shares_are_cut_off() {
    assert_eq!([2.0 / 3.0, 0.999_999, 0.0, 1.0].map(share), ["66.66%", "99.99%", "0.00%", "100.00%"]);
}

/// What k6 1.8.1 wrote with `-o json`.
#[test]
fn go_writes_an_exponent_from_a_million() {
    for (value, expected) in [
        (-999_999.0, "-999999"),
        (1_234_567.891, "1.234567891e+06"),
        (-3.6e6, "-3.6e+06"),
        (1e21, "1e+21"),
        (-1e300, "-1e+300"),
        (0.000_12, "0.00012"),
        (-1e-7, "-1e-07"),
        (5e-324, "5e-324"),
        (0.0, "0"),
        (-0.0, "-0"),
    ] {
        assert_eq!(go(value), expected);
    }
}

proptest! {
    #[test]
    fn every_finite_number_can_be_shown(bits: u64, digits in 0..=6usize) {
        let value = f64::from_bits(bits);
        prop_assume!(value.is_finite());
        for text in [javascript(value), go(value)] {
            prop_assert_eq!(text.parse::<f64>().unwrap(), value);
        }
        let units = [None, Some(TimeUnit::Seconds), Some(TimeUnit::Milliseconds), Some(TimeUnit::Microseconds)];
        let durations = units.map(|unit| duration(value, unit));
        prop_assert!(durations.iter().all(|text| text.ends_with('s')));
        prop_assert!(bytes(value).split_once(' ').is_some());
        prop_assert!(share(value).ends_with('%'));
        let near: f64 = fixed(value, digits).parse().unwrap();
        prop_assert!((near - value).abs() <= 0.5 * 10_f64.powi(-(digits as i32)) + value.abs() * f64::EPSILON);
    }
}
