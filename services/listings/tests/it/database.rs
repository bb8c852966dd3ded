//! The settings of a test's service.

use kit::env::Env;
use listings::settings::{PREFIXES, Settings};
use testkit::data::TestDatabase;

/// Settings of every test: free ports, and callers that are not verified. Admission control is off, because on a
/// machine that builds and tests at once tasks also wait for other reasons than load on the service.
pub(crate) const BASE_SETTINGS: [(&str, &str); 6] = [
    ("AUTH_ENABLED", "false"),
    ("RATE_LIMIT_ENABLED", "false"),
    ("WAIT_TARGET_MS", "0"),
    ("GRPC_PORT", "0"),
    ("HTTP_PORT", "0"),
    ("ADMIN_PORT", "0"),
];

pub(crate) fn settings(store: &TestDatabase, more: &[(&str, &str)]) -> Settings {
    let own = store.env();
    let own = own.iter().map(|(name, value)| (*name, value.as_str()));
    let env = Env::from_pairs(BASE_SETTINGS.into_iter().chain(own).chain(more.iter().copied()));
    Settings::read(&env.with_prefixes(&PREFIXES)).unwrap()
}
