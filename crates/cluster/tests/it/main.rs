//! Coordinator and workers together, over real sockets.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod fleet;
mod kubernetes;
mod parts;
mod schema;
mod strangers;
mod yaml;
