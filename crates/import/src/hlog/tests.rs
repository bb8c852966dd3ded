use std::io::Write;

use evidence::{Histogram, SinkError};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use hdrhistogram::serialization::{Serializer, V2DeflateSerializer, V2Serializer};

use super::*;

#[derive(Default)]
struct ReceivedEvents {
    intervals: Vec<(String, i64, i64, Histogram)>,
    facts: Vec<String>,
    remarks: Vec<String>,
}

impl Receive for ReceivedEvents {
    fn receive(&mut self, event: Event<'_>) -> Result<(), SinkError> {
        match event {
            Event::Interval { subject, begin, end, times } => {
                self.intervals.push((subject.endpoint.to_owned(), begin, end, times.clone()));
            }
            Event::Fact(_, text) => self.facts.push(text),
            Event::Remark(text) => self.remarks.push(text),
            _ => {}
        }
        Ok(())
    }
}

fn read_log(log: &str) -> (ReceivedEvents, Reading) {
    let mut received = ReceivedEvents::default();
    let reading = read(&mut log.as_bytes(), &mut received).unwrap();
    (received, reading)
}

/// A histogram of nanoseconds of the library `hdrhistogram`, in another layout than our own.
fn foreign(digits: u8) -> hdrhistogram::Histogram<u64> {
    let mut histogram = hdrhistogram::Histogram::new_with_bounds(1_000, 60_000_000_000, digits).unwrap();
    for us in 1..=1_000u64 {
        histogram.record(us * 10_000).unwrap();
    }
    histogram
}

fn line(prefix: &str, histogram: &hdrhistogram::Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(histogram, &mut bytes).unwrap();
    format!("{prefix},{:.3},{}\n", histogram.max() as f64 / 1e6, STANDARD.encode(bytes))
}

#[test]
fn a_log_is_read_in_any_layout() {
    for digits in [2, 3, 4] {
        let theirs = foreign(digits);
        let mut log = "#[StartTime: 1441812279.474 (seconds since epoch), Wed]\n".to_owned();
        log += "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n";
        log += &line("0.127,1.000", &theirs);
        log += &line("Tag=login,1.127,1.000", &theirs);
        let (received, reading) = read_log(&log);
        assert_eq!((reading.malformed, reading.cut), (0, None));
        assert_eq!(received.facts, ["nanoseconds, inferred from the printed maximum in ms"]);
        let names: Vec<_> = received.intervals.iter().map(|(tag, ..)| tag.as_str()).collect();
        assert_eq!(names, ["all", "login"]);
        let (_, begin, end, times) = &received.intervals[0];
        assert_eq!((end - begin, begin / 1_000_000), (1_000_000_000, 1_441_812_279_601));
        assert_eq!(times.count(), 1_000);
        for q in [0.5, 0.95, 0.99, 1.0] {
            let (ours, expected) =
                (times.quantile(q).finite_us().unwrap(), theirs.value_at_quantile(q) as f64 / 1e3);
            let error = if digits == 2 { 0.02 } else { 0.003 };
            assert!(
                (ours - expected).abs() <= expected * error,
                "{digits} digits, {q}: {ours} and {expected}"
            );
        }
    }
}

#[test]
fn an_uncompressed_histogram_is_read() {
    let mut bytes = Vec::new();
    V2Serializer::new().serialize(&foreign(3), &mut bytes).unwrap();
    let buckets = decode::decode(&bytes).ok().unwrap().buckets;
    assert_eq!(buckets.iter().map(|(_, count)| count).sum::<u64>(), 1_000);
}

#[test]
fn an_interval_of_unknown_unit_is_malformed() {
    let whole = line("1.0,1.0", &foreign(3));
    let cut = &whole[..whole.len() - 20];
    let (received, reading) = read_log(&format!("{whole}{cut}"));
    assert_eq!((received.intervals.len(), reading.cut), (1, Some(2)));
    assert_eq!(received.remarks, ["the log does not contain when it started"]);
    let encoded = whole.rsplit(',').next().unwrap();
    let (_, reading) = read_log(&format!("1.0,1.0,7.000,{encoded}"));
    let (_, why) = reading.first_malformed().expect("its unit is unknown");
    assert!(why.contains("its unit is unknown"), "{why}");
}

#[test]
fn a_decompression_bomb_is_not_inflated() {
    let mut packer = ZlibEncoder::new(Vec::new(), Compression::best());
    for _ in 0..64 {
        packer.write_all(&vec![0; 1 << 20]).unwrap();
    }
    let packed = packer.finish().unwrap();
    let mut bytes = 0x1c84_9314u32.to_be_bytes().to_vec();
    bytes.extend_from_slice(&u32::try_from(packed.len()).unwrap().to_be_bytes());
    bytes.extend_from_slice(&packed);
    let Err(LineError::Malformed(why)) = decode::decode(&bytes) else { panic!("it was read") };
    assert_eq!(why, "its histogram is too large");
}
