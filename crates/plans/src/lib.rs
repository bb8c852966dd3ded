//! How a workload is read and checked before a byte is sent: plan files, experiments and policies, their data and their
//! descriptions of gRPC services, and the options of an ad-hoc run.
//!
//! Pure: files are read through [`workload::Files`], which the caller implements. Start reading at [`load`], which makes a
//! [`workload::LoadedPlan`] from a plan file; [`adhoc`] makes one from command-line options.

pub mod adhoc;
pub mod descriptions;
mod plan;
pub mod rows;
pub mod target_list;

pub use plan::*;
