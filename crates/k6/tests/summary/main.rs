//! The summary compared with what k6 1.8.1 wrote of the same runs; `../recordings/README.md` says how they were made.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod recording;

mod outputs;
mod shown;
