//! Marketplace listings over gRPC, on a database and a cache.
//!
//! `write` decides, `store` keeps, `cache` remembers, `operations` is the one path of every rpc, `grpc` translates,
//! `server` puts a process together. Start at [`write`] for what the service means.

pub mod cache;
pub mod categories;
#[cfg(feature = "faults")]
pub mod faults;
pub mod find;
pub mod grpc;
pub mod identity;
pub mod limiter;
pub mod listing;
pub mod operations;
pub mod price;
pub mod proto;
pub mod redis_link;
pub mod scope;
pub mod seed;
pub mod server;
pub mod settings;
pub mod stats;
pub mod store;
pub mod uuid;
pub mod views;
pub mod words;
pub mod write;
