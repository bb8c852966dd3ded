//! Messages and service generated from `proto/listings` at build time, and the descriptors for reflection.

#![allow(missing_docs, clippy::pedantic, reason = "generated from the .proto file, which is documented")]

tonic::include_proto!("listingssvc.v1");

/// The service in both of its packages, as an encoded `FileDescriptorSet`.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/listings.bin"));

/// The current full name of the service, and its older name.
pub const SERVICE_NAMES: [&str; 2] = ["listingssvc.v1.ListingsService", "listings.v1.ListingsService"];
