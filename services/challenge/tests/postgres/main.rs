//! One behaviour: the tests of the embedded store, against a real PostgreSQL; and what only PostgreSQL can show.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use home::Kind;

const STORE: Kind = Kind::Postgres;

#[path = "../it/bad_input.rs"]
mod bad_input;
#[path = "../it/claims.rs"]
mod claims;
#[path = "../it/clock.rs"]
mod clock;
#[path = "../it/events.rs"]
mod events;
mod faults;
#[path = "../it/full.rs"]
mod full;
#[path = "../it/grpc.rs"]
mod grpc;
#[path = "../it/home.rs"]
mod home;
#[cfg(feature = "faults")]
mod injected_faults;
#[path = "../it/issuer.rs"]
mod issuer;
#[path = "../it/killed.rs"]
mod killed;
#[path = "../it/pitfalls.rs"]
mod pitfalls;
#[path = "../it/players.rs"]
mod players;
#[path = "../it/process.rs"]
mod process;
mod replicas;
#[path = "../it/reward_server.rs"]
mod reward_server;
#[path = "../it/rewards.rs"]
mod rewards;
#[path = "../it/support.rs"]
mod support;
#[path = "../it/tls.rs"]
mod tls;
#[path = "../it/tokens.rs"]
mod tokens;
