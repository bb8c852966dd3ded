//! Messages and service generated from `proto/listings` by `cargo xtask protobuf`, and the descriptors for reflection. Requests can
//! be read from JSON and queries, responses written as JSON, with the names of the interface.

#![allow(clippy::pedantic, reason = "generated from the .proto file, which is documented")]

include!("proto/listingssvc.v1.rs");

/// The service in both of its packages, as an encoded `FileDescriptorSet`.
pub const DESCRIPTORS: &[u8] = include_bytes!("proto/listings.bin");

/// The current full name of the service, and its older name.
pub const SERVICE_NAMES: [&str; 2] = ["listingssvc.v1.ListingsService", "listings.v1.ListingsService"];

/// Writes an instant as RFC 3339 text, as the other instants of the interface.
fn write_timestamp<S: serde::Serializer>(
    timestamp: &Option<prost_types::Timestamp>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let text = timestamp.as_ref().map(|timestamp| {
        kit::clock::UtcMs(timestamp.seconds * 1_000 + i64::from(timestamp.nanos) / 1_000_000).to_string()
    });
    serde::Serialize::serialize(&text, serializer)
}
