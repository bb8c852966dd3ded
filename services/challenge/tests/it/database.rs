//! The settings of a test's service, and what tests do to its database.

use challenge::role::Role;
use challenge::settings::Settings;
use kit::env::Env;
use testkit::data::{StoreKind, TestDatabase};

/// Settings for every store: any free ports, and the test identity header. Without a wait target, because on a machine
/// that builds and tests at once, tasks wait for the processor; and with limits above what one player sends in a test.
pub(crate) const PORTS: [(&str, &str); 8] = [
    ("TEST_IDENTITY_HEADER", "on"),
    ("WAIT_TARGET_MS", "0"),
    ("USER_MAX_IN_FLIGHT", "2000"),
    ("CLAIM_MAX_IN_FLIGHT", "2000"),
    ("HTTP_PORT", "0"),
    ("GRPC_PORT", "0"),
    ("EVENTS_PORT", "0"),
    ("ADMIN_PORT", "0"),
];

pub(crate) fn settings(database: &TestDatabase, more: &[(&str, &str)]) -> Settings {
    let own = database.env();
    let own = own.iter().map(|(name, value)| (*name, value.as_str()));
    Settings::read(&Env::from_pairs(PORTS.into_iter().chain(own).chain(more.iter().copied())), Role::All)
        .unwrap()
}

/// Whether a table has a column of this name.
pub(crate) fn has_column(database: &TestDatabase, table: &str, column: &str) -> bool {
    let columns = match database.kind {
        StoreKind::Sqlite => format!("pragma_table_info('{table}') WHERE name = '{column}'"),
        StoreKind::Postgres => {
            format!("information_schema.columns WHERE table_name = '{table}' AND column_name = '{column}'")
        }
    };
    database.count(&format!("SELECT count(*) FROM {columns}")) > 0
}

/// Makes open claims older than any claim takes, so that none counts as in flight.
pub(crate) fn age_claims(database: &TestDatabase) {
    database.run(match database.kind {
        StoreKind::Sqlite => {
            "UPDATE claims SET requested_at = requested_at - 3600000, retry_at = retry_at - 3600000"
        }
        StoreKind::Postgres => {
            "UPDATE claims SET requested_at = requested_at - interval '1 hour',
                 retry_at = retry_at - interval '1 hour'"
        }
    });
}
