//! The load that a run offers: scenarios, arrival schedules, steps, checks, objectives.
//!
//! Pure: time is the argument of a schedule; random choices are functions of seed and arrival number. Start reading at
//! [`model`], the resolved workload. How one is read from files is another crate's job.

pub mod address;
pub mod call;
pub mod capacity;
pub mod connection;
mod constant_load;
pub mod cpu_list;
pub mod data;
pub mod draw;
pub mod executor;
pub mod experiment;
pub mod files;
pub mod http;
mod index;
pub mod interleaved;
mod loaded_plan;
pub mod look_plan;
pub mod message;
pub mod model;
pub mod nearest;
pub mod objective;
pub mod observation;
pub mod offer;
pub mod proxy;
pub mod redact;
pub mod row_picker;
pub mod schedule;
pub mod secret_address;
pub mod target;
pub mod template;
pub mod think;
pub mod timetable;
pub mod turns;
pub mod units;
pub mod until_decided;
pub mod vu_ramp;
mod windows;

pub use call::{CallOptions, CancelAfter};
pub use connection::{
    Connecting, ConnectionOrder, Dns, HttpVersion, IpVersion, Resumption, Retry, Reuse, Scheme, TlsFiles,
    TlsSettings,
};
pub use data::{RowSet, Table};
pub use draw::Draw;
pub use files::{Files, FilesInMemory};
pub use http::HttpOptions;
pub use index::ScenarioIndex;
pub use interleaved::SharedLoad;
pub use loaded_plan::LoadedPlan;
pub use message::{MessageTemplate, Method, Schemas};
pub use model::*;
pub use objective::{
    Comparison, CostKind, Filter, Measure, MetricMeasure, MetricStatistic, MetricUnit, Objective, Quantity,
    Statistic,
};
pub use redact::Redactor;
pub use row_picker::{RowPicker, RowTaker};
pub use schedule::{Schedule, Segment};
pub use template::Template;
pub use think::{Think, ThinkDistribution};
pub use timetable::Timetable;
pub use turns::{Interleaved, Turns};
pub use until_decided::{LOOK_CONFIDENCE, LOOKS, UntilDecided, WholeRunObjective};
pub use vu_ramp::VuRamp;
