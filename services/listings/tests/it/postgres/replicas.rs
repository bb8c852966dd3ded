//! Several replicas on one database and one Redis: they start at once, write the same rows, and each shows the writes
//! of the others, also while Redis is restarted, paused or slow.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kit::process::Service;
use listings::proto::{CreateListingRequest, UpdateListingRequest};
use listings::server::{Running, start};
use peers::redis::Redis;
use testkit::data::TestDatabase;
use testkit::process::Process;
use testkit::until;
use tokio::task::JoinSet;
use tonic::Code;

use crate::postgres::late::SlowProxy;
use crate::postgres::table_lock::{TableLock, waiting};
use crate::process::serving;
use crate::support::{Client, a_product};

pub(crate) async fn replicas(store: &TestDatabase, count: usize, more: &[(&str, &str)]) -> Vec<Running> {
    let mut starting = JoinSet::new();
    for _ in 0..count {
        let settings = crate::database::settings(store, more);
        starting.spawn(async move { start(&settings).await.unwrap() });
    }
    starting.join_all().await
}

pub(crate) async fn clients(replicas: &[Running]) -> Vec<Client> {
    let mut clients = Vec::new();
    for running in replicas {
        clients.push(Client::connect(running.addresses.grpc).await);
    }
    clients
}

pub(crate) async fn stop(replicas: Vec<Running>) {
    for running in replicas {
        running.stop().await;
    }
}

pub(crate) fn url(redis: &Redis) -> String {
    format!("redis://{}", redis.address())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn four_replicas_that_start_at_once_migrate_once() {
    let store = TestDatabase::postgres();
    let replicas = replicas(&store, 4, &[]).await;
    assert_eq!(store.count("SELECT count(*) FROM schema_steps"), 6);
    let mut clients = clients(&replicas).await;
    let id = clients[0].create(a_product()).await.id;
    assert_eq!(clients[3].product(id).await.unwrap().stock_quantity, 10);
    stop(replicas).await;
}

/// Writes on one replica and reads on the others, repeatedly: no answer is older than the write.
async fn assert_every_write_shows(clients: &mut [Client], id: i64, rounds: i32) {
    let count = clients.len();
    for round in 1..=rounds {
        let at = round as usize;
        clients[at % count].move_stock(id, "adjustment", round).await.unwrap();
        for step in 1..count {
            let reader = &mut clients[(at + step) % count];
            assert_eq!(reader.product(id).await.unwrap().stock_quantity, round);
            assert!((reader.stats(3).await.total_value - 19.99 * f64::from(round)).abs() < 1e-6);
        }
        let edit = UpdateListingRequest {
            id,
            user_id: 7,
            title: Some(format!("Thing number w{round}")),
            ..UpdateListingRequest::default()
        };
        clients[at % count].rpc.update_listing(edit).await.unwrap();
        let reader = &mut clients[(at + 1) % count];
        assert_eq!(reader.search(&format!("w{round}")).await, (vec![id], 1));
        assert_eq!(reader.search(&format!("w{}", round - 1)).await, (vec![], 0));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answered_write_shows_on_every_replica_with_and_without_redis() {
    let redis = Redis::start(&[]).unwrap();
    for more in [vec![], vec![("REDIS_URL", url(&redis))]] {
        let more: Vec<(&str, &str)> = more.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let store = TestDatabase::postgres();
        let replicas = replicas(&store, 3, &more).await;
        let mut clients = clients(&replicas).await;
        let id = clients[0].create(a_product()).await.id;
        assert_every_write_shows(&mut clients, id, 40).await;
        stop(replicas).await;
    }
}

/// Only at a server whose certificate is trusted for its name; at any other, the service continues without Redis.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_cache_is_reached_under_tls() {
    let files = testkit::tls::folder();
    let (redis, address) =
        Redis::start_with_tls(&files.join("localhost.pem"), &files.join("localhost.key")).unwrap();
    let keys = async || {
        let client = redis::Client::open(url(&redis)).unwrap();
        let mut connection = client.get_multiplexed_async_connection().await.unwrap();
        redis::cmd("DBSIZE").query_async::<u64>(&mut connection).await.unwrap()
    };
    for (host, is_used) in [("127.0.0.1", false), ("localhost", true)] {
        let store = TestDatabase::postgres();
        let mut command = serving(&store);
        command.env("REDIS_URL", format!("rediss://{host}:{}/", address.port()));
        command.env("SSL_CERT_FILE", files.join("authority.pem"));
        let process = Process::start(&mut command);
        let mut client = Client::connect(process.address("grpc")).await;
        let id = client.create(a_product()).await.id;
        if is_used {
            until("an answer is cached", async || {
                client.clone().product(id).await.is_ok() && keys().await > 0
            })
            .await;
        } else {
            assert_eq!(client.product(id).await.unwrap().stock_quantity, 10);
            assert_eq!(keys().await, 0);
        }
    }
}

/// Readers on all replicas fill the cache during writes: no reader sees an older value after a newer one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_late_cache_fill_restores_an_older_answer() {
    let redis = Redis::start(&[]).unwrap();
    let store = TestDatabase::postgres();
    let replicas = replicas(&store, 2, &[("REDIS_URL", &url(&redis))]).await;
    let mut clients = clients(&replicas).await;
    let id = clients[0].create(CreateListingRequest { quantity: 0, ..a_product() }).await.id;
    let is_over = Arc::new(AtomicBool::new(false));
    let mut readers = JoinSet::new();
    for reader in 0..8 {
        let (mut client, is_over) = (clients[reader % 2].clone(), Arc::clone(&is_over));
        readers.spawn(async move {
            let mut newest = 0;
            while !is_over.load(Ordering::Relaxed) {
                let seen = client.product(id).await.unwrap().stock_quantity;
                assert!(seen >= newest, "{seen} after {newest}");
                newest = seen;
            }
        });
    }
    for quantity in 1..=300 {
        clients[0].move_stock(id, "adjustment", quantity).await.unwrap();
        assert_eq!(clients[1].product(id).await.unwrap().stock_quantity, quantity);
    }
    is_over.store(true, Ordering::Relaxed);
    readers.join_all().await;
    stop(replicas).await;
}

/// Redis is stopped, restarted, paused and resumed while replicas write and read: responses are slower, never wrong.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_correct_while_redis_is_restarted_and_paused() {
    let mut redis = Redis::start(&[]).unwrap();
    let store = TestDatabase::postgres();
    let replicas = replicas(&store, 2, &[("REDIS_URL", &url(&redis))]).await;
    let mut clients = clients(&replicas).await;
    let id = clients[0].create(a_product()).await.id;
    assert_every_write_shows(&mut clients, id, 5).await;
    redis.stop();
    assert_every_write_shows(&mut clients, id, 3).await;
    let generation = store.count("SELECT generation FROM cache_generation");
    assert!(generation > 1, "writes that could not reach Redis increment the generation");
    redis.start_again().unwrap();
    assert_every_write_shows(&mut clients, id, 10).await;
    redis.pause();
    assert_every_write_shows(&mut clients, id, 2).await;
    redis.resume();
    assert_every_write_shows(&mut clients, id, 10).await;
    let health = replicas[0].addresses.admin;
    until("Redis is in use again", async || {
        testkit::http::Client::new(health).text("/health/deep").await.contains("\"cache\":\"healthy\"")
    })
    .await;
    stop(replicas).await;
}

/// Slow responses of Redis are awaited up to a timeout; after it the service continues without Redis.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_are_correct_while_redis_is_slow() {
    let redis = Redis::start(&[]).unwrap();
    let proxy = SlowProxy::to(redis.address()).await;
    let store = TestDatabase::postgres();
    let through = format!("redis://{}", proxy.address);
    let mut replicas = replicas(&store, 1, &[("REDIS_URL", &through)]).await;
    replicas.extend(self::replicas(&store, 1, &[("REDIS_URL", &url(&redis))]).await);
    let mut clients = clients(&replicas).await;
    let id = clients[0].create(a_product()).await.id;
    for delay_ms in [20, 400, 0] {
        proxy.delay(Duration::from_millis(delay_ms));
        assert_every_write_shows(&mut clients, id, 3).await;
    }
    let generation = store.count("SELECT generation FROM cache_generation");
    assert!(generation > 1, "writes that timed out at Redis increment the generation");
    let health = replicas[0].addresses.admin;
    until("Redis is in use again", async || {
        testkit::http::Client::new(health).text("/health/deep").await.contains("\"cache\":\"healthy\"")
    })
    .await;
    assert_every_write_shows(&mut clients, id, 3).await;
    stop(replicas).await;
}

/// One replica cannot reach Redis; the other can, with earlier answers cached.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_of_a_replica_that_cannot_reach_redis_shows_on_one_that_can() {
    let redis = Redis::start(&[]).unwrap();
    let store = TestDatabase::postgres();
    let mut replicas = replicas(&store, 1, &[("REDIS_URL", &url(&redis))]).await;
    replicas.extend(self::replicas(&store, 1, &[("REDIS_URL", "redis://127.0.0.1:1")]).await);
    let mut clients = clients(&replicas).await;
    let id = clients[0].create(a_product()).await.id;
    for quantity in 1..=5 {
        for _ in 0..3 {
            clients[0].product(id).await.unwrap();
        }
        clients[1].move_stock(id, "adjustment", quantity).await.unwrap();
        assert_eq!(clients[0].product(id).await.unwrap().stock_quantity, quantity);
    }
    stop(replicas).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_movements_on_several_replicas_lose_nothing() {
    let store = TestDatabase::postgres();
    let replicas = replicas(&store, 3, &[]).await;
    let mut clients = clients(&replicas).await;
    let id = clients[0].create(CreateListingRequest { quantity: 0, ..a_product() }).await.id;
    let mut movements = JoinSet::new();
    for number in 0..600_usize {
        let mut client = clients[number % 3].clone();
        movements.spawn(async move { client.move_stock(id, "in", 2).await.unwrap() });
    }
    movements.join_all().await;
    assert_eq!(clients[0].product(id).await.unwrap().stock_quantity, 1_200);
    stop(replicas).await;
}

/// The second writer finds out at its insertion that it was not the first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_first_products_of_a_storefront_at_once_give_it_one_owner() {
    let store = TestDatabase::postgres();
    let replicas = replicas(&store, 2, &[("DB_STATEMENT_TIMEOUT_MS", "60000")]).await;
    let clients = clients(&replicas).await;
    let lock = TableLock::acquire(&store, "listing_words").await;
    let mut offers = JoinSet::new();
    for (index, user_id) in [(0, 7), (1, 8)] {
        let mut client = clients[index].clone();
        offers.spawn(async move {
            client.rpc.create_listing(CreateListingRequest { user_id, ..a_product() }).await.map(drop)
        });
        until("the offer waits", async || waiting(&store) == index as i64 + 1).await;
    }
    lock.release().await;
    for offered in offers.join_all().await {
        offered.unwrap();
    }
    assert_eq!(store.count("SELECT user_id FROM storefronts"), 7);
    stop(replicas).await;
}

/// Two processes of the binary write the same row and share the cache.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_lose_no_movement_and_show_each_others_writes() {
    let redis = Redis::start(&[]).unwrap();
    let store = TestDatabase::postgres();
    let processes = [0, 1].map(|_| Process::start(serving(&store).env("REDIS_URL", url(&redis))));
    let mut clients = Vec::new();
    for process in &processes {
        clients.push(Client::connect(process.address("grpc")).await);
    }
    let id = clients[0].create(CreateListingRequest { quantity: 0, ..a_product() }).await.id;
    assert_every_write_shows(&mut clients, id, 20).await;
    let before = clients[0].product(id).await.unwrap().stock_quantity;
    let mut movements = JoinSet::new();
    for number in 0..400_usize {
        let mut client = clients[number % 2].clone();
        movements.spawn(async move { client.move_stock(id, "in", 2).await.unwrap() });
    }
    movements.join_all().await;
    for client in &mut clients {
        assert_eq!(client.product(id).await.unwrap().stock_quantity, before + 800);
    }
    drop(clients);
    for process in processes {
        assert!(process.terminate().success());
    }
}

/// Moves the counted calls an hour into the future, as they look after the clock of Redis was set back by an hour.
const MOVE_COUNTS_AN_HOUR_AHEAD: &str = "
    for _, key in ipairs(redis.call('KEYS', '*:rate_limit:*')) do
        local fields = redis.call('HGETALL', key)
        redis.call('DEL', key)
        for index = 1, #fields, 2 do
            redis.call('HSET', key, string.format('%d', tonumber(fields[index]) + 720), fields[index + 1])
        end
    end
    return 1";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn setting_the_clock_of_redis_back_keeps_the_counts_and_the_wait_below_65_s() {
    let redis = Redis::start(&[]).unwrap();
    let store = TestDatabase::postgres();
    let table = store.path().join("limits.toml");
    std::fs::write(&table, "GetProductStats = { per_minute = 10 }").unwrap();
    let (url, table) = (url(&redis), table.display().to_string());
    let on = [("REDIS_URL", url.as_str()), ("RATE_LIMIT_ENABLED", "true"), ("RATE_LIMIT_TABLE", &table)];
    let replicas = replicas(&store, 1, &on).await;
    let mut clients = clients(&replicas).await;
    let request = listings::proto::GetProductStatsRequest { storefront_id: 3 };
    for _ in 0..7 {
        clients[0].rpc.get_product_stats(request).await.unwrap();
    }
    let client = redis::Client::open(url.as_str()).unwrap();
    let mut connection = client.get_connection().unwrap();
    let _moved: i64 =
        redis::cmd("EVAL").arg(MOVE_COUNTS_AN_HOUR_AHEAD).arg(0).query(&mut connection).unwrap();
    for _ in 0..3 {
        clients[0].rpc.get_product_stats(request).await.unwrap();
    }
    let refused = clients[0].rpc.get_product_stats(request).await.unwrap_err();
    assert_eq!(refused.code(), Code::ResourceExhausted);
    let retry_after = refused.metadata().get("grpc-retry-pushback-ms").unwrap().to_str().unwrap();
    assert!((1..=65_000).contains(&retry_after.parse::<u64>().unwrap()), "{retry_after} ms");
    stop(replicas).await;
}

/// Replicas share their counts; without Redis they admit or refuse calls, and count the decision.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rate_limits_apply_to_all_replicas_and_are_open_or_closed_without_redis() {
    let mut redis = Redis::start(&[]).unwrap();
    let store = TestDatabase::postgres();
    let table = store.path().join("limits.toml");
    std::fs::write(&table, "GetProductStats = { per_minute = 10 }\nGetProduct = { per_minute = 1000 }")
        .unwrap();
    let on = |failure: &'static str| {
        [
            ("REDIS_URL", url(&redis)),
            ("RATE_LIMIT_ENABLED", "true".to_owned()),
            ("RATE_LIMIT_TABLE", table.display().to_string()),
            ("RATE_LIMIT_ON_FAILURE", failure.to_owned()),
        ]
    };
    let mut replicas = Vec::new();
    for failure in ["open", "closed"] {
        let more = on(failure);
        let more: Vec<(&str, &str)> = more.iter().map(|(name, value)| (*name, value.as_str())).collect();
        replicas.extend(self::replicas(&store, 1, &more).await);
    }
    let mut clients = clients(&replicas).await;
    let request = listings::proto::GetProductStatsRequest { storefront_id: 3 };
    let mut admitted = 0;
    for number in 0..30 {
        admitted += i32::from(clients[number % 2].rpc.get_product_stats(request).await.is_ok());
    }
    assert_eq!(admitted, 10);
    redis.stop();
    let codes = |answer: Result<_, tonic::Status>| answer.map(drop).map_err(|status| status.code());
    assert_eq!(codes(clients[0].rpc.get_product_stats(request).await.map(drop)), Ok(()), "open");
    assert_eq!(
        codes(clients[1].rpc.get_product_stats(request).await.map(drop)),
        Err(Code::Unavailable),
        "closed"
    );
    for (running, decision) in replicas.iter().zip(["admitted", "refused"]) {
        let metrics = testkit::http::Client::new(running.addresses.admin).text("/metrics").await;
        let line = format!("listings_rate_limit_failed_total{{decision=\"{decision}\"}} 1");
        assert!(metrics.contains(&line), "{metrics}");
    }
    stop(replicas).await;
}
