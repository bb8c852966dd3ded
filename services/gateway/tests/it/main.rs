//! The gateway from outside: real ports, real files, a real Redis; and the real binary, killed.

#![allow(clippy::unwrap_used, reason = "a failed test should show where")]

mod access;
mod bad_input;
mod binary;
mod clients;
mod clock;
mod deploy;
mod devices;
mod disk;
mod full;
mod injected_faults;
mod killed;
mod openapi;
mod pitfalls;
mod process;
mod profiles;
mod published;
mod redis;
mod replicas;
mod simulate;
mod support;
mod telemetry;
