//! The targets against plain clients that share no code with them.
//!
//! Helpers unwrap as the tests do: a panic is how a test fails.

#![allow(clippy::unwrap_used)]

mod client;
mod grpc;
mod hold;
mod http;
