//! Observers against real processes, which say of themselves what they did.
//!
//! Helpers unwrap as the tests do: a panic is how a test fails.

#![allow(clippy::unwrap_used)]

mod cgroup;
mod child;
mod host;
mod looking;
mod postgres;
mod postgres_session;
mod postgres_tls;
mod process;
mod profiles;
mod prometheus;
mod redis;
mod reference_probe;
mod watch;
