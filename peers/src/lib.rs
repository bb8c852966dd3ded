//! Peers for tests and benchmarks: servers of other projects, and a target in another language, each in a temporary
//! folder on a free port, ended with the process that started it.
//!
//! For tests, benchmarks and use by hand; no service and no tool may need it to run. It installs nothing (`cargo xtask
//! test` does), contains nothing about our services, and leaves nothing behind: a peer whose owner was killed is ended by
//! its guard. [`document`] is for what tests of several crates find out and document.

pub mod document;
mod error;
pub mod faketime;
pub mod go;
mod guard;
pub mod kubernetes;
pub mod nginx;
pub mod poll;
mod port;
pub mod postgres;
mod processes;
pub mod redis;
pub mod service;
pub mod websocket;

pub use error::PeerError;
