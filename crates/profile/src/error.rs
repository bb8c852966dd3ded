//! Why a profile cannot be read, merged or compared.

use std::fmt;

/// The records of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Record {
    SampleType,
    /// A stack with its values.
    Sample,
    /// A binary or library.
    Mapping,
    /// An address in the program.
    Location,
    Function,
    /// A string of the table.
    Text,
    /// A field that occurs once.
    Header,
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Record::SampleType => "sample type",
            Record::Sample => "sample",
            Record::Mapping => "mapping",
            Record::Location => "location",
            Record::Function => "function",
            Record::Text => "string",
            Record::Header => "header field",
        })
    }
}

/// What is wrong with a record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Its bytes are not such a message.
    #[error("it cannot be decoded ({0})")]
    Undecodable(String),
    /// It is longer than any profiler writes.
    #[error("it has {bytes} bytes, more than {most}")]
    TooLong {
        /// Its length.
        bytes: usize,
        most: usize,
    },
    /// It names a string outside the table.
    #[error("its {field} is string {index}, and the table has {texts}")]
    NoText {
        field: &'static str,
        /// Its value.
        index: i64,
        texts: usize,
    },
    /// It names a mapping, location or function that does not exist.
    #[error("it names {what} {id}, which does not exist")]
    NoSuch {
        /// What it names.
        what: Record,
        id: u64,
    },
    /// The id 0 means "none".
    #[error("its id is 0, which is reserved")]
    ReservedId,
    /// Two have the same id.
    #[error("its id {0} is also that of another")]
    DuplicateId(u64),
    /// The number of its values is not that of the sample types.
    #[error("it has {values} values, and there are {types} sample types")]
    Values {
        values: usize,
        /// How many it should have.
        types: usize,
    },
    /// A field that may occur once occurs again, as in two files written one after the other.
    #[error("the time is given twice: these are several profiles in one file")]
    Twice,
    /// The table's first string is not the empty one.
    #[error("the first string of the table is not the empty one")]
    FirstText,
    /// More of them than are supported.
    #[error("there are too many")]
    TooMany,
}

/// Why bytes are not a profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// There are none.
    #[error("it is empty")]
    Empty,
    /// More than the caller allows, once they are inflated.
    #[error("it has more than {most} bytes once it is inflated")]
    TooLarge { most: usize },
    /// Stacks so deep and so many that reading them would take too long.
    #[error("its stacks have more than {most} frames in all")]
    TooManyFrames { most: u64 },
    /// The compressed stream is cut or damaged.
    #[error("its gzip stream breaks off or is damaged after {inflated_bytes} bytes ({why})")]
    Gzip {
        /// How much could be inflated.
        inflated_bytes: usize,
        /// The error of the inflater.
        why: String,
    },
    /// Something else than a profile in pprof's format.
    #[error("it is not a pprof profile: {why}")]
    NotPprof {
        /// What it appears to be instead.
        why: String,
    },
    /// The outer encoding is broken, as in a truncated file.
    #[error("at byte {at}: {why}")]
    Broken {
        /// Where, in the inflated bytes.
        at: usize,
        why: &'static str,
    },
    /// One record is wrong.
    #[error("{record} {number} at byte {at}: {problem}")]
    Record {
        record: Record,
        /// Which one, from 1.
        number: usize,
        /// Where it begins, in the inflated bytes.
        at: usize,
        problem: Problem,
    },
}

/// A sample type that does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it has no sample type `{requested}`; it has: {}", known.join(", "))]
pub struct TypeError {
    pub requested: String,
    /// Those that exist.
    pub known: Vec<String>,
}

/// Why a profile cannot be viewed with these options.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ViewError {
    /// There is no such sample type.
    #[error(transparent)]
    Type(#[from] TypeError),
    /// The focus is not a regular expression.
    #[error("the focus is not a regular expression: {0}")]
    Focus(String),
}

/// Why profiles cannot be merged or subtracted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// They count different things.
    #[error("they count different things: {first}, and {other}")]
    Types {
        /// The sample types of the first.
        first: String,
        /// Those of another.
        other: String,
    },
    /// A value that only grows became less.
    #[error(
        "`{sample_type}` is less at the end than at the start: the process was restarted in between, or the files \
             are the wrong way round"
    )]
    Backwards { sample_type: String },
    /// More samples or texts than one profile can contain.
    #[error("together they are too large")]
    TooLarge,
}

/// Why two profiles cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    /// They count different things.
    #[error("one counts {base}, the other {new}")]
    Types {
        /// What the baseline counts.
        base: String,
        /// What the other counts.
        new: String,
    },
    /// A count of requests for one side alone.
    #[error(
        "both sides need a count of requests, or neither: a cost per request cannot be compared with a share"
    )]
    OneDenominator,
    /// A count of requests that is 0.
    #[error("no request was completed: there is nothing to divide by")]
    NoRequests,
}
