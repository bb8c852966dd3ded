//! Marketplace listings over gRPC, on a database and a cache.
//!
//! `write` decides, `store` keeps, `cache` remembers, `operations` is the one path of every rpc, `grpc` translates,
//! `server` puts a process together. Start at [`write`] for what the service means.

pub mod cache;
pub mod categories;
pub mod find;
pub mod listing;
pub mod price;
pub mod proto;
pub mod scope;
pub mod stats;
pub mod store;
pub mod uuid;
pub mod words;
pub mod write;
