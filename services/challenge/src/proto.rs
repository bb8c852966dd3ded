//! Messages and services generated from `proto/` at build time, under the packages that existing clients and publishers
//! use, and their descriptors for server reflection.

#![allow(missing_docs, clippy::pedantic, reason = "generated from the .proto files, which are documented")]

/// `accelbyte.iam.account.v1`.
pub mod account {
    tonic::include_proto!("accelbyte.iam.account.v1");
}

/// `accelbyte.social.statistic.v1`.
pub mod statistic {
    tonic::include_proto!("accelbyte.social.statistic.v1");
}

/// `service`, the players' service.
pub mod service {
    tonic::include_proto!("service");
}

/// The event services, as an encoded `FileDescriptorSet`.
pub const EVENTS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/events.bin"));

/// The players' service, as an encoded `FileDescriptorSet`.
pub const PLAYERS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/players.bin"));
