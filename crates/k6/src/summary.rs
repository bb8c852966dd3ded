//! The summary at the end of a run, as k6 shows it, exports it and gives it to `handleSummary`; and the lines that k6 writes of
//! each sample.
//!
//! [`RunRecord::summary`] makes a [`SummaryData`] of what the run counted. [`summary_text`], [`handle_summary`] and
//! [`summary_export`] show it; [`text_summary`] shows what a script made of it.

mod data;
mod json;
mod legacy;
mod lines;
pub mod number;
mod order;
mod record;
mod table;
mod text;
mod text_summary;

pub use data::{
    Check, Contains, Group, RunState, Section, SummaryData, SummaryMetric, SummaryOptions, Threshold, id_of,
};
pub use json::{handle_summary, summary_export};
pub use lines::{CsvColumns, CsvTimeFormat, MetricLine, PartLine, Sample, SampleTime, Tags, ThresholdLine};
pub use record::{Aggregate, MetricDefinition, MetricThresholds, RunRecord, Series};
pub use table::Colours;
pub use text_summary::{SummaryShapeError, text_summary};

use text::Detail;

/// What `--summary-mode` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SummaryMode {
    /// What most readers look at.
    #[default]
    Compact,
    /// Every metric, and each scenario and group by itself.
    Full,
    /// As before version 1 of k6.
    Legacy,
    /// Nothing.
    Disabled,
}

impl SummaryMode {
    const ALL: [(&'static str, SummaryMode); 4] = [
        ("compact", SummaryMode::Compact),
        ("full", SummaryMode::Full),
        ("legacy", SummaryMode::Legacy),
        ("disabled", SummaryMode::Disabled),
    ];

    /// The mode that this text names, if it does.
    #[must_use]
    pub fn from_name(name: &str) -> Option<SummaryMode> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, mode)| *mode)
    }

    /// The text that names it.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, mode)| *mode == self).map_or("compact", |(name, _)| name)
    }
}

/// The text that k6 writes to standard output in this mode, line ends included.
#[must_use]
pub fn summary_text(data: &SummaryData, mode: SummaryMode, colours: Colours) -> String {
    match mode {
        SummaryMode::Compact => text::text(data, Detail::Compact, colours),
        SummaryMode::Full => text::text(data, Detail::Full, colours),
        SummaryMode::Legacy => legacy::legacy(data, colours),
        SummaryMode::Disabled => String::new(),
    }
}
