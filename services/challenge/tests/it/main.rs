//! The service from outside: real ports, real SQLite, real gRPC; and the real binary, killed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use home::Kind;

/// The embedded store; `tests/postgres` runs the same tests against the other one.
const STORE: Kind = Kind::Sqlite;

mod bad_input;
mod binary;
mod claims;
mod clock;
mod deploy;
mod disk;
mod events;
mod full;
mod grpc;
mod home;
mod identity;
mod injected_faults;
mod issuer;
mod killed;
mod openapi;
mod pitfalls;
mod players;
mod process;
mod reward_server;
mod rewards;
mod schema;
mod support;
mod tls;
mod tokens;
