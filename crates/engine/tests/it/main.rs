//! Truth tests: what the engine says of a run is held against what the targets know of it.
//!
//! Targets run in this process and log on the same monotonic clock. No test asserts a speed: measured times
//! have lower bounds only, which the target's log gives, and counts are exact. Time limits are guards
//! against hanging.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod attribution;
mod balance;
mod connections;
mod drive;
mod drops;
mod executors;
mod exemplars;
mod exhaustion;
mod extraction;
mod grpc_outcomes;
mod http2_outcomes;
mod http_outcomes;
mod loops;
mod nginx;
mod phases;
mod plan;
mod proxy;
mod recorder;
mod semantics;
mod stall;
mod stopping;
mod streams;
mod times;
mod tls;
mod together;
