//! Assembles records into a profile. A file may contain them in any order, so each kind is a pass of its own over the
//! outer message: strings first, then the records that refer to them, and so on.

use prost::Message;

use super::ids::{DuplicateId, Ids};
use super::messages::{
    FunctionRecord, LabelRecord, LineRecord, LocationRecord, MappingRecord, SampleRecord, ValueTypeRecord,
    field,
};
use super::records::{Body, Piece, Pieces};
use crate::error::{Problem, ReadError, Record};
use crate::model::{Function, Label, LabelValue, Location, Mapping, Profile, Sample, SourceLine, ValueType};
use crate::text::Text;

/// No profiler writes a record of this size, except a string; decoding takes a few times as much memory.
const MAX_RECORD_BYTES: usize = 1 << 20;
const MAX_COMMENTS: usize = 1_024;
/// All comments together.
const MAX_COMMENT_BYTES: usize = 1 << 20;
/// Each sample has a value for every sample type.
const MAX_TYPES: usize = 256;
/// Mappings, functions and locations, of each; large programs have a tenth of it.
const MAX_SYMBOLS: usize = 1 << 20;
/// Samples, strings, labels, and lines of locations, of each.
const MAX_ITEMS: usize = 4 << 20;
/// How much of a file of another format is quoted.
const QUOTED_BYTES: usize = 24;

pub(super) fn assemble(bytes: &[u8], most_frames: u64) -> Result<Profile, ReadError> {
    if bytes.is_empty() {
        return Err(ReadError::Empty);
    }
    let mut assembly = Assembly { bytes, most_frames, ..Assembly::default() };
    assembly.texts().map_err(|error| foreign(bytes, error))?;
    assembly.header()?;
    if assembly.profile.sample_types.is_empty() {
        return Err(foreign(bytes, ReadError::NotPprof { why: "it names no sample type".to_owned() }));
    }
    assembly.each(field::MAPPING, Record::Mapping, Assembly::mapping)?;
    assembly.each(field::FUNCTION, Record::Function, Assembly::function)?;
    index_ids(&mut assembly.mappings, bytes, Record::Mapping, field::MAPPING)?;
    index_ids(&mut assembly.functions, bytes, Record::Function, field::FUNCTION)?;
    assembly.each(field::LOCATION, Record::Location, Assembly::location)?;
    index_ids(&mut assembly.locations, bytes, Record::Location, field::LOCATION)?;
    assembly.each(field::SAMPLE, Record::Sample, Assembly::sample)?;
    Ok(assembly.profile)
}

/// An error in the first record means another format rather than damage.
fn foreign(bytes: &[u8], error: ReadError) -> ReadError {
    let starts = |start: &str| bytes.starts_with(start.as_bytes());
    let is_text =
        bytes.iter().take(QUOTED_BYTES).all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t'));
    let why = if starts("go 1.") {
        "it is an execution trace, which `go tool trace` reads".to_owned()
    } else if starts("PERFILE2") {
        "it is data of `perf record`".to_owned()
    } else if is_text {
        let quoted = String::from_utf8_lossy(&bytes[..bytes.len().min(QUOTED_BYTES)]);
        let quoted = quoted.lines().next().unwrap_or_default();
        format!(
            "it is text that begins with `{quoted}`; the pprof endpoints write text when asked with debug=1"
        )
    } else if matches!(error, ReadError::Broken { at: 0, .. }) {
        "its first bytes are not a field of one".to_owned()
    } else {
        return error;
    };
    ReadError::NotPprof { why }
}

/// Prepares ids for lookup. Each may occur once.
fn index_ids(ids: &mut Ids, bytes: &[u8], record: Record, field: u32) -> Result<(), ReadError> {
    let Err(DuplicateId { index, id }) = ids.sort() else { return Ok(()) };
    let index = index as usize;
    let pieces = Pieces::of(bytes).flatten().filter(|piece| piece.field == field);
    let at = pieces.map(|piece| piece.at).nth(index).unwrap_or_default();
    Err(ReadError::Record { record, number: index + 1, at, problem: Problem::DuplicateId(id) })
}

#[derive(Default)]
struct Assembly<'a> {
    bytes: &'a [u8],
    profile: Profile,
    mappings: Ids,
    functions: Ids,
    locations: Ids,
    scratch: SampleRecord,
    stack: Vec<u32>,
    labels: Vec<Label>,
    label_count: usize,
    frames: u64,
    most_frames: u64,
}

type AddRecord<'a> = fn(&mut Assembly<'a>, &[u8]) -> Result<(), Problem>;

impl<'a> Assembly<'a> {
    /// One pass over the records of a kind.
    fn each(&mut self, field: u32, record: Record, add: AddRecord<'a>) -> Result<(), ReadError> {
        let most = if record == Record::Sample { MAX_ITEMS } else { MAX_SYMBOLS };
        let mut number = 0;
        for piece in Pieces::of(self.bytes) {
            let piece = piece?;
            if piece.field != field {
                continue;
            }
            number += 1;
            if number > most {
                return Err(ReadError::Record { record, number, at: piece.at, problem: Problem::TooMany });
            }
            let done = message_of(&piece).and_then(|bytes| add(self, bytes));
            done.map_err(|problem| ReadError::Record { record, number, at: piece.at, problem })?;
            if self.frames > self.most_frames {
                return Err(ReadError::TooManyFrames { most: self.most_frames });
            }
        }
        Ok(())
    }

    fn texts(&mut self) -> Result<(), ReadError> {
        let mut number = 0;
        for piece in Pieces::of(self.bytes) {
            let piece = piece?;
            let wrong =
                |number, problem| ReadError::Record { record: Record::Text, number, at: piece.at, problem };
            if piece.field != field::STRING_TABLE {
                continue;
            }
            number += 1;
            if number > MAX_ITEMS {
                return Err(wrong(number, Problem::TooMany));
            }
            let Body::Bytes(bytes) = piece.body else {
                return Err(wrong(number, Problem::Undecodable("a number".to_owned())));
            };
            if number == 1 && !bytes.is_empty() {
                return Err(wrong(number, Problem::FirstText));
            }
            let text = String::from_utf8_lossy(bytes);
            self.profile.texts.push(&text).ok_or_else(|| wrong(number, Problem::TooMany))?;
        }
        if number == 0 {
            // Without strings nothing has a name, but the index 0 is allowed.
            let _first = self.profile.texts.push("");
        }
        Ok(())
    }

    fn header(&mut self) -> Result<(), ReadError> {
        let mut has_time = false;
        let mut types = 0;
        for piece in Pieces::of(self.bytes) {
            let piece = piece?;
            let record = if piece.field == field::SAMPLE_TYPE { Record::SampleType } else { Record::Header };
            types += usize::from(piece.field == field::SAMPLE_TYPE);
            let number = if piece.field == field::SAMPLE_TYPE { types } else { piece.field as usize };
            let wrong = |problem| ReadError::Record { record, number, at: piece.at, problem };
            if piece.field == field::TIME_NANOS && matches!(piece.body, Body::Number(1..)) {
                if has_time {
                    return Err(wrong(Problem::Twice));
                }
                has_time = true;
            }
            self.header_field(&piece).map_err(wrong)?;
        }
        Ok(())
    }

    fn header_field(&mut self, piece: &Piece<'_>) -> Result<(), Problem> {
        match (piece.field, piece.body) {
            (field::SAMPLE_TYPE, _) => {
                let found = self.value_type(message_of(piece)?)?;
                self.profile.sample_types.push(found);
            }
            (field::PERIOD_TYPE, _) => self.profile.period_type = self.value_type(message_of(piece)?)?,
            (field::COMMENT, Body::Bytes(packed)) => {
                let mut rest = packed;
                while !rest.is_empty() {
                    let number = prost::encoding::decode_varint(&mut rest).map_err(undecodable)?;
                    self.comment(number)?;
                }
            }
            (field::COMMENT, Body::Number(number)) => self.comment(number)?,
            (field::DROP_FRAMES, Body::Number(number)) => {
                self.profile.drop_frames = self.owned_text("drop_frames", number)?;
            }
            (field::KEEP_FRAMES, Body::Number(number)) => {
                self.profile.keep_frames = self.owned_text("keep_frames", number)?;
            }
            (field::DEFAULT_SAMPLE_TYPE, Body::Number(number)) => {
                let name = self.owned_text("default_sample_type", number)?;
                self.profile.default_sample_type = (!name.is_empty()).then_some(name);
            }
            (field::DOC_URL, Body::Number(number)) => {
                self.profile.doc_url = self.owned_text("doc_url", number)?
            }
            (field::TIME_NANOS, Body::Number(number)) => self.profile.time_ns = number.cast_signed(),
            (field::DURATION_NANOS, Body::Number(number)) => self.profile.duration_ns = number.cast_signed(),
            (field::PERIOD, Body::Number(number)) => self.profile.period = number.cast_signed(),
            // Fields of later versions of the format are ignored.
            _ => {}
        }
        Ok(())
    }

    fn comment(&mut self, number: u64) -> Result<(), Problem> {
        let length: usize = self.profile.comments.iter().map(String::len).sum();
        let comment = self.owned_text("comment", number)?;
        // One long string could be referred to many times.
        if length + comment.len() > MAX_COMMENT_BYTES || self.profile.comments.len() >= MAX_COMMENTS {
            return Err(Problem::TooMany);
        }
        self.profile.comments.push(comment);
        Ok(())
    }

    fn text(&self, field: &'static str, index: i64) -> Result<Text, Problem> {
        let texts = self.profile.texts.len();
        match u32::try_from(index) {
            Ok(number) if (number as usize) < texts => Ok(Text(number)),
            _ => Err(Problem::NoText { field, index, texts }),
        }
    }

    fn owned_text(&self, field: &'static str, number: u64) -> Result<String, Problem> {
        let text = self.text(field, number.cast_signed())?;
        Ok(self.profile.text(text).to_owned())
    }

    fn value_type(&self, bytes: &[u8]) -> Result<ValueType, Problem> {
        if self.profile.sample_types.len() >= MAX_TYPES {
            return Err(Problem::TooMany);
        }
        let record = ValueTypeRecord::decode(bytes).map_err(undecodable)?;
        Ok(ValueType {
            name: self.profile.text(self.text("type", record.name)?).to_owned(),
            unit: self.profile.text(self.text("unit", record.unit)?).to_owned(),
        })
    }

    fn mapping(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let record = MappingRecord::decode(bytes).map_err(undecodable)?;
        let mapping = Mapping {
            start: record.start,
            limit: record.limit,
            offset: record.offset,
            file: self.text("filename", record.file)?,
            build_id: self.text("build_id", record.build_id)?,
            resolved: [
                record.has_functions,
                record.has_filenames,
                record.has_line_numbers,
                record.has_inline_frames,
            ],
        };
        add(&mut self.mappings, record.id)?;
        self.profile.mappings.push(mapping);
        Ok(())
    }

    fn function(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let record = FunctionRecord::decode(bytes).map_err(undecodable)?;
        let function = Function {
            name: self.text("name", record.name)?,
            system_name: self.text("system_name", record.system_name)?,
            file: self.text("filename", record.file)?,
            start_line: record.start_line,
        };
        add(&mut self.functions, record.id)?;
        self.profile.functions.push(function);
        Ok(())
    }

    fn location(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let record = LocationRecord::decode(bytes).map_err(undecodable)?;
        let mapping = match record.mapping_id {
            0 => None,
            id => Some(found(&self.mappings, Record::Mapping, id)?),
        };
        for LineRecord { function_id, line, column } in record.line {
            let function = found(&self.functions, Record::Function, function_id)?;
            self.profile.lines.push(SourceLine { function, line, column });
        }
        if self.profile.lines.len() > MAX_ITEMS {
            return Err(Problem::TooMany);
        }
        let lines_end = u32::try_from(self.profile.lines.len()).map_err(|_| Problem::TooMany)?;
        add(&mut self.locations, record.id)?;
        let location = Location { mapping, address: record.address, is_folded: record.is_folded, lines_end };
        self.profile.locations.push(location);
        Ok(())
    }

    fn sample(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let mut record = std::mem::take(&mut self.scratch);
        record.clear();
        record.merge(bytes).map_err(undecodable)?;
        let types = self.profile.sample_types.len();
        if record.value.len() != types {
            return Err(Problem::Values { values: record.value.len(), types });
        }
        self.stack.clear();
        for &id in &record.location_id {
            let location = found(&self.locations, Record::Location, id)?;
            self.frames += self.profile.lines(location).len().max(1) as u64;
            self.stack.push(location);
        }
        self.labels.clear();
        for &label in &record.label {
            let label = self.label(label)?;
            self.labels.push(label);
        }
        self.label_count += self.labels.len();
        if self.label_count > MAX_ITEMS {
            return Err(Problem::TooMany);
        }
        let sample = Sample { stack: &self.stack, values: &record.value, labels: &self.labels };
        self.profile.samples.push(sample).ok_or(Problem::TooMany)?;
        self.scratch = record;
        Ok(())
    }

    fn label(&self, record: LabelRecord) -> Result<Label, Problem> {
        let key = self.text("label's key", record.key)?;
        let value = if record.text == 0 {
            LabelValue::Number(record.number, self.text("label's unit", record.unit)?)
        } else {
            LabelValue::Text(self.text("label", record.text)?)
        };
        Ok(Label { key, value })
    }
}

fn message_of<'a>(piece: &Piece<'a>) -> Result<&'a [u8], Problem> {
    match piece.body {
        Body::Bytes(bytes) if bytes.len() <= MAX_RECORD_BYTES => Ok(bytes),
        Body::Bytes(bytes) => Err(Problem::TooLong { bytes: bytes.len(), most: MAX_RECORD_BYTES }),
        Body::Number(_) | Body::Fixed => {
            Err(Problem::Undecodable("a number where a record should be".to_owned()))
        }
    }
}

fn add(ids: &mut Ids, id: u64) -> Result<(), Problem> {
    if id == 0 {
        return Err(Problem::ReservedId);
    }
    ids.push(id).ok_or(Problem::TooMany)
}

fn found(ids: &Ids, what: Record, id: u64) -> Result<u32, Problem> {
    ids.find(id).ok_or(Problem::NoSuch { what, id })
}

fn undecodable(error: prost::DecodeError) -> Problem {
    Problem::Undecodable(error.to_string())
}
