//! Writes a [`Profile`] as bytes that `go tool pprof` reads.

use std::collections::HashMap;
use std::io::{self, Write as _};

use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;
use prost::encoding::{self, WireType};

use crate::model::{LabelValue, Profile, ValueType};
use crate::read::messages::{
    FunctionRecord, LabelRecord, LineRecord, LocationRecord, MappingRecord, SampleRecord, ValueTypeRecord,
    field,
};
use crate::text::Text;

/// The profile in pprof's format, compressed by gzip; the same bytes for the same profile.
///
/// # Errors
/// Never in practice: memory is written to.
pub fn write(profile: &Profile) -> io::Result<Vec<u8>> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(&encode(profile))?;
    gzip.finish()
}

/// Texts of the header that are not in the table of the profile are added after it.
struct Encoder<'p> {
    bytes: Vec<u8>,
    indices: HashMap<&'p str, i64>,
    in_table: usize,
    added: Vec<&'p str>,
}

pub(crate) fn encode(profile: &Profile) -> Vec<u8> {
    let mut indices: HashMap<&str, i64> =
        (0..).zip(profile.texts.iter()).map(|(at, text)| (text, at)).collect();
    indices.insert("", 0);
    let mut encoder =
        Encoder { bytes: Vec::new(), indices, in_table: profile.texts.len().max(1), added: Vec::new() };
    for counted in &profile.sample_types {
        let record = encoder.value_type(counted);
        encoder.message(field::SAMPLE_TYPE, &record);
    }
    encoder.samples(profile);
    encoder.program(profile);
    let period_type = encoder.value_type(&profile.period_type);
    encoder.message(field::PERIOD_TYPE, &period_type);
    let default = profile.default_sample_type.as_deref().unwrap_or_default();
    for (number, text) in [
        (field::DROP_FRAMES, profile.drop_frames.as_str()),
        (field::KEEP_FRAMES, &profile.keep_frames),
        (field::DEFAULT_SAMPLE_TYPE, default),
        (field::DOC_URL, &profile.doc_url),
    ] {
        let index = encoder.text(text);
        encoder.number(number, index);
    }
    for comment in &profile.comments {
        let index = encoder.text(comment);
        encoding::int64::encode(field::COMMENT, &index, &mut encoder.bytes);
    }
    encoder.number(field::TIME_NANOS, profile.time_ns);
    encoder.number(field::DURATION_NANOS, profile.duration_ns);
    encoder.number(field::PERIOD, profile.period);
    encoder.table(profile);
    encoder.bytes
}

impl<'p> Encoder<'p> {
    fn text(&mut self, text: &'p str) -> i64 {
        let next = (self.in_table + self.added.len()) as i64;
        *self.indices.entry(text).or_insert_with(|| {
            self.added.push(text);
            next
        })
    }

    fn value_type(&mut self, counted: &'p ValueType) -> ValueTypeRecord {
        ValueTypeRecord { name: self.text(&counted.name), unit: self.text(&counted.unit) }
    }

    fn message(&mut self, number: u32, record: &impl Message) {
        encoding::message::encode(number, record, &mut self.bytes);
    }

    fn number(&mut self, number: u32, value: i64) {
        if value != 0 {
            encoding::int64::encode(number, &value, &mut self.bytes);
        }
    }

    fn samples(&mut self, profile: &Profile) {
        for sample in profile.samples() {
            let record = SampleRecord {
                location_id: sample.stack.iter().map(|at| u64::from(*at) + 1).collect(),
                value: sample.values.to_vec(),
                label: sample.labels.iter().map(|label| label_record(label.key, label.value)).collect(),
            };
            self.message(field::SAMPLE, &record);
        }
    }

    fn program(&mut self, profile: &Profile) {
        for (id, mapping) in (1..).zip(&profile.mappings) {
            let [has_functions, has_filenames, has_line_numbers, has_inline_frames] = mapping.resolved;
            let record = MappingRecord {
                id,
                start: mapping.start,
                limit: mapping.limit,
                offset: mapping.offset,
                file: index(mapping.file),
                build_id: index(mapping.build_id),
                has_functions,
                has_filenames,
                has_line_numbers,
                has_inline_frames,
            };
            self.message(field::MAPPING, &record);
        }
        for (number, location) in (0..).zip(&profile.locations) {
            let line = profile.lines(number).iter().map(|line| LineRecord {
                function_id: u64::from(line.function) + 1,
                line: line.line,
                column: line.column,
            });
            let record = LocationRecord {
                id: u64::from(number) + 1,
                mapping_id: location.mapping.map_or(0, |at| u64::from(at) + 1),
                address: location.address,
                line: line.collect(),
                is_folded: location.is_folded,
            };
            self.message(field::LOCATION, &record);
        }
        for (id, function) in (1..).zip(&profile.functions) {
            let record = FunctionRecord {
                id,
                name: index(function.name),
                system_name: index(function.system_name),
                file: index(function.file),
                start_line: function.start_line,
            };
            self.message(field::FUNCTION, &record);
        }
    }

    fn table(&mut self, profile: &Profile) {
        let of_profile = profile.texts.iter().chain((profile.texts.len() == 0).then_some(""));
        for text in of_profile.chain(self.added.iter().copied()) {
            encoding::encode_key(field::STRING_TABLE, WireType::LengthDelimited, &mut self.bytes);
            encoding::encode_varint(text.len() as u64, &mut self.bytes);
            self.bytes.extend_from_slice(text.as_bytes());
        }
    }
}

fn index(text: Text) -> i64 {
    i64::from(text.0)
}

fn label_record(key: Text, value: LabelValue) -> LabelRecord {
    let key = index(key);
    match value {
        LabelValue::Text(text) => LabelRecord { key, text: index(text), ..LabelRecord::default() },
        LabelValue::Number(number, unit) => {
            LabelRecord { key, number, unit: index(unit), ..LabelRecord::default() }
        }
    }
}
