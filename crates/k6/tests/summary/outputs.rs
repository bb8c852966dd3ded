//! JSON, CSV and what `handleSummary` is given, against what k6 wrote.

use evidence::key::Name;
use evidence::metric::MetricKind;
use jiff::Timestamp;
use k6::summary::{
    Colours, Contains, CsvColumns, CsvTimeFormat, MetricDefinition, MetricLine, PartLine, Sample, SampleTime,
    SummaryMode, Tags, ThresholdLine, handle_summary, summary_export, summary_text, text_summary,
};
use serde_json::Value;

use crate::recording::{Recording, file, names, tags, value_in};

/// The parts of two values in which they differ. Sums of numbers may differ in their last digits: k6 adds them up in the order
/// in which they arrive.
fn differences(path: &str, [ours, theirs]: [&Value; 2]) -> Vec<String> {
    let differ = || vec![format!("{path}: ours {ours}, k6's {theirs}")];
    match (ours, theirs) {
        (Value::Object(us), Value::Object(them)) if us.keys().eq(them.keys()) => us
            .iter()
            .flat_map(|(key, value)| differences(&format!("{path}/{key}"), [value, &them[key]]))
            .collect(),
        (Value::Array(us), Value::Array(them)) if us.len() == them.len() => {
            let pairs = us.iter().zip(them).enumerate();
            pairs
                .flat_map(|(index, (us, them))| differences(&format!("{path}/{index}"), [us, them]))
                .collect()
        }
        (Value::Number(us), Value::Number(them)) => {
            let [us, them] = [us, them].map(|number| number.as_f64().unwrap());
            if (us - them).abs() <= them.abs() * 1e-12 { Vec::new() } else { differ() }
        }
        _ if ours == theirs => Vec::new(),
        _ => differ(),
    }
}

fn check(ours: &Value, theirs: &Value, name: &str) {
    assert_eq!(differences(name, [ours, theirs]), [] as [String; 0]);
}

#[test]
fn handle_summary_is_given_what_k6_gives_it() {
    for name in names() {
        let recording = Recording::read(&name);
        check(&handle_summary(&recording.summary()), &recording.handle_summary, &name);
    }
}

#[test]
fn the_exported_summary_is_that_of_k6() {
    for name in names() {
        let expected = serde_json::from_str(&file(&format!("{name}/export.json"))).unwrap();
        check(&summary_export(&Recording::read(&name).summary()), &expected, &name);
    }
}

#[test]
fn text_summary_of_what_handle_summary_is_given_is_the_legacy_summary() {
    for name in names() {
        let recording = Recording::read(&name);
        for colours in [Colours::Off, Colours::On] {
            let text = text_summary(&recording.handle_summary, " ", colours).unwrap();
            assert_eq!(
                format!("\n{text}\n\n"),
                summary_text(&recording.summary(), SummaryMode::Legacy, colours),
                "{name}"
            );
        }
    }
}

#[test]
fn text_summary_says_what_it_needs() {
    let error = text_summary(&serde_json::json!({ "metrics": 1 }), "", Colours::Off).unwrap_err();
    assert_eq!(
        error.to_string(),
        "textSummary needs the data that handleSummary was given: invalid type: integer `1`, expected a map"
    );
    assert_eq!(text_summary(&serde_json::json!({}), "", Colours::Off).unwrap(), "");
    let check = serde_json::json!({ "name": "c", "passes": 2.0, "fails": 1.5 });
    let data = serde_json::json!({ "root_group": { "checks": [check] } });
    assert_eq!(text_summary(&data, ">", Colours::Off).unwrap(), ">    ✗ c\n>     ↳  66% — ✓ 2 / ✗ 1\n");
}

/// A line of `-o json`.
struct JsonLine {
    text: String,
    value: Value,
}

/// The lines of one type, `Point` or `Metric`.
fn json_lines(name: &str, of_type: &str) -> Vec<JsonLine> {
    let text = file(&format!("{name}/points.ndjson"));
    let lines = text
        .lines()
        .map(|line| JsonLine { text: line.to_owned(), value: serde_json::from_str(line).unwrap() });
    lines.filter(|line| line.value["type"] == of_type).collect()
}

/// A point of `-o json` as the sample that it was made of.
struct Point {
    metric: String,
    time: SampleTime,
    value: f64,
    tags: Tags,
    metadata: Tags,
}

impl Point {
    fn of(line: &JsonLine) -> Point {
        let data = &line.value["data"];
        let timestamp: Timestamp = data["time"].as_str().unwrap().parse().unwrap();
        Point {
            metric: line.value["metric"].as_str().unwrap().to_owned(),
            time: SampleTime { unix_ns: timestamp.as_nanosecond() as i64, offset_s: 0 },
            value: value_in(&line.text),
            tags: tags(&data["tags"]),
            metadata: tags(&data["metadata"]),
        }
    }

    fn sample(&self) -> Sample<'_> {
        let Point { metric, time, value, tags, metadata } = self;
        Sample { metric, time: *time, value: *value, tags, metadata }
    }
}

#[test]
fn points_are_written_as_k6_writes_them() {
    for name in names() {
        for line in json_lines(&name, "Point") {
            assert_eq!(Point::of(&line).sample().json(), line.text, "{name}");
        }
    }
}

fn texts(array: &Value) -> impl Iterator<Item = &Value> {
    array.as_array().into_iter().flatten()
}

fn threshold_of(given: &Value) -> ThresholdLine {
    match given.as_str() {
        Some(source) => ThresholdLine { source: source.to_owned(), abort: None },
        None => ThresholdLine {
            source: given["threshold"].as_str().unwrap().to_owned(),
            abort: Some(given["delayAbortEval"].as_str().map(str::to_owned)),
        },
    }
}

#[test]
fn metrics_are_announced_as_k6_announces_them() {
    for name in names() {
        for line in json_lines(&name, "Metric") {
            let data = &line.value["data"];
            let definition = MetricDefinition {
                name: data["name"].as_str().unwrap().to_owned(),
                kind: data["type"].as_str().unwrap().parse::<MetricKind>().unwrap(),
                contains: Contains::from_name(data["contains"].as_str().unwrap()).unwrap(),
            };
            let thresholds: Vec<ThresholdLine> = texts(&data["thresholds"]).map(threshold_of).collect();
            let part = |given: &Value| PartLine {
                suffix: given["suffix"].as_str().unwrap().to_owned(),
                tags: tags(&given["tags"]),
            };
            let parts: Vec<PartLine> = texts(&data["submetrics"]).map(part).collect();
            let ours = MetricLine { definition: &definition, thresholds: &thresholds, parts: &parts }.json();
            assert_eq!(ours, line.text, "{name}");
        }
    }
}

/// The system tags that k6 has by default.
const SYSTEM_TAGS: [&str; 14] = [
    "proto",
    "subproto",
    "status",
    "method",
    "url",
    "name",
    "group",
    "check",
    "error",
    "error_code",
    "tls_version",
    "scenario",
    "service",
    "expected_response",
];

fn sorted(text: &str) -> Vec<char> {
    let mut characters: Vec<char> = text.chars().collect();
    characters.sort_unstable();
    characters
}

#[test]
fn csv_is_written_as_k6_writes_it() {
    let columns = CsvColumns::new(SYSTEM_TAGS.map(str::to_owned), CsvTimeFormat::default());
    for name in names() {
        let text = file(&format!("{name}/points.csv"));
        let mut rest = text.strip_prefix(&format!("{}\n", columns.header())).expect("the header");
        for line in json_lines(&name, "Point") {
            let point = Point::of(&line);
            let ours = format!("{}\n", columns.line(&point.sample()));
            let (theirs, after) = rest.split_at(ours.len());
            let extra = point.tags.keys().filter(|tag| !SYSTEM_TAGS.contains(&&***tag)).count();
            if extra > 1 {
                // k6 writes them in any order.
                assert_eq!(sorted(&ours), sorted(theirs), "{name}");
            } else {
                assert_eq!(ours, theirs, "{name}");
            }
            rest = after;
        }
        assert_eq!(rest, "", "{name}");
    }
}

#[test]
fn times_have_the_offset_of_their_zone_and_no_digits_too_many() {
    let none = Tags::new();
    let written = |unix_ns: i64, offset_s: i32| {
        let time = SampleTime { unix_ns, offset_s };
        let sample = Sample { metric: "m", time, value: 1.0, tags: &none, metadata: &none };
        let line: Value = serde_json::from_str(&sample.json()).unwrap();
        line["data"]["time"].as_str().unwrap().to_owned()
    };
    assert_eq!(written(1_795_419_881_500_000_000, 0), "2026-11-23T07:44:41.5Z");
    assert_eq!(written(1_795_419_881_000_000_000, 7200), "2026-11-23T09:44:41+02:00");
    assert_eq!(written(-1, -12_600), "1969-12-31T20:29:59.999999999-03:30");
}

#[test]
fn fields_are_quoted_where_csv_needs_it() {
    let columns = CsvColumns::new(["b".to_owned(), "a".to_owned()], CsvTimeFormat::Seconds);
    assert_eq!(columns.header(), "metric_name,timestamp,metric_value,a,b,extra_tags,metadata");
    let pair = |(name, value): (&str, &str)| (Name::from(name), Name::from(value));
    let tags = Tags::from([("a", " x"), ("b", "1\"2"), ("d", "e,"), ("c", "f")].map(pair));
    let metadata = Tags::from([("m", "n")].map(pair));
    let time = SampleTime { unix_ns: -1, offset_s: 0 };
    let sample = Sample { metric: "m", time, value: 1e-7, tags: &tags, metadata: &metadata };
    assert_eq!(columns.line(&sample), r#"m,-1,0.000000," x","1""2","c=f&d=e,",m=n"#);
}

/// What k6 1.8.1 wrote in Berlin with each `K6_CSV_TIME_FORMAT`.
#[test]
fn csv_has_the_times_that_were_asked_for() {
    let none = Tags::new();
    for (name, expected) in [
        ("unix", "1795421730"),
        ("unix_milli", "1795421730262"),
        ("unix_micro", "1795421730262409"),
        ("unix_nano", "1795421730262409353"),
        ("rfc3339", "2026-11-23T09:15:30+01:00"),
        ("rfc3339_nano", "2026-11-23T09:15:30.262409353+01:00"),
    ] {
        let columns = CsvColumns::new([], CsvTimeFormat::from_name(name).unwrap());
        let time = SampleTime { unix_ns: 1_795_421_730_262_409_353, offset_s: 3600 };
        let sample = Sample { metric: "m", time, value: 1.0, tags: &none, metadata: &none };
        assert_eq!(columns.line(&sample), format!("m,{expected},1.000000,,"));
    }
    assert_eq!(CsvTimeFormat::from_name("bogus"), None);
}
