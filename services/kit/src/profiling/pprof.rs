//! Writes profiles in the format of pprof: a gzip-compressed `perftools.profiles.Profile`
//! (<https://github.com/google/pprof/blob/main/proto/profile.proto>), whose field numbers are those below.

use std::collections::HashMap;
use std::io::{self, Write as _};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use prost::Message;

use super::program::Program;
use super::symbols::Symbols;

#[derive(Clone, PartialEq, Message)]
struct ProfileMessage {
    #[prost(message, repeated, tag = "1")]
    sample_type: Vec<ValueType>,
    #[prost(message, repeated, tag = "2")]
    sample: Vec<SampleMessage>,
    #[prost(message, repeated, tag = "3")]
    mapping: Vec<MappingMessage>,
    #[prost(message, repeated, tag = "4")]
    location: Vec<LocationMessage>,
    #[prost(message, repeated, tag = "5")]
    function: Vec<FunctionMessage>,
    #[prost(string, repeated, tag = "6")]
    string_table: Vec<String>,
    #[prost(int64, tag = "9")]
    time_nanos: i64,
    #[prost(int64, tag = "10")]
    duration_nanos: i64,
    #[prost(message, optional, tag = "11")]
    period_type: Option<ValueType>,
    #[prost(int64, tag = "12")]
    period: i64,
    #[prost(int64, repeated, tag = "13")]
    comment: Vec<i64>,
    #[prost(int64, tag = "14")]
    default_sample_type: i64,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct ValueType {
    #[prost(int64, tag = "1")]
    name: i64,
    #[prost(int64, tag = "2")]
    unit: i64,
}

#[derive(Clone, PartialEq, Message)]
struct SampleMessage {
    #[prost(uint64, repeated, tag = "1")]
    location_id: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    value: Vec<i64>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct MappingMessage {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(uint64, tag = "2")]
    memory_start: u64,
    #[prost(uint64, tag = "3")]
    memory_limit: u64,
    #[prost(uint64, tag = "4")]
    file_offset: u64,
    #[prost(int64, tag = "5")]
    filename: i64,
    #[prost(int64, tag = "6")]
    build_id: i64,
    #[prost(bool, tag = "7")]
    has_functions: bool,
}

#[derive(Clone, PartialEq, Message)]
struct LocationMessage {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(uint64, tag = "2")]
    mapping_id: u64,
    #[prost(uint64, tag = "3")]
    address: u64,
    #[prost(message, repeated, tag = "4")]
    line: Vec<LineMessage>,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct LineMessage {
    #[prost(uint64, tag = "1")]
    function_id: u64,
}

#[derive(Clone, Copy, PartialEq, Message)]
struct FunctionMessage {
    #[prost(uint64, tag = "1")]
    id: u64,
    #[prost(int64, tag = "2")]
    name: i64,
    #[prost(int64, tag = "3")]
    system_name: i64,
}

/// What a profile's values mean.
#[derive(Debug, Clone, Copy)]
pub(super) struct Header<'a> {
    /// Name and unit of each value of a sample.
    pub(super) values: &'a [[&'a str; 2]],
    /// The value that is shown when none is asked for.
    pub(super) shown: &'a str,
    /// Name and unit of what is between two samples.
    pub(super) period_type: [&'a str; 2],
    pub(super) period: i64,
    /// Since 1970.
    pub(super) time_ns: i64,
    /// What the profile covers.
    pub(super) duration_ns: i64,
    /// A remark for people; empty for none.
    pub(super) comment: &'a str,
}

pub(super) fn nanoseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

/// Values with the addresses that they were sampled at: the innermost first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) addresses: Vec<u64>,
    pub(super) values: Vec<i64>,
}

/// The bytes of a profile. `is_own` names functions of the sampling itself, which are left out where they are innermost.
///
/// # Errors
/// Never in practice: memory is written to.
pub(super) fn encode(
    header: &Header<'_>,
    samples: &[Sample],
    program: &Program,
    is_own: fn(&str) -> bool,
) -> io::Result<Vec<u8>> {
    let addresses = samples.iter().flat_map(|sample| sample.addresses.iter().copied());
    let symbols = Symbols::resolve(program, addresses);
    let mut tables = Tables::new(program, &symbols);
    let samples = samples.iter().map(|sample| tables.sample(sample, is_own)).collect();
    let profile = tables.into_profile(header, samples);
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&profile.encode_to_vec())?;
    gzip.finish()
}

struct Texts {
    indices: HashMap<String, i64>,
    table: Vec<String>,
}

impl Default for Texts {
    fn default() -> Self {
        Self { indices: HashMap::from([(String::new(), 0)]), table: vec![String::new()] }
    }
}

impl Texts {
    fn index(&mut self, text: &str) -> i64 {
        if let Some(index) = self.indices.get(text) {
            return *index;
        }
        let index = self.table.len() as i64;
        self.table.push(text.to_owned());
        self.indices.insert(text.to_owned(), index);
        index
    }
}

struct Tables<'p> {
    program: &'p Program,
    symbols: &'p Symbols,
    texts: Texts,
    location_ids: HashMap<u64, u64>,
    locations: Vec<LocationMessage>,
    function_ids: HashMap<&'p str, u64>,
    functions: Vec<FunctionMessage>,
}

impl<'p> Tables<'p> {
    fn new(program: &'p Program, symbols: &'p Symbols) -> Self {
        Self {
            program,
            symbols,
            texts: Texts::default(),
            location_ids: HashMap::new(),
            locations: Vec::new(),
            function_ids: HashMap::new(),
            functions: Vec::new(),
        }
    }

    fn sample(&mut self, sample: &Sample, is_own: fn(&str) -> bool) -> SampleMessage {
        let own =
            sample.addresses.iter().take_while(|address| self.symbols.name(**address).is_some_and(is_own));
        let own = own.count();
        let location_id = sample.addresses[own..].iter().map(|address| self.location(*address)).collect();
        SampleMessage { location_id, value: sample.values.clone() }
    }

    fn location(&mut self, address: u64) -> u64 {
        if let Some(id) = self.location_ids.get(&address) {
            return *id;
        }
        let id = self.locations.len() as u64 + 1;
        let mapping_id = self.program.module_at(address).map_or(0, |module| module as u64 + 1);
        let line = self.symbols.name(address).map(|name| LineMessage { function_id: self.function(name) });
        self.locations.push(LocationMessage { id, mapping_id, address, line: line.into_iter().collect() });
        self.location_ids.insert(address, id);
        id
    }

    fn function(&mut self, name: &'p str) -> u64 {
        if let Some(id) = self.function_ids.get(name) {
            return *id;
        }
        let id = self.functions.len() as u64 + 1;
        let text = self.texts.index(name);
        self.functions.push(FunctionMessage { id, name: text, system_name: text });
        self.function_ids.insert(name, id);
        id
    }

    fn into_profile(self, header: &Header<'_>, sample: Vec<SampleMessage>) -> ProfileMessage {
        let mut texts = self.texts;
        let mut value_type =
            |[name, unit]: [&str; 2]| ValueType { name: texts.index(name), unit: texts.index(unit) };
        let sample_type = header.values.iter().map(|value| value_type(*value)).collect();
        let period_type = Some(value_type(header.period_type));
        let mapping = (1..).zip(&self.program.modules).map(|(id, module)| MappingMessage {
            id,
            memory_start: module.mapping.addresses.start,
            memory_limit: module.mapping.addresses.end,
            file_offset: module.mapping.offset,
            filename: texts.index(&module.mapping.name),
            build_id: texts.index(&module.build_id),
            has_functions: true,
        });
        let mapping = mapping.collect();
        let comment = Some(header.comment).filter(|comment| !comment.is_empty());
        ProfileMessage {
            sample_type,
            sample,
            mapping,
            location: self.locations,
            function: self.functions,
            time_nanos: header.time_ns,
            duration_nanos: header.duration_ns,
            period_type,
            period: header.period,
            comment: comment.map(|comment| texts.index(comment)).into_iter().collect(),
            default_sample_type: texts.index(header.shown),
            string_table: texts.table,
        }
    }
}
