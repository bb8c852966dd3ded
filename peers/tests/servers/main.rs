//! Peers against the machine they run on.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

mod faketime;
mod postgres;
