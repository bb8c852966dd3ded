//! The tests of the embedded store, run against a real PostgreSQL, and tests that apply only to PostgreSQL.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use database::StoreKind;

const STORE: StoreKind = StoreKind::Postgres;

#[path = "../it/all_goals.rs"]
mod all_goals;
#[path = "../it/bad_input.rs"]
mod bad_input;
#[path = "../it/claims.rs"]
mod claims;
#[path = "../it/clock.rs"]
mod clock;
#[path = "../it/database.rs"]
mod database;
#[path = "../it/events.rs"]
mod events;
#[path = "../it/grpc.rs"]
mod grpc;
#[cfg(feature = "faults")]
mod injected_faults;
#[path = "../it/issuer.rs"]
mod issuer;
#[path = "../it/killed.rs"]
mod killed;
mod outages;
#[path = "../it/pitfalls.rs"]
mod pitfalls;
#[path = "../it/players.rs"]
mod players;
#[path = "../it/process.rs"]
mod process;
#[path = "../it/publishers.rs"]
mod publishers;
#[path = "../it/recovery.rs"]
mod recovery;
#[path = "../it/rejected.rs"]
mod rejected;
mod replicas;
#[path = "../it/reward_server.rs"]
mod reward_server;
#[path = "../it/rewards.rs"]
mod rewards;
#[path = "../it/rotation.rs"]
mod rotation;
#[path = "../it/rotation_killed.rs"]
mod rotation_killed;
#[path = "../it/selection.rs"]
mod selection;
mod shared_database;
#[path = "../it/support.rs"]
mod support;
#[path = "../it/test_data.rs"]
mod test_data;
#[path = "../it/tls.rs"]
mod tls;
#[path = "../it/tokens.rs"]
mod tokens;
