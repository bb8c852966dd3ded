//! Observers against real processes, which say of themselves what they did.
//!
//! Helpers unwrap as the tests do: a panic is how a test fails.

#![allow(clippy::unwrap_used)]

mod child;
mod process;
mod profiles;
mod watch;
