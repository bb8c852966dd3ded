//! A PostgreSQL that is ended, stands still or is locked: what was acknowledged is there once, the rest is refused, and
//! the service is well again by itself. Each test has a cluster of its own.

use crate::support::{Client, a_product, get, until};
use kit::env::Env;
use listings::server::{Running, start};
use listings::settings::Settings;
use peers::postgres::{Cluster, DATABASE, Options};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tonic::Code;

async fn serve(cluster: &Cluster) -> Running {
    let quick = [("DB_WRITERS", "2"), ("DB_READERS", "2"), ("DB_STATEMENT_TIMEOUT_MS", "500")];
    start(&settings(cluster, quick)).await.unwrap()
}

fn settings<const N: usize>(cluster: &Cluster, more: [(&str, &str); N]) -> Settings {
    let own = cluster.env();
    let own = own.iter().map(|(name, value)| (*name, value.as_str()));
    Settings::read(&Env::of(crate::home::PORTS.into_iter().chain(own).chain(more))).unwrap()
}

fn cluster() -> Cluster {
    Cluster::start_with(&Options { fsync: false, ..Options::default() }).unwrap()
}

/// Moves stock until told to stop; how many movements were acknowledged, and how many may have been done.
async fn move_until(mut client: Client, id: i64, stop: Arc<AtomicBool>) -> (i32, i32) {
    let (mut acknowledged, mut in_doubt) = (0, 0);
    while !stop.load(Ordering::Relaxed) {
        match client.move_stock(id, ("in", 1)).await {
            Ok(_) => acknowledged += 1,
            Err(status) => {
                assert!(matches!(status.code(), Code::Unavailable | Code::DeadlineExceeded), "{status}");
                in_doubt += 1;
            }
        }
    }
    (acknowledged, in_doubt)
}

/// Under load the cluster meets what `fault` does; afterwards everything works again, and nothing is lost or doubled.
async fn under_load(cluster: &mut Cluster, fault: impl AsyncFnOnce(&mut Cluster, &Running, i64)) {
    let running = serve(cluster).await;
    let mut client = Client::connect(running.addresses.grpc).await;
    let id = client.create(a_product()).await.id;
    let stop = Arc::new(AtomicBool::new(false));
    let moving = tokio::spawn(move_until(client.clone(), id, Arc::clone(&stop)));
    until("movements are acknowledged", async || client.product(id).await.unwrap().stock_quantity > 30).await;
    fault(cluster, &running, id).await;
    until("it moves again", async || client.move_stock(id, ("out", 1)).await.is_ok()).await;
    stop.store(true, Ordering::Relaxed);
    let (acknowledged, in_doubt) = moving.await.unwrap();
    let product = client.product(id).await.unwrap();
    let in_record = "SELECT sum(stock_after - stock_before) FROM inventory_movements";
    let recorded: i32 = cluster.sql(DATABASE, in_record).unwrap().trim().parse().unwrap();
    assert_eq!(product.stock_quantity, 10 + recorded, "the record and the stock agree");
    let moved_in = "SELECT count(*) FROM inventory_movements WHERE movement_type = 'in'";
    let moved_in: i32 = cluster.sql(DATABASE, moved_in).unwrap().trim().parse().unwrap();
    assert!((acknowledged..=acknowledged + in_doubt).contains(&moved_in), "{moved_in} of {acknowledged}");
    assert!((client.stats(3).await.total_value - 19.99 * f64::from(product.stock_quantity)).abs() < 1e-6);
    drop(client);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_killed_and_comes_back_loses_and_doubles_nothing() {
    under_load(&mut cluster(), async |cluster, running, _id| {
        cluster.kill();
        until("readiness says so", async || {
            !get(running.addresses.http, "/health/ready").await.0.is_success()
        })
        .await;
        let deep = get(running.addresses.http, "/health/deep").await.1;
        assert!(deep.contains("\"status\":\"unhealthy\""), "{deep}");
        cluster.start_again().unwrap();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stands_still_is_not_waited_for() {
    under_load(&mut cluster(), async |cluster, running, id| {
        cluster.pause();
        let mut client = Client::connect(running.addresses.grpc).await;
        let code = client.product(id).await.unwrap_err().code();
        assert_eq!(code, Code::Unavailable, "answered within the bound although the server never did");
        cluster.resume();
    })
    .await;
}

/// Somebody else's lock makes every write of the table wait: the server ends the statement, and the caller is told.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_statement_that_takes_too_long_is_ended_and_the_caller_told() {
    under_load(&mut cluster(), async |cluster, running, id| {
        let mut lock = tokio_postgres::Config::new();
        lock.host(cluster.host()).port(cluster.port()).user("postgres").dbname(DATABASE);
        let (client, connection) = lock.connect(tokio_postgres::NoTls).await.unwrap();
        let driver = tokio::spawn(connection);
        client.batch_execute("BEGIN; LOCK TABLE listings IN SHARE MODE").await.unwrap();
        let mut caller = Client::connect(running.addresses.grpc).await;
        assert_eq!(caller.move_stock(id, ("in", 100)).await.unwrap_err().code(), Code::Unavailable);
        assert!(caller.product(id).await.is_ok(), "reads go on");
        client.batch_execute("ROLLBACK").await.unwrap();
        driver.abort();
    })
    .await;
}

/// Without its database a process does not start, and says which one it has not found.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_without_a_database_is_refused_by_its_name() {
    let cluster = cluster();
    let nowhere = start(&settings(&cluster, [("DB_NAME", "nowhere"), ("DB_START_WITHIN_S", "30")])).await;
    let said = nowhere.err().unwrap().to_string();
    assert!(said.contains("/nowhere cannot be used") && said.contains("(3D000)"), "{said}");
    let nobody = start(&settings(&cluster, [("DB_PORT", "1"), ("DB_START_WITHIN_S", "0")])).await;
    let said = nobody.err().unwrap().to_string();
    assert!(said.contains(":1/") && said.contains("cannot be used"), "{said}");
}
