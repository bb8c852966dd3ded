//! The load that a run offers: scenarios, arrival schedules, steps, checks, objectives; read from plan files and
//! checked before a byte is sent.
//!
//! Pure: files are read through [`Files`], which the caller implements; time is the argument of a schedule; random
//! choices are functions of seed and arrival number. Start reading at [`model`], the resolved workload;
//! [`plan`] makes one from a plan file, [`adhoc`] from command-line options.

pub mod address;
pub mod adhoc;
pub mod call;
pub mod capacity;
pub mod connection;
mod constant_load;
pub mod data;
pub mod draw;
mod executor;
pub mod experiment;
mod files;
pub mod http;
mod index;
mod look_plan;
pub mod message;
pub mod model;
mod nearest;
pub mod objective;
pub mod observation;
pub mod offer;
pub mod plan;
pub mod proxy;
pub mod redact;
pub mod row_picker;
pub mod schedule;
mod secret_address;
mod stop_rules;
mod target;
pub mod target_list;
pub mod template;
pub mod think;
pub mod timetable;
pub mod units;
mod until_decided;
pub mod vu_ramp;
mod windows;

pub use call::{CallOptions, CancelAfter};
pub use connection::{
    Connecting, ConnectionOrder, Dns, HttpVersion, IpVersion, Resumption, Retry, Reuse, Scheme, TlsFiles,
    TlsSettings,
};
pub use data::{RowSet, Table};
pub use draw::Draw;
pub use files::Files;
pub use http::HttpOptions;
pub use index::ScenarioIndex;
pub use message::{MessageTemplate, Method, Schemas};
pub use model::*;
pub use objective::{
    Comparison, CostKind, Filter, Measure, MetricMeasure, MetricStatistic, MetricUnit, Objective, Quantity,
    Statistic,
};
pub use plan::{LoadedPlan, Overrides, PlanErrors};
pub use redact::Redactor;
pub use row_picker::{RowPicker, RowTaker};
pub use schedule::{Schedule, Segment};
pub use template::Template;
pub use think::{Think, ThinkDistribution};
pub use timetable::Timetable;
pub use until_decided::{LOOK_CONFIDENCE, LOOKS, UntilDecided, WholeRunObjective};
pub use vu_ramp::VuRamp;
