//! The lines that `-o json` and `-o csv` write of each sample.

use std::collections::BTreeMap;
use std::fmt::Write;

use evidence::key::Name;
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::number;
use super::record::MetricDefinition;

/// Names and values, in the order of the names.
pub type Tags = BTreeMap<Name, Name>;

/// One value that was added to a metric.
#[derive(Debug, Clone, Copy)]
pub struct Sample<'a> {
    pub metric: &'a str,
    pub time: SampleTime,
    /// What was added; finite.
    pub value: f64,
    pub tags: &'a Tags,
    /// What belongs to it and selects nothing.
    pub metadata: &'a Tags,
}

/// A time of day somewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleTime {
    /// Nanoseconds since the begin of 1970 in UTC.
    pub unix_ns: i64,
    /// How far the clocks there are ahead of UTC, in seconds.
    pub offset_s: i32,
}

impl SampleTime {
    /// As RFC 3339 writes it, with as many digits of a second as it needs: `2026-11-23T07:45:52.838849064Z`.
    fn rfc3339(self) -> String {
        let timestamp = Timestamp::UNIX_EPOCH + SignedDuration::from_nanos(self.unix_ns);
        let offset = Offset::from_seconds(self.offset_s).unwrap_or(Offset::UTC);
        if offset == Offset::UTC {
            timestamp.to_string()
        } else {
            timestamp.display_with_offset(offset).to_string()
        }
    }

    fn in_format(self, format: CsvTimeFormat) -> String {
        let units_of = |ns: i64| self.unix_ns.div_euclid(ns);
        match format {
            CsvTimeFormat::Seconds => units_of(1_000_000_000).to_string(),
            CsvTimeFormat::Milliseconds => units_of(1_000_000).to_string(),
            CsvTimeFormat::Microseconds => units_of(1000).to_string(),
            CsvTimeFormat::Nanoseconds => self.unix_ns.to_string(),
            CsvTimeFormat::Rfc3339 => {
                SampleTime { unix_ns: units_of(1_000_000_000) * 1_000_000_000, ..self }.rfc3339()
            }
            CsvTimeFormat::Rfc3339Nano => self.rfc3339(),
        }
    }
}

/// How `-o csv` writes times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CsvTimeFormat {
    /// Seconds since 1970.
    #[default]
    Seconds,
    /// Milliseconds since 1970.
    Milliseconds,
    /// Microseconds since 1970.
    Microseconds,
    /// Nanoseconds since 1970.
    Nanoseconds,
    /// Date and time, whole seconds.
    Rfc3339,
    /// Date and time, fractions of a second.
    Rfc3339Nano,
}

impl CsvTimeFormat {
    const ALL: [(&'static str, CsvTimeFormat); 6] = [
        ("unix", CsvTimeFormat::Seconds),
        ("unix_milli", CsvTimeFormat::Milliseconds),
        ("unix_micro", CsvTimeFormat::Microseconds),
        ("unix_nano", CsvTimeFormat::Nanoseconds),
        ("rfc3339", CsvTimeFormat::Rfc3339),
        ("rfc3339_nano", CsvTimeFormat::Rfc3339Nano),
    ];

    /// The format that `K6_CSV_TIME_FORMAT` names; none for any other text.
    #[must_use]
    pub fn from_name(name: &str) -> Option<CsvTimeFormat> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, format)| *format)
    }
}

/// A threshold as a metric's line has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThresholdLine {
    /// As the script has it.
    pub source: String,
    /// For one that ends the run when it is violated: after how long it may, as the script has it, if at all.
    pub abort: Option<Option<String>>,
}

/// A part of a metric as its line has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartLine {
    /// What is between the braces: `status:200`.
    pub suffix: String,
    /// The same as names and values.
    pub tags: Tags,
}

/// A metric as `-o json` announces it before its first sample.
#[derive(Debug, Clone, Copy)]
pub struct MetricLine<'a> {
    pub definition: &'a MetricDefinition,
    pub thresholds: &'a [ThresholdLine],
    pub parts: &'a [PartLine],
}

impl MetricLine<'_> {
    /// The line, without a newline.
    #[must_use]
    pub fn json(&self) -> String {
        let name = quoted(&self.definition.name);
        let thresholds: Vec<String> = self.thresholds.iter().map(threshold_json).collect();
        let parts: Vec<String> = self.parts.iter().map(|part| self.part_json(part)).collect();
        let parts = if parts.is_empty() { "null".to_owned() } else { format!("[{}]", parts.join(",")) };
        format!(
            r#"{{"type":"Metric","data":{{"name":{name},"type":"{}","contains":"{}","thresholds":[{}],"submetrics":{parts}}},"metric":{name}}}"#,
            self.definition.kind,
            self.definition.contains.name(),
            thresholds.join(","),
        )
    }

    fn part_json(&self, part: &PartLine) -> String {
        let name = escaped(&format!("{}{{{}}}", self.definition.name, part.suffix));
        format!(r#"{{"name":{name},"suffix":{},"tags":{}}}"#, escaped(&part.suffix), tags_json(&part.tags))
    }
}

/// Unlike every other text, thresholds have `<` and `>` as they are.
fn threshold_json(threshold: &ThresholdLine) -> String {
    let source = quoted(&threshold.source);
    match &threshold.abort {
        None => source,
        Some(delay) => {
            let delay = delay.as_deref().map_or("null".to_owned(), quoted);
            format!(r#"{{"threshold":{source},"abortOnFail":true,"delayAbortEval":{delay}}}"#)
        }
    }
}

impl Sample<'_> {
    /// The line of `-o json`, without a newline.
    #[must_use]
    pub fn json(&self) -> String {
        let metadata = match self.metadata.is_empty() {
            true => String::new(),
            false => format!(r#","metadata":{}"#, tags_json(self.metadata)),
        };
        format!(
            r#"{{"metric":{},"type":"Point","data":{{"time":"{}","value":{},"tags":{}{metadata}}}}}"#,
            quoted(self.metric),
            self.time.rfc3339(),
            number::go(self.value),
            tags_json(self.tags),
        )
    }
}

fn tags_json(tags: &Tags) -> String {
    let pairs: Vec<String> =
        tags.iter().map(|(name, value)| format!("{}:{}", escaped(name), escaped(value))).collect();
    format!("{{{}}}", pairs.join(","))
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// As Go writes text that may be put into HTML.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for character in quoted(text).chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(escaped, "\\u{:04x}", character as u32);
            }
            _ => escaped.push(character),
        }
    }
    escaped
}

/// The columns of `-o csv`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvColumns {
    tags: Vec<String>,
    times: CsvTimeFormat,
}

impl CsvColumns {
    /// Columns for these tags, which are the system tags of the run; other tags share one column.
    #[must_use]
    pub fn new(tags: impl IntoIterator<Item = String>, times: CsvTimeFormat) -> Self {
        let mut tags: Vec<String> = tags.into_iter().collect();
        tags.sort();
        CsvColumns { tags, times }
    }

    /// The first line, without a newline.
    #[must_use]
    pub fn header(&self) -> String {
        let tags = self.tags.iter().map(String::as_str);
        let columns = ["metric_name", "timestamp", "metric_value"].into_iter().chain(tags);
        columns.chain(["extra_tags", "metadata"]).collect::<Vec<_>>().join(",")
    }

    /// The line of one sample, without a newline. k6 writes the extra tags in no order, this in that of their names.
    #[must_use]
    pub fn line(&self, sample: &Sample<'_>) -> String {
        let is_extra = |name: &str| !self.tags.iter().any(|column| column == name);
        let extra = sample.tags.iter().filter(|(name, _)| is_extra(name));
        let time = sample.time.in_format(self.times);
        let mut fields = vec![sample.metric.to_owned(), time, format!("{:.6}", sample.value)];
        let tag =
            |name: &String| sample.tags.get(name.as_str()).map_or(String::new(), |value| value.to_string());
        fields.extend(self.tags.iter().map(tag));
        fields.extend([pairs(extra), pairs(sample.metadata.iter())]);
        fields.iter().map(|field| csv_field(field)).collect::<Vec<_>>().join(",")
    }
}

fn pairs<'a>(tags: impl Iterator<Item = (&'a Name, &'a Name)>) -> String {
    tags.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
}

/// In quotes where it must be, as Go writes it.
fn csv_field(field: &str) -> String {
    let is_special = field.contains(['"', ',', '\n', '\r']) || field.starts_with(char::is_whitespace);
    if is_special || field == r"\." {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}
