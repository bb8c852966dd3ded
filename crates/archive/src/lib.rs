//! The run file: written during the run, sealed, read back.
//!
//! One SQLite file is one run. [`Writer`] creates and fills it, [`Recorder`] is the thread that alone
//! hands evidence to the writer and the other sinks, [`Stored`] reads it back as an
//! [`evidence::Run`]. `docs/archive.md` describes every table. This crate judges nothing, reads no wall
//! clock (times come in as text) and redacts nothing: no secret may reach it. Start reading at
//! [`Writer`]; the tables themselves are in `schema.rs`.

mod beside;
mod copy;
mod digest;
mod error;
mod exemplars;
mod file_name;
mod header;
mod instances;
mod judgements;
mod load;
mod metric_values;
mod metrics;
mod observed;
mod open;
mod private;
mod readable;
mod recorder;
mod replace;
mod schema;
mod seal;
mod stored;
mod writer;

pub use error::ArchiveError;
pub use file_name::{EXTENSION, file_name};
pub use judgements::{Judged, append_judgement};
pub use private::{private_file, private_folder};
pub use readable::Readable;
pub use recorder::{RecordError, Recorded, Recorder, Sinks};
pub use replace::{aside, remove, set_aside};
pub use schema::{APPLICATION_ID, DIGEST_TABLES, TABLES};
pub use stored::Stored;
pub use writer::{Overwrite, Writer};
