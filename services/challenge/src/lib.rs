//! Goals, progress and rewards over HTTP and gRPC.
//!
//! `rules` decides, `store` persists, every transport calls `operations`, every event goes through `events`, and
//! `server` assembles a process. To see how a process runs, start at [`server::start`]; to see what the service does,
//! at [`rules`].

pub mod admission;
pub mod catalog;
pub mod claims;
pub mod events;
#[cfg(feature = "faults")]
pub mod faults;
pub mod grant;
pub mod grpc;
pub mod http;
pub mod identity;
pub mod operations;
pub mod proto;
pub mod refusal;
pub mod render;
pub mod rewards;
pub mod role;
pub mod rules;
pub mod seeds;
pub mod server;
pub mod settings;
pub mod store;
pub mod user;
pub mod view;
