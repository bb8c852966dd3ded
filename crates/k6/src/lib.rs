//! k6 scripts as iterations of the engine.

pub mod options;
pub mod summary;
