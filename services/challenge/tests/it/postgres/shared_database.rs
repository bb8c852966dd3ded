//! Two services in one database: each applies the steps of its own schema, and only those.

use kit::env::Env;
use kit::postgres::{ConnectError, Connector, ServerOptions, connect_with_retry, migrate};
use kit::store::Migrations;

use testkit::data::TestDatabase;

const ONE: Migrations =
    Migrations { service: "one", first_table: "first", steps: &["CREATE TABLE first (x INT)"] };
const TWO: Migrations = Migrations {
    service: "two",
    first_table: "second",
    steps: &["CREATE TABLE second (x INT)", "ALTER TABLE second ADD COLUMN y INT"],
};

async fn start(database: &TestDatabase, migrations: &Migrations) -> Result<(), ConnectError> {
    let env = database.env();
    let env = Env::from_pairs(env.iter().map(|(name, value)| (*name, value.as_str())));
    let options = ServerOptions::read(&env, "test").unwrap().unwrap();
    let connected = connect_with_retry(&Connector::new(&options).unwrap()).await.unwrap();
    migrate(&connected, &options, migrations).await
}

fn assert_has_steps_of_both(database: &TestDatabase) {
    for (service, steps) in [("one", 1), ("two", 2), ("", 0)] {
        let recorded = format!("SELECT count(*) FROM schema_steps WHERE service = '{service}'");
        assert_eq!(database.count(&recorded), steps, "{service:?}");
    }
}

#[tokio::test]
async fn each_service_has_steps_of_its_own() {
    let database = TestDatabase::postgres();
    for migrations in [ONE, TWO, ONE, TWO] {
        start(&database, &migrations).await.unwrap();
    }
    assert_has_steps_of_both(&database);
    let older = Migrations { steps: &TWO.steps[..1], ..TWO };
    let refused = start(&database, &older).await.unwrap_err().to_string();
    assert!(refused.ends_with("has schema version 2, this program knows up to 1"), "{refused}");
}

/// Whichever service starts first, the steps of before are their owner's.
#[tokio::test]
async fn a_database_made_before_steps_had_names_still_works() {
    for order in [[ONE, TWO, TWO, ONE], [TWO, ONE, ONE, TWO]] {
        let database = TestDatabase::postgres();
        let env = database.env();
        let (_, user) = env.iter().find(|(name, _)| *name == "DB_USER").unwrap();
        database.run(&format!(
            "CREATE TABLE schema_steps (step INTEGER PRIMARY KEY, applied_at TIMESTAMPTZ NOT NULL);
             CREATE TABLE second (x INT); INSERT INTO schema_steps VALUES (1, now());
             ALTER TABLE schema_steps OWNER TO {user}; ALTER TABLE second OWNER TO {user}"
        ));
        for migrations in order {
            start(&database, &migrations).await.unwrap();
        }
        assert_has_steps_of_both(&database);
    }
}
