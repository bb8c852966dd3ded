//! What the tests of several services have in common: processes of their binaries, clients, issuers of tokens, stores, and
//! checks of their documents. For tests only; a helper of one service's tests belongs to that service.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

pub mod data;
pub mod documents;
pub mod faults;
pub mod grpc;
pub mod http;
pub mod issuer;
pub mod killed;
pub mod openapi;
pub mod pgbouncer;
pub mod process;
pub mod profiles;
mod schema;
pub mod time;
pub mod tls;
pub mod yaml;

pub use schema::differences;
pub use time::until;
