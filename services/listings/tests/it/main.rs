//! The service from outside: real ports, real SQLite, a real gRPC client; and the real binary, killed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use home::Kind;

/// The embedded store; `tests/postgres` runs the same tests against the other one.
const STORE: Kind = Kind::Sqlite;

mod bad_input;
mod binary;
mod catalogue;
mod clock;
mod deadline;
mod favorites;
mod home;
mod injected_faults;
#[path = "../../../challenge/tests/it/issuer.rs"]
#[allow(dead_code, reason = "the other service asks more of it")]
mod issuer;
mod killed;
mod limits;
mod listings;
mod plans;
mod process;
mod search;
mod similar;
mod stock;
mod support;
mod surface;
mod tokens;
