//! Messages and services made from `proto/` at build time, under the packages that existing clients and publishers
//! call, and the descriptors that reflection shows of them.

#![allow(missing_docs, clippy::pedantic, reason = "generated from the .proto files, which are documented")]

/// `accelbyte.iam.account.v1`.
pub mod account {
    tonic::include_proto!("accelbyte.iam.account.v1");
}

/// `accelbyte.social.statistic.v1`.
pub mod statistic {
    tonic::include_proto!("accelbyte.social.statistic.v1");
}

/// `service`, what players call.
pub mod service {
    tonic::include_proto!("service");
}

/// The event services, as an encoded `FileDescriptorSet`.
pub const EVENTS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/events.bin"));

/// The players' service, as an encoded `FileDescriptorSet`.
pub const PLAYERS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/players.bin"));
