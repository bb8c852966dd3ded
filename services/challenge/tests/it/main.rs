//! The service from outside: real ports, real SQLite, real gRPC; and the real binary, killed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod bad_input;
mod claims;
mod events;
mod grpc;
mod identity;
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
