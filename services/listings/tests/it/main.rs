//! End-to-end tests over real ports with SQLite and a gRPC client, and tests of the binary.

#![allow(clippy::unwrap_used, reason = "a test fails at the line of the unwrap")]

#[path = "../../../challenge/tests/it/any_rpc.rs"]
mod any_rpc;
mod bad_input;
mod binary;
mod catalogue;
mod categories;
mod clock;
mod deadline;
mod favorites;
mod http;
mod injected_faults;
mod interfaces;
#[path = "../../../challenge/tests/it/issuer.rs"]
#[allow(dead_code, reason = "the challenge service uses more of it")]
mod issuer;
mod killed;
mod limits;
mod listings;
mod openapi;
mod plans;
mod postgres;
mod process;
mod profiles;
mod published;
mod raw;
mod rejected;
#[path = "../../../challenge/tests/it/schema.rs"]
mod schema;
mod search;
mod similar;
mod stock;
mod support;
#[path = "../../../challenge/tests/it/test_data.rs"]
mod test_data;
mod test_store;
mod tokens;
mod visibility;
mod who_may;
