//! Migrations while others use the database.

use kit::env::Env;
use kit::postgres::{ConnectError, Connector, ServerOptions, connect_with_retry, migrate_for};
use kit::store::Migrations;
use listings::proto::GetListingRequest;
use testkit::data::TestDatabase;
use testkit::until;

use crate::postgres::table_lock::{TableLock, waiting};
use crate::support::{Server, a_product};

const THINGS: Migrations = Migrations {
    service: "things",
    first_table: "things",
    steps: &[
        "CREATE TABLE things (id BIGINT PRIMARY KEY)",
        "ALTER TABLE things ADD COLUMN name TEXT",
        "CREATE INDEX CONCURRENTLY IF NOT EXISTS things_by_name ON things (name)",
    ],
};

/// Brings the schema to this many steps, of which programs that know `oldest` work.
async fn migrated(store: &TestDatabase, steps: usize, oldest: usize) -> Result<(), ConnectError> {
    let env = store.env();
    let env = Env::from_pairs(env.iter().map(|(name, value)| (*name, value.as_str())));
    let options = ServerOptions::read(&env, "things").unwrap().unwrap();
    let connected = connect_with_retry(&Connector::new(&options)?).await?;
    let known = Migrations { steps: &THINGS.steps[..steps], ..THINGS };
    migrate_for(&connected, &options, &known, oldest).await
}

const VALID: &str =
    "SELECT count(*) FROM pg_index WHERE indexrelid = to_regclass('things_by_name') AND indisvalid";

/// A migration that waits for a long transaction lets the readers pass that come after it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_migration_that_waits_for_a_long_transaction_stops_no_reader() {
    let store = TestDatabase::postgres();
    migrated(&store, 1, 1).await.unwrap();
    let reader = TableLock::acquire_in(&store, "things", "ACCESS SHARE").await;
    let migration = async { migrated(&store, 3, 1).await.unwrap() };
    let others = async {
        until("the migration waits", async || waiting(&store) == 1).await;
        assert_eq!(store.count("SELECT count(*) FROM things"), 0);
        assert_eq!(store.count("SELECT max(step) FROM schema_steps"), 1, "it still waits");
        reader.release().await;
    };
    tokio::join!(migration, others);
    assert_eq!((store.count("SELECT max(step) FROM schema_steps"), store.count(VALID)), (3, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_that_was_not_finished_is_built_again() {
    let store = TestDatabase::postgres();
    migrated(&store, 2, 2).await.unwrap();
    store.run("CREATE INDEX things_by_name ON things (name)");
    store.run("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'things_by_name'::regclass");
    migrated(&store, 3, 3).await.unwrap();
    assert_eq!(store.count(VALID), 1);
}

/// A program of an earlier version that restarts during a rollout, or is rolled back to.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_older_program_starts_on_a_newer_schema_that_allows_it() {
    let store = TestDatabase::postgres();
    migrated(&store, 3, 2).await.unwrap();
    migrated(&store, 2, 2).await.unwrap();
    let refused = migrated(&store, 1, 1).await.unwrap_err();
    assert!(matches!(refused, ConnectError::Newer { found: 3, known: 1, .. }), "{refused}");
    assert_eq!(store.count("SELECT count(*) FROM schema_steps"), 3);
}

/// The statements of the oldest program that works on the newest schema, with rows of both programs: what each counts and
/// changes, the other shows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_statements_of_the_oldest_program_run_on_the_newest_schema() {
    let server = Server::start_in(TestDatabase::postgres(), &[("VIEWS_SHOW_WITHIN_S", "1")]).await;
    let mut client = server.client().await;
    assert_eq!(client.create(a_product()).await.id, 1);
    let favorite = listings::proto::AddToFavoritesRequest { user_id: 9, listing_id: 1 };
    client.rpc.add_to_favorites(favorite).await.unwrap();
    server.store.run(include_str!("statements_of_step_4.sql"));
    for (id, title, views, favorites) in [(1, "Green bike", 7, 2), (2, "Old lamp", 0, 0)] {
        let read = client.rpc.get_listing(GetListingRequest { id, lang: None });
        let read = read.await.unwrap().into_inner().listing.unwrap();
        assert_eq!((read.title.as_str(), read.views_count, read.favorites_count), (title, views, favorites));
    }
    assert_eq!(client.search("lamp").await, (vec![2], 1));
    assert_eq!(client.stats(3).await.total_products, 2);
    let removed = listings::proto::RemoveFromFavoritesRequest { user_id: 8, listing_id: 1 };
    client.rpc.remove_from_favorites(removed).await.unwrap();
    let read = client.rpc.get_listing(GetListingRequest { id: 1, lang: None }).await.unwrap().into_inner();
    assert_eq!(read.listing.unwrap().favorites_count, 1);
}
