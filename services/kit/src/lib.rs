//! What every service shares, so that all are operated in the same way: configuration from the environment, structured
//! logs, health, metrics, bounded serving and drain.
//!
//! It must not depend on any service's subject. Start reading at [`serve`] and [`drain`].

pub mod admin;
pub mod auth;
pub mod backlog;
pub mod caller_limit;
pub mod client;
pub mod clock;
pub mod drain;
pub mod env;
pub mod exposure;
#[cfg(feature = "faults")]
pub mod faults;
pub mod group_commit;
pub mod grpc;
pub mod grpc_metrics;
pub mod health;
#[cfg(not(feature = "full"))]
mod lean;
pub mod limit;
pub mod logs;
pub mod metrics;
#[cfg_attr(not(feature = "full"), path = "without_postgres.rs")]
pub mod postgres;
pub mod private_files;
pub mod probe;
pub mod process;
mod process_metrics;
pub mod profiling;
pub mod serve;
pub mod servers;
pub mod sqlite;
pub mod store;
