use proptest::prelude::*;
use prost::Message as _;
use prost::encoding::{self, WireType};

use super::messages::{
    FunctionRecord, LineRecord, LocationRecord, MappingRecord, SampleRecord, ValueTypeRecord, field,
};
use super::*;
use crate::build::folded;
use crate::write::{encode, write};
use crate::{TopOptions, View, ViewOptions, top};

/// An outer message, field by field.
#[derive(Clone, Default)]
struct Raw(Vec<u8>);

impl Raw {
    /// One sample type `cpu/ns`, and the strings `""`, `cpu`, `ns`.
    fn minimal() -> Raw {
        ["", "cpu", "ns"]
            .iter()
            .fold(Raw::default(), |raw, text| raw.bytes(field::STRING_TABLE, text.as_bytes()))
            .with(field::SAMPLE_TYPE, &ValueTypeRecord { name: 1, unit: 2 })
    }

    fn with(mut self, number: u32, record: &impl prost::Message) -> Raw {
        encoding::message::encode(number, record, &mut self.0);
        self
    }

    fn bytes(mut self, number: u32, bytes: &[u8]) -> Raw {
        encoding::encode_key(number, WireType::LengthDelimited, &mut self.0);
        encoding::encode_varint(bytes.len() as u64, &mut self.0);
        self.0.extend_from_slice(bytes);
        self
    }

    fn number(mut self, number: u32, value: i64) -> Raw {
        encoding::int64::encode(number, &value, &mut self.0);
        self
    }

    fn refused(&self) -> String {
        read(&self.0).expect_err("it is malformed").to_string()
    }
}

fn location(id: u64, function_id: u64) -> LocationRecord {
    LocationRecord {
        id,
        line: vec![LineRecord { function_id, line: 7, column: 0 }],
        ..LocationRecord::default()
    }
}

#[test]
fn a_minimal_profile_is_read_with_its_records_in_any_order() {
    let sample = SampleRecord { location_id: vec![9, 9], value: vec![5], label: Vec::new() };
    let function = FunctionRecord { id: 70, name: 1, ..FunctionRecord::default() };
    let raw = Raw::default()
        .with(field::SAMPLE, &sample)
        .with(field::LOCATION, &location(9, 70))
        .with(field::FUNCTION, &function);
    let raw = Raw([raw.0, Raw::minimal().0].concat()).number(field::COMMENT, 2).number(99, 5);
    let profile = read(&raw.0).expect("it is valid");
    assert_eq!(profile.comments, ["ns"]);
    let view = View::new(&profile, ViewOptions::default()).expect("it has one type");
    let rows = top(&view, TopOptions::default()).rows;
    assert_eq!(
        (rows[0].name.as_str(), rows[0].flat, rows[0].cumulative),
        ("cpu", 5, 5),
        "recursion counts once"
    );
}

#[test]
fn errors_name_the_record_and_its_position() {
    let minimal = Raw::minimal;
    let sample = |ids: &[u64], values: &[i64]| SampleRecord {
        location_id: ids.to_vec(),
        value: values.to_vec(),
        label: Vec::new(),
    };
    let mapping = MappingRecord { id: 1, ..MappingRecord::default() };
    let cases = [
        (
            minimal().with(field::SAMPLE, &sample(&[3], &[1])),
            "sample 1 at byte 17: it names location 3, which does not exist",
        ),
        (
            minimal().with(field::SAMPLE, &sample(&[], &[1])).with(field::SAMPLE, &sample(&[], &[1, 2])),
            "sample 2 at byte 22: it has 2 values, and there are 1 sample types",
        ),
        (
            minimal().with(field::LOCATION, &location(1, 4)),
            "location 1 at byte 17: it names function 4, which does not exist",
        ),
        (
            minimal().with(field::LOCATION, &LocationRecord::default()),
            "location 1 at byte 17: its id is 0, which is reserved",
        ),
        (
            minimal().with(field::MAPPING, &mapping).with(field::MAPPING, &mapping),
            "mapping 2 at byte 21: its id 1 is also that of another",
        ),
        (
            minimal().with(field::FUNCTION, &FunctionRecord { id: 1, name: -4, ..FunctionRecord::default() }),
            "function 1 at byte 17: its name is string -4, and the table has 3",
        ),
        (minimal().bytes(field::SAMPLE, b"\x0a\xff"), "sample 1 at byte 17: it cannot be decoded"),
        (
            minimal().number(field::SAMPLE, 4),
            "sample 1 at byte 17: it cannot be decoded (a number where a record should be)",
        ),
        (
            minimal().number(field::TIME_NANOS, 4).number(field::TIME_NANOS, 4),
            "these are several profiles in one file",
        ),
        (
            Raw::default().bytes(field::STRING_TABLE, b"x"),
            "string 1 at byte 0: the first string of the table is not the empty one",
        ),
        (
            minimal().number(field::DEFAULT_SAMPLE_TYPE, 3),
            "header field 14 at byte 17: its default_sample_type is string 3",
        ),
    ];
    for (raw, expected) in cases {
        let error = raw.refused();
        assert!(error.contains(expected), "{error}\ninstead of\n{expected}");
    }
}

#[test]
fn another_format_is_named_in_the_error() {
    let cases: [(&[u8], &str); 7] = [
        (b"", "it is empty"),
        (b"<html><body>404</body></html>", "it is text that begins with `<html><body>404</body></`"),
        (b"goroutine profile: total 7\n1 @ 0x1", "the pprof endpoints write text when asked with debug=1"),
        (b"go 1.22 trace\0\0\0", "it is an execution trace, which `go tool trace` reads"),
        (b"PERFILE2\x68\0\0", "it is data of `perf record`"),
        (b"\x7fELF\x02\x01\x01\0", "its first bytes are not a field of one"),
        (b"\x32\0", "it names no sample type"),
    ];
    for (bytes, expected) in cases {
        let error = read(bytes).expect_err("it is not a profile").to_string();
        assert!(error.contains(expected), "{error}\ninstead of\n{expected}");
    }
}

#[test]
fn decompression_bombs_and_oversized_records_are_refused() {
    let limits = Limits { inflated_bytes: 1_000, frames: 50 };
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut gzip, &vec![0; 10 << 20]).expect("memory is written to");
    let bomb = gzip.finish().expect("memory is written to");
    assert!(bomb.len() < 20_000);
    assert_eq!(read_within(&bomb, limits), Err(ReadError::TooLarge { most: 1_000 }));
    assert_eq!(read_within(&[0; 1_001], limits), Err(ReadError::TooLarge { most: 1_000 }));
    let long = Raw::minimal().bytes(field::SAMPLE, &vec![0; (1 << 20) + 1]);
    assert!(long.refused().contains("sample 1 at byte 17: it has 1048577 bytes, more than 1048576"));
    let function = FunctionRecord { id: 1, name: 1, ..FunctionRecord::default() };
    let inlined = LocationRecord {
        line: vec![LineRecord { function_id: 1, line: 0, column: 0 }; 30],
        id: 1,
        ..LocationRecord::default()
    };
    let sample = SampleRecord { location_id: vec![1, 1], value: vec![1], label: Vec::new() };
    let raw = Raw::minimal()
        .with(field::FUNCTION, &function)
        .with(field::LOCATION, &inlined)
        .with(field::SAMPLE, &sample);
    assert_eq!(read_within(&raw.0, limits), Err(ReadError::TooManyFrames { most: 50 }));
    assert!(read(&raw.0).is_ok());
}

#[test]
fn a_truncated_file_is_an_error_or_a_shorter_profile() {
    let whole = folded(&[("samples", "count"), ("cpu", "nanoseconds")], "a;b 1 10\na;c 2 20");
    let plain = encode(&whole);
    let gzip = write(&whole).expect("memory is written to");
    for end in 0..gzip.len() {
        assert!(read(&gzip[..end]).is_err(), "a gzip stream cut at {end} is not complete");
    }
    for end in 0..plain.len() {
        if let Ok(profile) = read(&plain[..end]) {
            assert!(profile.sample_count() <= whole.sample_count());
        }
    }
    let broken = [&gzip[..gzip.len() - 6], &[0; 6]].concat();
    assert!(
        read(&broken)
            .expect_err("its checksum is wrong")
            .to_string()
            .contains("gzip stream breaks off or is damaged")
    );
}

#[test]
fn texts_that_are_not_utf8_are_shown_with_replacement_characters() {
    let raw = Raw::minimal().bytes(field::STRING_TABLE, b"f\xffg").number(field::COMMENT, 3);
    assert_eq!(read(&raw.0).expect("it is valid").comments, ["f\u{fffd}g"]);
}

#[test]
fn a_long_comment_that_is_referred_to_many_times_is_refused() {
    let raw = Raw::minimal().bytes(field::STRING_TABLE, &[b'x'; 200_000]);
    let raw = (0..10).fold(raw, |raw, _| raw.number(field::COMMENT, 3));
    assert!(raw.refused().contains("there are too many"));
}

proptest! {
    #[test]
    fn any_stacks_are_read_as_they_were_written(
        stacks in prop::collection::vec((prop::collection::vec(0_u8..6, 1..8), any::<i64>(), any::<i64>()), 0..20),
    ) {
        let lines = stacks.iter().map(|(stack, first, second)| {
            let frames: Vec<String> = stack.iter().map(|frame| format!("f{frame}")).collect();
            format!("{} {first} {second}\n", frames.join(";"))
        });
        let profile = folded(&[("samples", "count"), ("cpu", "nanoseconds")], &lines.collect::<String>());
        let again = read(&encode(&profile)).expect("it is valid");
        prop_assert!(again.samples().eq(profile.samples()));
        let view = View::new(&again, ViewOptions::default()).expect("it has types");
        let _no_panic = top(&view, TopOptions::default());
        let _no_panic = crate::CallTree::build(&view);
    }

    #[test]
    fn bytes_changed_anywhere_never_panic(at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let mut bytes = encode(&folded(&[("samples", "count"), ("cpu", "nanoseconds")], "a;b;c 1 10\na;c;c 2 20"));
        let at = at.index(bytes.len());
        bytes[at] = to;
        if let Ok(profile) = read(&bytes) {
            let view = View::new(&profile, ViewOptions::default()).expect("it has types");
            let _no_panic = top(&view, TopOptions::default());
        }
    }

    #[test]
    fn any_record_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..60), number in 1_u32..16) {
        let raw = Raw::minimal().bytes(number, &bytes);
        let _no_panic = read(&raw.0);
        let _no_panic = SampleRecord::decode(bytes.as_slice());
    }
}
