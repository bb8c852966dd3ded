//! Truth tests: the engine's accounting of a run is compared with the logs of the targets.
//!
//! Targets run in this process and log on the same monotonic clock. No test asserts a speed: measured times have
//! lower bounds only, taken from the target's log, and counts are exact. Time limits only end tests that hang.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod accounting;
mod addresses;
mod attribution;
mod body_budget;
mod bytes;
mod connections;
mod drive;
mod drops;
mod executors;
mod exemplars;
mod exhaustion;
mod extraction;
mod grpc_outcomes;
mod h2_peer;
mod headers;
mod http2_outcomes;
mod http_outcomes;
mod loops;
mod malformed;
mod metrics;
mod nginx;
mod opening;
mod perturbed;
mod phases;
mod plan;
mod pools;
mod ports;
mod proxy;
mod recorder;
mod retries;
mod script_connections;
mod script_time;
mod scripts;
mod semantics;
mod sessions;
mod shared_limit;
mod stall;
mod stopping;
mod streams;
mod tcp_peer;
mod time_of_day;
mod times;
mod tls;
mod together;
mod wakeup;
mod windows;
