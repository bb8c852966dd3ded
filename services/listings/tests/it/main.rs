//! End-to-end tests over real ports with SQLite and a gRPC client, and tests of the binary.

#![allow(clippy::unwrap_used, reason = "a test fails at the line of the unwrap")]

mod bad_input;
mod binary;
mod catalogue;
mod categories;
mod clock;
mod database;
mod deadline;
mod favorites;
mod http;
mod injected_faults;
mod interfaces;
mod killed;
mod limits;
mod listings;
mod openapi;
mod plans;
mod postgres;
mod process;
mod profiles;
mod published;
mod rejected;
mod search;
mod similar;
mod stock;
mod support;
mod tokens;
mod visibility;
mod who_may;
