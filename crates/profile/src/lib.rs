//! pprof profiles: where a program spent processor time, memory and waiting time.
//!
//! Pure: bytes go in, tables and trees come out; no clock, no files, no network. A profile is untrusted: reading is
//! bounded in memory ([`Limits`]), never panics, and an error names the record and the byte.
//!
//! [`read`] makes a [`Profile`] of bytes; a [`View`] of it is one sample type with frames resolved to functions; from a
//! view come [`top`], [`CallTree`], and, from two of them, [`compare`]. Numbers are those of `go tool pprof` on the
//! same files; tests compare both. Format: `profile.proto` of github.com/google/pprof.

mod build;
mod callers;
mod compare;
mod comparison;
mod error;
mod gaussian;
mod kind;
mod measure;
mod merge;
mod model;
mod perf;
mod read;
mod symbol;
mod tally;
mod text;
mod top;
mod tree;
mod view;
mod waits;
mod write;

pub use build::{Builder, Frame};
pub use compare::compare;
pub use comparison::{
    Amount, Basis, CallerChange, Caveat, Change, ComparedSide, Comparison, Mover, Side, Significance,
};
pub use error::{CompareError, MergeError, Problem, ReadError, Record, TypeError, ViewError};
pub use kind::{Counting, Kind, Sampling};
pub use merge::{merge, since};
pub use model::{Function, Label, LabelValue, Location, Mapping, Profile, Sample, SourceLine, ValueType};
pub use perf::from_perf;
pub use read::{Limits, read, read_within};
pub use text::Text;
pub use top::{Row, Sort, Top, TopOptions, top};
pub use tree::{CallTree, TreeNode};
pub use view::{Node, View, ViewOptions};
pub use waits::{LineWait, request_waits};
pub use write::write;
