//! Tests that need PostgreSQL, whichever store the others run against.

mod disconnects;
#[cfg(feature = "faults")]
mod injected_faults;
mod late;
mod lost_commit;
mod migrations;
mod outages;
mod pooler;
mod redis_cluster;
mod replicas;
mod searches;
mod shared_lists;
mod table_lock;
