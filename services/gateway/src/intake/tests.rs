use std::fmt::Write as _;

use proptest::prelude::*;
use prost::Message as _;

use super::*;
use crate::proto::{TelemetryBatch, TelemetrySample};
use crate::sample::{Priority, Scalar};

const LIMITS: Limits = Limits { batch: 4, value: 1e9 };
const SAMPLE: &str = r#"{"device_id":"d-1","type":"temperature","value":21.5,"unit":"°C","priority":"HIGH",
    "timestamp":"2026-01-01T00:00:00.5+01:00","metadata":{"location":"hall 1","firmware_version":"1.2","floor":-2,"new":true}}"#;

fn json(body: &str) -> Result<ParsedSamples<'_>, BodyError> {
    read(BodyFormat::Json, body.as_bytes(), LIMITS)
}

/// The sample with one member changed, or removed by an empty text.
fn with(member: &str, value: &str) -> String {
    let members = [
        ("device_id", r#""d-1""#),
        ("type", r#""temperature""#),
        ("value", "21.5"),
        ("unit", r#""C""#),
        ("priority", r#""LOW""#),
        ("timestamp", r#""2026-01-01T00:00:00Z""#),
    ];
    let known = members.iter().any(|(name, _)| *name == member);
    let added = [(member, value)];
    let all = members.iter().chain(if known { &[][..] } else { &added[..] });
    let mut text = String::new();
    for (name, default) in all {
        let value = if *name == member { value } else { default };
        if !value.is_empty() {
            write!(text, "{}\"{name}\":{value}", if text.is_empty() { "" } else { "," }).unwrap();
        }
    }
    format!("{{{text}}}")
}

fn refused(body: &str) -> String {
    json(body).unwrap().remove(0).unwrap_err().to_string()
}

#[test]
fn every_member_of_a_sample_is_read() {
    let sample = json(SAMPLE).unwrap().remove(0).unwrap();
    assert_eq!((&sample.device_id[..], &sample.kind[..], &sample.unit[..]), ("d-1", "temperature", "°C"));
    assert_eq!((sample.value, sample.priority), (21.5, Priority::High));
    let metadata: Vec<(&str, &Scalar<'_>)> =
        sample.metadata.iter().map(|(name, value)| (&name[..], value)).collect();
    let expect = [
        ("location", &Scalar::Text("hall 1".into())),
        ("firmware_version", &Scalar::Text("1.2".into())),
        ("floor", &Scalar::Number(-2.0)),
        ("new", &Scalar::Bool(true)),
    ];
    assert_eq!(metadata, expect);
}

#[test]
fn optional_members_and_other_notations_are_accepted() {
    assert_eq!(json(&with("priority", "")).unwrap()[0].as_ref().unwrap().priority, Priority::Medium);
    for (member, value) in [
        ("value", "-1e9"),
        ("value", "7"),
        ("unit", r#""\u00b0C""#),
        ("metadata", "null"),
        ("metadata", "{}"),
        ("firmware", r#"{"unknown":["members","are","ignored"]}"#),
    ] {
        assert!(json(&with(member, value)).unwrap()[0].is_ok(), "{member}: {value}");
    }
}

#[test]
fn each_invalid_member_is_named_with_its_requirement() {
    let long = format!("\"{}\"", "a".repeat(65));
    let text = format!(r#"{{"a":"{}"}}"#, "b".repeat(257));
    let many: Vec<String> = (0..17).map(|at| format!("\"m{at}\":1")).collect();
    let many = format!("{{{}}}", many.join(","));
    for (member, value, message) in [
        ("device_id", "", "device_id is missing"),
        ("device_id", "7", "device_id must be a text"),
        ("device_id", r#""a b""#, "device_id must be 1 to 64 letters, digits and ._:-"),
        ("device_id", &long, "device_id must be 1 to 64 letters, digits and ._:-"),
        ("type", "null", "type must be a text"),
        ("value", "", "value is missing"),
        ("value", r#""21.5""#, "value must be a finite number"),
        ("value", "[1]", "value must be a finite number"),
        ("value", "-1.1e9", "value must lie between -1000000000 and 1000000000"),
        ("value", "1e300", "value must lie between -1000000000 and 1000000000"),
        ("unit", r#""""#, "unit must have 1 to 16 bytes and no control characters"),
        ("unit", r#""a\u0000""#, "unit must have 1 to 16 bytes and no control characters"),
        ("priority", r#""URGENT""#, "priority must be HIGH, MEDIUM or LOW"),
        ("priority", "1", "priority must be HIGH, MEDIUM or LOW"),
        ("timestamp", r#""yesterday""#, "timestamp must be RFC 3339, in 1970 or later"),
        ("timestamp", "1767225600", "timestamp must be a text"),
        ("metadata", "[]", "metadata must be an object"),
        ("metadata", &many, "metadata must have at most 16 members"),
        ("metadata", r#"{"":1}"#, "metadata must have members with names of 1 to 64 bytes"),
        ("metadata", r#"{"a":1,"a":2}"#, "metadata must not have two members of one name"),
        (
            "metadata",
            r#"{"a":{}}"#,
            "metadata must have texts of at most 256 bytes, numbers, true or false as members",
        ),
        (
            "metadata",
            &text,
            "metadata must have texts of at most 256 bytes, numbers, true or false as members",
        ),
    ] {
        assert_eq!(refused(&with(member, value)), message, "{member}: {value}");
    }
    let twice = with("priority", r#""LOW""#).replacen('{', r#"{"value":1,"#, 1);
    assert_eq!(refused(&twice), "value must not be given twice");
}

#[test]
fn an_invalid_sample_of_a_batch_affects_no_other() {
    let body = format!("[{SAMPLE},7,{},[]]", with("value", "null"));
    let read = json(&body).unwrap();
    let outcomes: Vec<Result<&str, String>> = read
        .iter()
        .map(|outcome| outcome.as_ref().map(|sample| &sample.device_id[..]).map_err(ToString::to_string))
        .collect();
    let not_an_object = || Err("sample must be an object".to_owned());
    let expect =
        [Ok("d-1"), not_an_object(), Err("value must be a finite number".to_owned()), not_an_object()];
    assert_eq!(outcomes, expect);
    let devices: Vec<Option<&str>> =
        read.iter().map(|outcome| outcome.as_ref().err().and_then(|why| why.device_id.as_deref())).collect();
    assert_eq!(devices, [None, None, Some("d-1"), None]);
}

/// Lists in lists contain no known member: they are skipped, however deep.
#[test]
fn deeply_nested_lists_affect_only_their_own_sample() {
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    assert_eq!(refused(&with("metadata", &format!(r#"{{"a":{deep}}}"#)))[..8], *"metadata");
    assert!(json(&with("unknown", &deep)).unwrap()[0].is_ok());
    let body = format!("[{deep},{SAMPLE}]");
    let read = json(&body).unwrap();
    assert!(read[0].is_err() && read[1].is_ok());
}

#[test]
fn a_body_that_is_no_list_of_samples_is_refused_as_a_whole() {
    assert_eq!(read(BodyFormat::Json, b"", LIMITS), Err(BodyError::Empty));
    assert_eq!(json(" \r\n"), Err(BodyError::Empty));
    assert_eq!(json(&format!("[{}]", ["{}"; 5].join(","))), Err(BodyError::TooMany(4)));
    assert_eq!(json("[]"), Ok(vec![]));
    let deep = r#"{"metadata":"#.repeat(10_000);
    let deep_list = "[".repeat(10_000);
    for body in [
        "{",
        "7",
        "null",
        "\"text\"",
        "{}{}",
        "{\"value\":NaN}",
        "{\"value\":Infinity}",
        "{\"value\":1e999}",
        "{'value':1}",
        "{\"unit\":\"\u{0}\"}",
        &deep,
        &deep_list,
    ] {
        assert!(matches!(json(body), Err(BodyError::Malformed(_))), "{}", &body[..body.len().min(40)]);
    }
    for bytes in [&b"\xff"[..], b"{\"unknown\":\"\xc3\x28\"}", b"{\"unit\":\"\xed\xa0\x80\"}"] {
        assert!(matches!(read(BodyFormat::Json, bytes, LIMITS), Err(BodyError::Malformed(_))), "{bytes:?}");
    }
}

fn wire_sample(value: f64) -> TelemetrySample {
    TelemetrySample {
        timestamp_us: 1_767_225_600_123_456,
        value,
        unit: "°C".to_owned(),
        sequence_id: 7,
        ..TelemetrySample::default()
    }
}

#[test]
fn a_protobuf_batch_is_read_like_its_json() {
    let samples = vec![
        wire_sample(21.5),
        TelemetrySample { r#type: "a b".to_owned(), ..wire_sample(1.0) },
        wire_sample(f64::NAN),
        TelemetrySample { priority: 3, r#type: "pressure".to_owned(), ..wire_sample(-1.0) },
    ];
    let batch = TelemetryBatch { samples, device_id: "d-1".to_owned(), batch_timestamp_us: 0 };
    let body = batch.encode_to_vec();
    let read = read(BodyFormat::Protobuf, &body, LIMITS).unwrap();
    let first = read[0].as_ref().unwrap();
    assert_eq!((&first.device_id[..], &first.kind[..], first.sequence), ("d-1", "measurement", 7));
    assert_eq!((&first.timestamp[..], first.priority), ("2026-01-01T00:00:00.123456Z", Priority::Medium));
    assert_eq!(read[1].as_ref().unwrap_err().member, "type");
    assert_eq!(read[2].as_ref().unwrap_err().to_string(), "value must be a finite number");
    assert_eq!(read[3].as_ref().unwrap().priority, Priority::High);
}

#[test]
fn malformed_protobuf_is_refused() {
    fn refused(body: &[u8]) -> Result<ParsedSamples<'_>, BodyError> {
        read(BodyFormat::Protobuf, body, LIMITS)
    }
    assert_eq!(refused(b""), Err(BodyError::Empty));
    for body in [&b"\xff\xff\xff\xff"[..], b"\x0a\xff\xff\xff\xff\x0f", b"\x12\x02\xff\xfe", b"{}"] {
        assert!(matches!(refused(body), Err(BodyError::Malformed(_))), "{body:?}");
    }
    let many = TelemetryBatch {
        samples: vec![wire_sample(1.0); 5],
        device_id: "d".to_owned(),
        batch_timestamp_us: 0,
    };
    assert_eq!(refused(&many.encode_to_vec()), Err(BodyError::TooMany(4)));
    let unreadable = b"\x0a\x02\xff\xff".repeat(5);
    assert_eq!(refused(&unreadable), Err(BodyError::TooMany(4)), "counted before any is read");
    assert!(matches!(refused(&unreadable[4..]), Err(BodyError::Malformed(_))));
    let unnamed = TelemetryBatch { samples: vec![wire_sample(1.0)], ..TelemetryBatch::default() };
    let body = unnamed.encode_to_vec();
    assert_eq!(refused(&body).unwrap()[0].as_ref().unwrap_err().member, "device_id");
    for timestamp_us in [0, -1, i64::MAX] {
        let samples = vec![TelemetrySample { timestamp_us, ..wire_sample(1.0) }];
        let batch = TelemetryBatch { samples, device_id: "d".to_owned(), batch_timestamp_us: 0 };
        let body = batch.encode_to_vec();
        assert_eq!(refused(&body).unwrap()[0].as_ref().unwrap_err().member, "timestamp_us");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(body in prop::collection::vec(any::<u8>(), 0..300)) {
        for format in [BodyFormat::Json, BodyFormat::Protobuf] {
            let _either = read(format, &body, LIMITS);
        }
    }

    #[test]
    fn any_json_is_read_or_refused(
        body in r#"([\[\]{},:]|"device_id"|"value"|"metadata"|"unit"|"x"|1e5|-0|null|true| ){0,40}"#
    ) {
        let _either = json(&body);
    }

    #[test]
    fn a_mutated_batch_is_read_or_refused(at: prop::sample::Index, byte: u8) {
        let mut json = format!("[{SAMPLE},{SAMPLE}]").into_bytes();
        let batch = TelemetryBatch { samples: vec![wire_sample(1.0); 2], device_id: "d".to_owned(), batch_timestamp_us: 1 };
        let mut protobuf = batch.encode_to_vec();
        for (format, body) in [(BodyFormat::Json, &mut json), (BodyFormat::Protobuf, &mut protobuf)] {
            let at = at.index(body.len());
            body[at] = byte;
            let _either = read(format, body, LIMITS);
        }
    }
}
