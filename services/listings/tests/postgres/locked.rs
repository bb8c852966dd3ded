//! A table that somebody holds, so that whatever asks for it waits for as long as a test needs.

use crate::home::Home;
use tokio::task::JoinHandle;
use tokio_postgres::{Client, Config, NoTls};

/// Nobody else can use the table until this is let go.
pub(crate) struct Locked {
    client: Client,
    driver: JoinHandle<()>,
}

impl Locked {
    pub(crate) async fn hold(home: &Home, table: &str) -> Self {
        let env = home.env();
        let told = |name: &str| &*env.iter().find(|(key, _)| *key == name).unwrap().1;
        let mut config = Config::new();
        config.host(told("DB_HOST")).port(told("DB_PORT").parse().unwrap());
        config.user(told("DB_USER")).dbname(told("DB_NAME"));
        let (client, connection) = config.connect(NoTls).await.unwrap();
        let driver = tokio::spawn(async move { connection.await.unwrap() });
        client.batch_execute(&format!("BEGIN; LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")).await.unwrap();
        Self { client, driver }
    }

    pub(crate) async fn let_go(self) {
        self.client.batch_execute("ROLLBACK").await.unwrap();
        drop(self.client);
        self.driver.await.unwrap();
    }
}

/// How many statements wait for a lock.
pub(crate) fn waiting(home: &Home) -> i64 {
    home.count(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    )
}
