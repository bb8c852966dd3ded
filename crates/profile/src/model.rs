//! A profile as it was read: every reference is resolved and known to be in range.

use crate::text::{Text, Texts};

/// What a value of a sample counts, and its unit: `cpu` in `nanoseconds`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, serde::Serialize)]
pub struct ValueType {
    /// What is counted: `cpu`, `alloc_space`.
    #[serde(rename = "type")]
    pub name: String,
    /// Its unit as the profile spells it, such as `nanoseconds`, `bytes` or `count`.
    pub unit: String,
}

/// A binary or library that was mapped into the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mapping {
    /// Its first address.
    pub start: u64,
    /// The address after its last.
    pub limit: u64,
    /// The offset of its first byte in the file.
    pub offset: u64,
    /// The file's path.
    pub file: Text,
    pub build_id: Text,
    /// Whether functions, file names, line numbers and inlined frames were resolved for it, in this order.
    pub resolved: [bool; 4],
}

/// A function of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Function {
    /// Its name in the source.
    pub name: Text,
    /// Its symbol name.
    pub system_name: Text,
    /// The source file.
    pub file: Text,
    /// The line at which it begins; 0 if unknown.
    pub start_line: i64,
}

/// A line of the source. A location has several when calls were inlined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SourceLine {
    /// Index into [`Profile::functions`].
    pub function: u32,
    /// The line; 0 if unknown.
    pub line: i64,
    /// The column; 0 if unknown.
    pub column: i64,
}

/// An address in the program; stacks are made of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location {
    /// Index into [`Profile::mappings`].
    pub mapping: Option<u32>,
    /// Its address; 0 if unknown.
    pub address: u64,
    /// Whether several symbols map to its address, so that its lines are a guess.
    pub is_folded: bool,
    pub(crate) lines_end: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LabelValue {
    Text(Text),
    /// A number and its unit, which is often empty.
    Number(i64, Text),
}

/// Further information on a sample, such as the size of the allocated object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label {
    /// Its name.
    pub key: Text,
    pub value: LabelValue,
}

/// One stack and what was counted on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample<'a> {
    /// Indices into [`Profile::locations`], the innermost first.
    pub stack: &'a [u32],
    /// One value for each of [`Profile::sample_types`].
    pub values: &'a [i64],
    /// Further information.
    pub labels: &'a [Label],
}

/// All samples; stacks, values and labels in one vector each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Samples {
    ends: Vec<SampleEnd>,
    stacks: Vec<u32>,
    values: Vec<i64>,
    labels: Vec<Label>,
}

/// Where the stack and the labels of a sample end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct SampleEnd {
    stack: u32,
    labels: u32,
}

impl Samples {
    /// Adds a sample; `None` when there are four billion frames or labels already.
    pub(crate) fn push(&mut self, sample: Sample<'_>) -> Option<()> {
        let end = SampleEnd {
            stack: u32::try_from(self.stacks.len() + sample.stack.len()).ok()?,
            labels: u32::try_from(self.labels.len() + sample.labels.len()).ok()?,
        };
        self.stacks.extend_from_slice(sample.stack);
        self.values.extend_from_slice(sample.values);
        self.labels.extend_from_slice(sample.labels);
        self.ends.push(end);
        Some(())
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Profile {
    /// What is counted: each sample has a value for each of them. At least one.
    pub sample_types: Vec<ValueType>,
    /// The name of the default one, if the profile has it.
    pub default_sample_type: Option<String>,
    /// What is sampled once a period; names are empty if unknown.
    pub period_type: ValueType,
    /// How much of it is between two samples; 0 if unknown.
    pub period: i64,
    /// When it was taken, in nanoseconds since 1970; 0 if unknown.
    pub time_ns: i64,
    /// Its duration, in nanoseconds; 0 for a state, or for everything since the process started.
    pub duration_ns: i64,
    /// Comments of the profiler.
    pub comments: Vec<String>,
    /// The URL of its documentation; empty for none.
    pub doc_url: String,
    /// Frames that match this pattern are left out of stacks, with what they call; empty for none.
    pub drop_frames: String,
    /// Frames that match this pattern are kept nevertheless.
    pub keep_frames: String,
    /// Binaries and libraries; the first is the program's own.
    pub mappings: Vec<Mapping>,
    pub functions: Vec<Function>,
    /// Addresses in the program.
    pub locations: Vec<Location>,
    pub(crate) lines: Vec<SourceLine>,
    pub(crate) samples: Samples,
    pub(crate) texts: Texts,
}

impl Profile {
    pub fn text(&self, text: Text) -> &str {
        self.texts.get(text)
    }

    /// How many samples there are.
    pub fn sample_count(&self) -> usize {
        self.samples.ends.len()
    }

    /// Sample `number`, below [`Profile::sample_count`].
    pub fn sample(&self, number: usize) -> Option<Sample<'_>> {
        let end = *self.samples.ends.get(number)?;
        let start = if number == 0 { SampleEnd::default() } else { *self.samples.ends.get(number - 1)? };
        let width = self.sample_types.len();
        Some(Sample {
            stack: self.samples.stacks.get(start.stack as usize..end.stack as usize)?,
            values: self.samples.values.get(number * width..(number + 1) * width)?,
            labels: self.samples.labels.get(start.labels as usize..end.labels as usize)?,
        })
    }

    pub fn samples(&self) -> impl Iterator<Item = Sample<'_>> {
        (0..self.sample_count()).filter_map(|number| self.sample(number))
    }

    /// The source lines of location `number`, the innermost of inlined calls first; none if it was not resolved.
    pub fn lines(&self, number: u32) -> &[SourceLine] {
        let number = number as usize;
        let start = number.checked_sub(1).and_then(|before| self.locations.get(before));
        let start = start.map_or(0, |location| location.lines_end);
        let end = self.locations.get(number).map_or(start, |location| location.lines_end);
        self.lines.get(start as usize..end as usize).unwrap_or_default()
    }
}
