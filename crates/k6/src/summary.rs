//! The summary at the end of a run, as k6 shows it, exports it and gives it to `handleSummary`.
//!
//! [`RunRecord::summary`] makes a [`SummaryData`] of what the run counted. [`text`] and [`legacy`] show it.

mod data;
mod given;
mod json;
mod legacy;
mod lines;
pub mod number;
mod order;
mod record;
mod table;
mod text;

pub use data::{
    Check, Contains, Group, RunState, Section, SummaryData, SummaryMetric, SummaryOptions, Threshold, id_of,
};
pub use given::{SummaryShapeError, text_summary};
pub use json::{handle_summary, summary_export};
pub use legacy::legacy;
pub use lines::{CsvColumns, MetricLine, PartLine, Sample, SampleTime, Tags, ThresholdLine};
pub use record::{Aggregate, MetricDefinition, MetricThresholds, RunRecord, Series};
pub use table::Colours;
pub use text::{Detail, text};
