//! What is committed is applied once and its callers learn of it, also when the answer to the commit is lost, or when
//! the work after the commit fails.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use kit::process::Service;
use listings::proto::{AddToFavoritesRequest, IncrementProductViewsRequest};
use peers::postgres::DATABASE;
use peers::redis::Redis;
use testkit::data::TestDatabase;
use testkit::until;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tonic::Code;

use crate::postgres::late::SlowProxy;
use crate::postgres::table_lock::{TableLock, waiting};
use crate::support::{Client, Server, a_product};

/// What the proxy does with the next commit. Afterwards it passes everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum NextCommit {
    Passed,
    /// The server commits; its answer is lost with the connection.
    Unanswered,
    /// The connection breaks before the server gets it.
    Unsent,
}

/// A proxy to PostgreSQL that can break a connection at a commit.
struct CommitProxy {
    address: SocketAddr,
    next: Arc<AtomicU8>,
    /// Whether new connections are refused.
    is_down: Arc<AtomicBool>,
    _tasks: JoinSet<()>,
}

impl CommitProxy {
    async fn to(server: (String, u16)) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, next) = (listener.local_addr().unwrap(), Arc::<AtomicU8>::default());
        let is_down = Arc::<AtomicBool>::default();
        let (set, down) = (Arc::clone(&next), Arc::clone(&is_down));
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                if !down.load(Ordering::SeqCst) {
                    connections.spawn(forward(client, server.clone(), Arc::clone(&set)));
                }
            }
        });
        Self { address, next, is_down, _tasks: tasks }
    }

    fn at_next_commit(&self, what: NextCommit) {
        self.next.store(what as u8, Ordering::SeqCst);
    }

    fn has_broken(&self) -> bool {
        self.next.load(Ordering::SeqCst) == NextCommit::Passed as u8
    }
}

/// A commit as the client sends it, and as the server confirms it.
const COMMIT: &[u8] = b"COMMIT\0";

fn has_commit(bytes: &[u8]) -> bool {
    bytes.windows(COMMIT.len()).any(|window| window == COMMIT)
}

async fn forward(mut client: TcpStream, server: (String, u16), next: Arc<AtomicU8>) {
    let mut server = TcpStream::connect(server).await.unwrap();
    let (mut from_client, mut from_server) = (vec![0; 65_536], vec![0; 65_536]);
    loop {
        tokio::select! {
            read = client.read(&mut from_client) => {
                let Ok(count @ 1..) = read else { return };
                let bytes = &from_client[..count];
                let unsent = next.load(Ordering::SeqCst) == NextCommit::Unsent as u8;
                if unsent && has_commit(bytes) {
                    next.store(NextCommit::Passed as u8, Ordering::SeqCst);
                    return;
                }
                server.write_all(bytes).await.unwrap();
            }
            read = server.read(&mut from_server) => {
                let Ok(count @ 1..) = read else { return };
                let bytes = &from_server[..count];
                let unanswered = next.load(Ordering::SeqCst) == NextCommit::Unanswered as u8;
                if unanswered && has_commit(bytes) {
                    next.store(NextCommit::Passed as u8, Ordering::SeqCst);
                    return;
                }
                client.write_all(bytes).await.unwrap();
            }
        }
    }
}

async fn serve() -> (Server, CommitProxy) {
    let store = TestDatabase::postgres();
    let env = store.env();
    let variable = |name: &str| env.iter().find(|(key, _)| *key == name).unwrap().1.clone();
    let proxy = CommitProxy::to((variable("DB_HOST"), variable("DB_PORT").parse().unwrap())).await;
    let port = proxy.address.port().to_string();
    let server = Server::start_in(store, &[("DB_HOST", "127.0.0.1"), ("DB_PORT", &port)]).await;
    (server, proxy)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_whose_answer_is_lost_is_answered_as_committed() {
    let (server, proxy) = serve().await;
    let mut client = server.client().await;
    let id = client.create(a_product()).await.id;
    proxy.at_next_commit(NextCommit::Unanswered);
    assert_eq!(client.move_stock(id, "in", 5).await.unwrap(), (10, 15));
    assert!(proxy.has_broken());
    assert_eq!(server.count("SELECT count(*) FROM inventory_movements"), 1);
    assert_eq!(client.product(id).await.unwrap().stock_quantity, 15);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_never_arrived_is_refused_and_changes_nothing() {
    let (server, proxy) = serve().await;
    let mut client = server.client().await;
    let id = client.create(a_product()).await.id;
    proxy.at_next_commit(NextCommit::Unsent);
    assert_eq!(client.move_stock(id, "in", 5).await.unwrap_err().code(), Code::Unavailable);
    assert_eq!(server.count("SELECT count(*) FROM inventory_movements"), 0);
    assert_eq!(client.move_stock(id, "in", 7).await.unwrap(), (10, 17));
}

/// A transaction that was not on disk when the server crashed: its id is used again by another.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_a_crash_of_the_server_has_undone_is_refused() {
    let mut cluster = crate::postgres::outages::cluster();
    let proxy = CommitProxy::to((cluster.host(), cluster.port())).await;
    let port = proxy.address.port().to_string();
    let settings =
        crate::postgres::outages::settings(&cluster, [("DB_HOST", "127.0.0.1"), ("DB_PORT", &port)]);
    let running = listings::server::start(&settings).await.unwrap();
    let mut client = Client::connect(running.addresses.grpc).await;
    let id = client.create(a_product()).await.id;
    proxy.is_down.store(true, Ordering::SeqCst);
    proxy.at_next_commit(NextCommit::Unsent);
    let mut caller = client.clone();
    let moving = tokio::spawn(async move { caller.move_stock(id, "in", 5).await });
    until("the commit was broken", async || proxy.has_broken()).await;
    cluster.kill();
    cluster.start_again().unwrap();
    for number in 0..20 {
        cluster.sql(DATABASE, &format!("CREATE TABLE other_{number} ()")).unwrap();
    }
    proxy.is_down.store(false, Ordering::SeqCst);
    assert_eq!(moving.await.unwrap().unwrap_err().code(), Code::Unavailable);
    assert_eq!(client.product(id).await.unwrap().stock_quantity, 10);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn views_count_once_when_their_commit_is_not_answered_or_never_arrives() {
    for broken in [NextCommit::Unanswered, NextCommit::Unsent] {
        let (server, proxy) = serve().await;
        let mut client = server.client().await;
        let product_id = client.create(a_product()).await.id;
        proxy.at_next_commit(broken);
        for _ in 0..3 {
            client.rpc.increment_product_views(IncrementProductViewsRequest { product_id }).await.unwrap();
        }
        until("the commit was broken", async || proxy.has_broken()).await;
        drop(client);
        let store = server.stop().await;
        assert_eq!(store.count("SELECT views FROM listing_counters"), 3, "{broken:?}");
    }
}

/// Redis disappears between the two steps of an invalidation, and the database refuses the other way to invalidate.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_committed_group_whose_invalidation_fails_is_not_applied_again() {
    let redis = Redis::start(&[]).unwrap();
    let proxy = SlowProxy::to(redis.address()).await;
    let url = format!("redis://{}", proxy.address);
    let server = Server::start_in(
        TestDatabase::postgres(),
        &[("REDIS_URL", &url), ("DB_WRITERS", "1"), ("DB_STATEMENT_TIMEOUT_MS", "60000")],
    )
    .await;
    let mut client = server.client().await;
    let id = client.create(a_product()).await.id;
    let listings = TableLock::acquire(&server.store, "listings").await;
    let movements = TableLock::acquire(&server.store, "inventory_movements").await;
    let mut calls = JoinSet::new();
    let mut first = client.clone();
    calls.spawn(async move {
        let request = AddToFavoritesRequest { user_id: 7, listing_id: id };
        first.rpc.add_to_favorites(request).await.map(drop)
    });
    until("the first write waits", async || waiting(&server.store) == 1).await;
    for _ in 0..2 {
        let mut client: Client = client.clone();
        calls.spawn(async move { client.move_stock(id, "in", 5).await.map(drop) });
    }
    until("the others are queued", async || {
        server.admin().text("/metrics").await.contains("listings_store_writes_waiting 3\n")
    })
    .await;
    listings.release().await;
    calls.join_next().await.unwrap().unwrap().unwrap();
    until("the group of the others waits", async || waiting(&server.store) == 1).await;
    server.store.run("ALTER TABLE cache_generation ADD CONSTRAINT refused CHECK (generation < 2)");
    drop(proxy);
    movements.release().await;
    until("the group is committed", async || server.count("SELECT count(*) FROM inventory_movements") >= 2)
        .await;
    server.store.run("ALTER TABLE cache_generation DROP CONSTRAINT refused");
    for outcome in calls.join_all().await {
        outcome.unwrap();
    }
    assert_eq!(server.count("SELECT count(*) FROM inventory_movements"), 2);
    assert_eq!(client.product(id).await.unwrap().stock_quantity, 20);
}
