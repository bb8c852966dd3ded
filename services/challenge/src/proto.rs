//! Messages and services generated from `proto/` by `cargo xtask protobuf`, under the packages that existing clients and publishers
//! use, and their descriptors for server reflection.

#![allow(clippy::pedantic, reason = "generated from the .proto files, which are documented")]

/// `accelbyte.iam.account.v1`.
pub mod account {
    include!("proto/accelbyte.iam.account.v1.rs");
}

/// `accelbyte.social.statistic.v1`.
pub mod statistic {
    include!("proto/accelbyte.social.statistic.v1.rs");
}

/// `service`, the players' service.
pub mod service {
    include!("proto/service.rs");
}

/// The event services, as an encoded `FileDescriptorSet`.
pub const EVENTS: &[u8] = include_bytes!("proto/events.bin");

/// The players' service, as an encoded `FileDescriptorSet`.
pub const PLAYERS: &[u8] = include_bytes!("proto/players.bin");
