//! Profiles of a real program, compared with the output of `go tool pprof` for the same files.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod go;
mod oracle;
