//! What a run counted, folded once from its keys: the numbers that judgements, reports and checks share.
//!
//! Pure: it reads a run and the workload that it offered, and decides nothing. Start reading at [`Figures`].

#![warn(missing_docs)]

mod arrivals;
mod ended;
mod figures;
mod fold;
mod generator;
pub mod live;
pub mod number;
mod observation;
mod phase_total;
mod results;
mod row;
mod row_key;
mod scenario_phase;
mod second;
mod stop_rules;
mod url_pattern;
mod window;

pub use arrivals::Arrivals;
pub use ended::EndedCounts;
pub use figures::{Figures, TimeGroup};
pub use generator::{ConnectionTimes, GeneratorFigures};
pub use observation::{dropped_requests, metric_of};
pub use phase_total::PhaseTotal;
pub use results::{ReasonCount, ResultCounts, StatusCount};
pub use row::{CheckCounts, Row};
pub use row_key::{PlanPosition, RowKey, is_any_or};
pub use scenario_phase::{ArrivalCounts, ScenarioPhase};
pub use second::SecondCounts;
pub use stop_rules::stop_rules;
pub use url_pattern::UrlPattern;
pub use window::{PhaseWindow, WindowCounts};
