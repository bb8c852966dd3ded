//! The telemetry gateway: accepts samples of devices and hands them on.
//!
//! `caller` knows the caller, `intake` parses a body, `accept` is the path of every sample, `queue` bounds the tasks in memory, `journal` keeps
//! them on disk, `pool` hands them to the `sink`, `server` assembles a process; `simulate` is a client. Start at [`server::start`] for how a
//! process runs, at [`accept`] for what the service does.

pub mod accept;
pub mod breaker;
pub mod caller;
pub mod collector;
pub mod device;
pub mod entry;
#[cfg(feature = "faults")]
pub mod faults;
pub mod http;
pub mod instant;
pub mod intake;
pub mod journal;
pub mod meters;
pub mod pool;
pub mod proto;
pub mod quantile;
pub mod queue;
pub mod sample;
pub mod segment;
pub mod server;
pub mod settings;
pub mod simulate;
pub mod sink;
pub mod task;
