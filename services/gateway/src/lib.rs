//! Takes in telemetry of devices and hands it on.
//!
//! `intake` reads a body, `accept` is the one path of every sample, `queue` bounds what waits, `journal` lets it outlive
//! the process, `pool` hands it to the `sink`, `server` puts a process together. Start at [`server::start`] for how a
//! process runs, at [`accept`] for what the service means.

pub mod accept;
pub mod breaker;
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
pub mod server;
pub mod settings;
pub mod sink;
pub mod task;
