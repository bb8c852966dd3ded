//! The messages of `proto/telemetry`.

#![allow(missing_docs, clippy::pedantic, reason = "generated from the .proto file, which is documented")]

include!(concat!(env!("OUT_DIR"), "/telemetry.rs"));
