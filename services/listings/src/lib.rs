//! Marketplace listings over gRPC and HTTP, on a database and a cache.
//!
//! `write` decides what a write changes, `store` persists it, `cache` holds answers of reads, `operations` reads and
//! writes, `api` does it in the messages of the interface, `grpc` and `http` carry them, `server` assembles a process.
//! Start at [`write`] for the service's semantics.

pub mod admission;
pub mod api;
pub mod cache;
pub mod caller;
pub mod categories;
#[cfg(feature = "faults")]
pub mod faults;
pub mod find;
pub mod grpc;
pub mod http;
pub mod limiter;
pub mod listing;
pub mod listing_uuid;
pub mod methods;
pub mod operations;
pub mod price;
pub mod proto;
pub mod redis_link;
pub mod refusal;
pub mod scope;
pub mod seed;
pub mod server;
pub mod settings;
pub mod stats;
pub mod store;
pub mod views;
pub mod words;
pub mod write;
