//! The state machines against real peers over loopback sockets: the `h2` crate's server for HTTP/2 and
//! hyper's for HTTP/1.1.

// Only functions marked as tests are exempt by configuration; all of this binary is test code.
#![allow(clippy::unwrap_used)]

mod allocations;
mod driver;
mod h1;
mod h1_peer;
mod h2;
mod h2_peer;
