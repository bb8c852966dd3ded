//! Tests that need PostgreSQL, whichever store the others run against.

#[cfg(feature = "faults")]
mod injected_faults;
mod outages;
mod replicas;
mod shared_database;
