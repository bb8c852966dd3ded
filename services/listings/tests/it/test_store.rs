//! The data of one test: a folder, and with PostgreSQL also a database.

use std::ops::Deref;

use kit::env::Env;
use listings::settings::{PREFIXES, Settings};

pub(crate) use testkit::data::StoreKind;
use testkit::data::{TestData, usual_store};

/// Settings of every test: free ports, and callers that are not verified. Admission control is off, because on a
/// machine that builds and tests at once tasks also wait for other reasons than load on the service.
pub(crate) const BASE_SETTINGS: [(&str, &str); 5] = [
    ("AUTH_ENABLED", "false"),
    ("RATE_LIMIT_ENABLED", "false"),
    ("WAIT_TARGET_MS", "0"),
    ("GRPC_PORT", "0"),
    ("HTTP_PORT", "0"),
];

/// The data of one test.
pub(crate) struct TestStore {
    data: TestData,
}

impl Deref for TestStore {
    type Target = TestData;

    fn deref(&self) -> &TestData {
        &self.data
    }
}

impl TestStore {
    /// In the store that the tests run against.
    pub(crate) fn new() -> Self {
        Self { data: TestData::new(usual_store()) }
    }

    pub(crate) fn postgres() -> Self {
        Self { data: TestData::new(StoreKind::Postgres) }
    }

    /// The environment of a service that uses this store.
    pub(crate) fn env(&self) -> Vec<(&'static str, String)> {
        self.data.env(&[("DB_WRITERS", "2"), ("DB_READERS", "3")])
    }

    pub(crate) fn settings(&self, more: &[(&str, &str)]) -> Settings {
        let own = self.env();
        let own = own.iter().map(|(name, value)| (*name, value.as_str()));
        let env = Env::of(BASE_SETTINGS.into_iter().chain(own).chain(more.iter().copied()));
        Settings::read(&env.with_prefixes(&PREFIXES)).unwrap()
    }
}
