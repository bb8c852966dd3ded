//! What load to offer: scenarios, arrival schedules, steps, checks, objectives; read from plan files and
//! checked before a byte is sent.
//!
//! Pure: files come through a reader that the caller gives, time is the argument of a schedule, chance is
//! a function of seed and arrival number. Start reading at [`model`], the resolved workload that
//! everything else makes or uses; [`plan`] makes one from a file.

pub mod adhoc;
pub mod call;
pub mod connection;
pub mod data;
pub mod draw;
mod executor;
pub mod http;
pub mod message;
pub mod model;
mod nearest;
pub mod objective;
pub mod observation;
pub mod offer;
pub mod plan;
pub mod proxy;
pub mod redact;
pub mod schedule;
pub mod target_list;
pub mod template;
pub mod timetable;
pub mod units;
pub mod vu_ramp;

pub use call::{CallOptions, CancelAfter};
pub use connection::{Connecting, Dns, HttpVersion, IpVersion, Reuse, Scheme, TlsSettings};
pub use data::Table;
pub use draw::{Draw, RowPicker};
pub use http::HttpOptions;
pub use message::{MessageTemplate, Method, Schemas};
pub use model::*;
pub use objective::{Comparison, Filter, Measure, Objective, Statistic};
pub use plan::{Files, LoadedPlan, Overrides, PlanErrors, TlsFiles};
pub use redact::Redactor;
pub use schedule::{Schedule, Segment};
pub use template::Template;
pub use timetable::Timetable;
pub use vu_ramp::VuRamp;
