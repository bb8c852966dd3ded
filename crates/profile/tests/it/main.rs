//! Profiles of a real program, against what `go tool pprof` says of the same files; and files that are no profiles.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod go;
mod oracle;
