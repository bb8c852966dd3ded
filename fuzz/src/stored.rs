//! Encodings in a run file that are not SQLite's own: histograms.

use evidence::Histogram;

use crate::Target;

pub(crate) const HISTOGRAM: Target = Target {
    name: "histogram",
    seeds: &[
        // Header of the V2 encoding: cookie, payload length, offset, digits, lowest, highest, ratio; then counts.
        b"\x1c\x84\x93\x13\0\0\0\x03\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x01\0\0\0\0\xd6\x93\xa4\0\x3f\xf0\0\0\0\0\0\0\x13\x02\x06",
        b"\x1c\x84\x93\x13\0\0\0\0\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x01\0\0\0\0\xd6\x93\xa4\0\x3f\xf0\0\0\0\0\0\0",
    ],
    words: &[b"\x1c\x84\x93\x13", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff", b"\x80\x80\x80\x80\x80\x80\x80\x80\x01"],
    run: |input| {
        let Ok(histogram) = Histogram::from_v2(input) else { return false };
        let again = Histogram::from_v2(&histogram.to_v2()).expect("an encoded histogram can be decoded");
        assert!(again == histogram, "decoded and encoded again, a histogram differs");
        let counted: u64 = histogram.buckets().map(|(_, _, count)| count).sum();
        assert_eq!(counted, histogram.count());
        assert!(histogram.quantile(0.5).finite_us() <= histogram.quantile(1.0).finite_us());
        true
    },
    ..Target::BASE
};
