//! Goals, progress and rewards over HTTP and gRPC.
//!
//! `rules` decides, `store` keeps, `operations` is the one path that every transport takes, `events` the one path of
//! every event, `server` puts a process together. Start at [`server::start`] for how a process runs, at [`rules`]
//! for what the service means.

pub mod catalog;
pub mod claims;
pub mod events;
#[cfg(feature = "faults")]
pub mod faults;
pub mod grpc;
pub mod http;
pub mod identity;
pub mod operations;
pub mod proto;
pub mod refusal;
pub mod render;
pub mod rewards;
pub mod rules;
pub mod server;
pub mod settings;
pub mod store;
pub mod user;
pub mod view;
