//! The tests of the embedded store run against PostgreSQL as well: both stores have the same behaviour. Further tests
//! need PostgreSQL and Redis.

#![allow(clippy::unwrap_used, reason = "a test fails at the line of the unwrap")]

use test_store::StoreKind;

const STORE: StoreKind = StoreKind::Postgres;

#[path = "../it/bad_input.rs"]
mod bad_input;
#[path = "../it/catalogue.rs"]
mod catalogue;
#[path = "../it/categories.rs"]
mod categories;
#[path = "../it/clock.rs"]
mod clock;
mod disconnects;
#[path = "../it/favorites.rs"]
mod favorites;
#[path = "../it/http.rs"]
mod http;
#[cfg(feature = "faults")]
mod injected_faults;
#[path = "../it/interfaces.rs"]
mod interfaces;
#[path = "../../../challenge/tests/it/issuer.rs"]
#[allow(dead_code, reason = "the challenge service uses more of it")]
mod issuer;
#[path = "../it/killed.rs"]
mod killed;
mod late;
#[path = "../it/limits.rs"]
mod limits;
#[path = "../it/listings.rs"]
mod listings;
mod lost_commit;
mod outages;
#[path = "../it/process.rs"]
mod process;
#[path = "../it/raw.rs"]
mod raw;
#[path = "../it/rejected.rs"]
mod rejected;
mod replicas;
#[path = "../it/search.rs"]
mod search;
mod shared_lists;
#[path = "../it/similar.rs"]
mod similar;
#[path = "../it/stock.rs"]
mod stock;
#[path = "../it/support.rs"]
mod support;
mod table_lock;
#[path = "../../../challenge/tests/it/test_data.rs"]
mod test_data;
#[path = "../it/test_store.rs"]
mod test_store;
#[path = "../it/tokens.rs"]
#[allow(dead_code, reason = "the tests of the embedded store use more of it")]
mod tokens;
#[path = "../it/visibility.rs"]
mod visibility;
