//! One behaviour: the tests of the embedded store, against a real PostgreSQL; and what only PostgreSQL and Redis can
//! show.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should say where")]

use home::Kind;

const STORE: Kind = Kind::Postgres;

#[path = "../it/bad_input.rs"]
mod bad_input;
#[path = "../it/catalogue.rs"]
mod catalogue;
#[path = "../it/clock.rs"]
mod clock;
mod faults;
#[path = "../it/favorites.rs"]
mod favorites;
#[path = "../it/home.rs"]
mod home;
#[cfg(feature = "faults")]
mod injected_faults;
#[path = "../../../challenge/tests/it/issuer.rs"]
#[allow(dead_code, reason = "the other service asks more of it")]
mod issuer;
#[path = "../it/killed.rs"]
mod killed;
mod late;
#[path = "../it/limits.rs"]
mod limits;
#[path = "../it/listings.rs"]
mod listings;
mod locked;
#[path = "../it/process.rs"]
mod process;
mod replicas;
#[path = "../it/search.rs"]
mod search;
#[path = "../it/similar.rs"]
mod similar;
#[path = "../it/stock.rs"]
mod stock;
#[path = "../it/support.rs"]
mod support;
#[path = "../it/surface.rs"]
mod surface;
mod vanished;
