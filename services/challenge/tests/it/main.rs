//! The service from outside: real ports, real SQLite, real gRPC, and the real binary.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod access;
mod all_goals;
mod bad_input;
mod binary;
mod bulkheads;
mod claims;
mod clock;
mod database;
mod deploy;
mod disk;
mod events;
mod grpc;
mod identity;
mod injected_faults;
mod killed;
mod openapi;
mod pitfalls;
mod players;
mod postgres;
mod process;
mod profiles;
mod published;
mod publishers;
mod recovery;
mod rejected;
mod reward_server;
mod rewards;
mod rotation;
mod rotation_killed;
mod selection;
mod support;
mod tls;
mod tokens;
