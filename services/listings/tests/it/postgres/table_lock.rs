//! A table lock held by a test, so that statements on the table wait.

use tokio::task::JoinHandle;
use tokio_postgres::{Client, Config, NoTls};

use testkit::data::TestDatabase;

/// A lock on a table, until it is released.
pub(crate) struct TableLock {
    client: Client,
    driver: JoinHandle<()>,
}

impl TableLock {
    pub(crate) async fn acquire(store: &TestDatabase, table: &str) -> Self {
        Self::acquire_in(store, table, "ACCESS EXCLUSIVE").await
    }

    pub(crate) async fn acquire_in(store: &TestDatabase, table: &str, mode: &str) -> Self {
        let env = store.env();
        let variable = |name: &str| &*env.iter().find(|(key, _)| *key == name).unwrap().1;
        let mut config = Config::new();
        config.host(variable("DB_HOST")).port(variable("DB_PORT").parse().unwrap());
        config.user(variable("DB_USER")).dbname(variable("DB_NAME"));
        let (client, connection) = config.connect(NoTls).await.unwrap();
        let driver = tokio::spawn(async move { connection.await.unwrap() });
        client.batch_execute(&format!("BEGIN; LOCK TABLE {table} IN {mode} MODE")).await.unwrap();
        Self { client, driver }
    }

    pub(crate) async fn release(self) {
        self.client.batch_execute("ROLLBACK").await.unwrap();
        drop(self.client);
        self.driver.await.unwrap();
    }
}

/// The number of statements that wait for a lock.
pub(crate) fn waiting(store: &TestDatabase) -> i64 {
    store.count(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    )
}
