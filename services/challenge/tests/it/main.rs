//! The service from outside: real ports, real SQLite, real gRPC; and the real binary, killed.

mod claims;
mod events;
mod killed;
mod players;
mod process;
mod support;
