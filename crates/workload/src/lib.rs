//! What load to offer: scenarios, arrival schedules, steps, checks, objectives; read from plan files and
//! checked before a byte is sent.
//!
//! Pure: files come through a reader that the caller gives, time is the argument of a schedule, chance is
//! a function of seed and arrival number. Start reading at [`model`], the resolved workload that
//! everything else makes or uses.

pub mod model;
pub mod objective;
pub mod template;

pub use model::*;
pub use objective::{Comparison, Filter, Measure, Objective, Statistic};
pub use template::Template;
