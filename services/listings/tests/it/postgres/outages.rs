//! PostgreSQL is killed, paused or locked: acknowledged writes are kept and applied once, other writes are refused, and
//! the service recovers without a restart. Each test has its own cluster.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kit::env::Env;
use kit::process::Service;
use listings::server::{Running, start};
use listings::settings::Settings;
use peers::postgres::{Cluster, DATABASE, Options};
use testkit::until;
use tonic::Code;

use crate::support::{Client, a_product};

async fn serve(cluster: &Cluster) -> Running {
    let quick = [("DB_WRITERS", "2"), ("DB_READERS", "2"), ("DB_STATEMENT_TIMEOUT_MS", "500")];
    start(&settings(cluster, quick)).await.unwrap()
}

pub(crate) fn settings<const N: usize>(cluster: &Cluster, more: [(&str, &str); N]) -> Settings {
    let own = cluster.env();
    let own = own.iter().map(|(name, value)| (*name, value.as_str()));
    Settings::read(&Env::from_pairs(crate::database::BASE_SETTINGS.into_iter().chain(own).chain(more)))
        .unwrap()
}

pub(crate) fn cluster() -> Cluster {
    Cluster::start_with(&Options { fsync: false, ..Options::default() }).unwrap()
}

/// Moves stock until `stop`; returns the movements acknowledged and those with an unknown outcome.
async fn move_until(mut client: Client, id: i64, stop: Arc<AtomicBool>) -> (i32, i32) {
    let (mut acknowledged, mut unknown) = (0, 0);
    while !stop.load(Ordering::Relaxed) {
        match client.move_stock(id, "in", 1).await {
            Ok(_) => acknowledged += 1,
            Err(status) => {
                assert!(matches!(status.code(), Code::Unavailable | Code::DeadlineExceeded), "{status}");
                unknown += 1;
            }
        }
    }
    (acknowledged, unknown)
}

/// Applies `fault` to the cluster under load; afterwards the service works again, and no movement is lost or applied
/// twice.
async fn under_load(cluster: &mut Cluster, fault: impl AsyncFnOnce(&mut Cluster, &Running, i64)) {
    let running = serve(cluster).await;
    let mut client = Client::connect(running.addresses.grpc).await;
    let id = client.create(a_product()).await.id;
    let stop = Arc::new(AtomicBool::new(false));
    let moving = tokio::spawn(move_until(client.clone(), id, Arc::clone(&stop)));
    until("movements are acknowledged", async || client.product(id).await.unwrap().stock_quantity > 30).await;
    fault(cluster, &running, id).await;
    until("movements succeed again", async || client.move_stock(id, "out", 1).await.is_ok()).await;
    stop.store(true, Ordering::Relaxed);
    let (acknowledged, unknown) = moving.await.unwrap();
    let product = client.product(id).await.unwrap();
    let recorded = "SELECT sum(stock_after - stock_before) FROM inventory_movements";
    let recorded: i32 = cluster.sql(DATABASE, recorded).unwrap().trim().parse().unwrap();
    assert_eq!(product.stock_quantity, 10 + recorded, "the movement records add up to the stock");
    let moved_in = "SELECT count(*) FROM inventory_movements WHERE movement_type = 'in'";
    let moved_in: i32 = cluster.sql(DATABASE, moved_in).unwrap().trim().parse().unwrap();
    assert!((acknowledged..=acknowledged + unknown).contains(&moved_in), "{moved_in} of {acknowledged}");
    assert!((client.stats(3).await.total_value - 19.99 * f64::from(product.stock_quantity)).abs() < 1e-6);
    drop(client);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_and_restarted_server_loses_no_movement_and_applies_none_twice() {
    under_load(&mut cluster(), async |cluster, running, _id| {
        cluster.kill();
        until("readiness reports the outage", async || {
            !testkit::http::Client::new(running.addresses.admin).get("/health/ready").await.0.is_success()
        })
        .await;
        let deep = testkit::http::Client::new(running.addresses.admin).text("/health/deep").await;
        assert!(deep.contains("\"status\":\"unhealthy\""), "{deep}");
        cluster.start_again().unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_to_a_paused_server_time_out() {
    under_load(&mut cluster(), async |cluster, running, id| {
        cluster.pause();
        let mut client = Client::connect(running.addresses.grpc).await;
        let code = client.product(id).await.unwrap_err().code();
        assert_eq!(code, Code::Unavailable, "the call ends with the statement timeout");
        cluster.resume();
    })
    .await;
}

/// Another session locks the table: the server ends the statements that wait, and their callers get an error.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_waits_for_a_lock_is_ended_and_the_caller_gets_an_error() {
    under_load(&mut cluster(), async |cluster, running, id| {
        let mut lock = tokio_postgres::Config::new();
        lock.host(cluster.host()).port(cluster.port()).user("postgres").dbname(DATABASE);
        let (client, connection) = lock.connect(tokio_postgres::NoTls).await.unwrap();
        let driver = tokio::spawn(connection);
        client.batch_execute("BEGIN; LOCK TABLE listings IN SHARE MODE").await.unwrap();
        let mut caller = Client::connect(running.addresses.grpc).await;
        assert_eq!(caller.move_stock(id, "in", 100).await.unwrap_err().code(), Code::Unavailable);
        assert!(caller.product(id).await.is_ok(), "reads still succeed");
        client.batch_execute("ROLLBACK").await.unwrap();
        driver.abort();
    })
    .await;
}

/// Without its database a process does not start, and the error names the database.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_without_a_database_is_refused_with_its_name() {
    let cluster = cluster();
    let missing = start(&settings(&cluster, [("DB_NAME", "nowhere"), ("DB_START_WITHIN_S", "30")])).await;
    let error = missing.err().unwrap().to_string();
    assert!(error.contains("/nowhere cannot be used") && error.contains("(3D000)"), "{error}");
    let unreachable = start(&settings(&cluster, [("DB_PORT", "1"), ("DB_START_WITHIN_S", "0")])).await;
    let error = unreachable.err().unwrap().to_string();
    assert!(error.contains(":1/") && error.contains("cannot be used"), "{error}");
}
