//! What the service asks of Redis: short scripts, and keys that a cluster has on one node.

use std::net::TcpListener;

use listings::proto::{GetProductsByIDsRequest, UpdateListingRequest};
use peers::redis::Redis;
use redis::FromRedisValue;
use redis::aio::MultiplexedConnection;
use testkit::data::TestDatabase;
use testkit::until;

use crate::postgres::replicas::{clients, replicas, stop, url};
use crate::support::a_product;

async fn connection(redis: &Redis) -> MultiplexedConnection {
    redis::Client::open(url(redis)).unwrap().get_multiplexed_async_connection().await.unwrap()
}

async fn ask<T: FromRedisValue>(redis: &mut MultiplexedConnection, command: &str) -> T {
    let mut words = command.split(' ');
    let mut cmd = redis::cmd(words.next().unwrap());
    words.for_each(|word| {
        cmd.arg(word);
    });
    cmd.query_async(redis).await.unwrap()
}

/// A node of a cluster, and its port for the others.
fn node() -> (Redis, u16) {
    let bus = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let settings = [("cluster-enabled", "yes"), ("cluster-port", &bus.to_string())];
    (Redis::start(&settings).unwrap(), bus)
}

/// The service is given the node without its keys; another has them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_and_rate_limits_are_on_one_node_of_a_cluster() {
    let ((given, _), (other, bus)) = (node(), node());
    let (mut first, mut second) = (connection(&given).await, connection(&other).await);
    let slot: u32 = ask(&mut first, "CLUSTER KEYSLOT {listings}").await;
    let around = format!("CLUSTER ADDSLOTSRANGE 0 {} {} 16383", slot - 1, slot + 1);
    let _ok: String = ask(&mut first, &around).await;
    let _ok: String = ask(&mut second, &format!("CLUSTER ADDSLOTS {slot}")).await;
    let address = other.address();
    let meet = format!("CLUSTER MEET {} {} {bus}", address.ip(), address.port());
    let _ok: String = ask(&mut first, &meet).await;
    for node in [&mut first, &mut second] {
        until("the nodes know all slots", async || {
            ask::<String>(&mut node.clone(), "CLUSTER INFO").await.contains("cluster_state:ok")
        })
        .await;
    }
    let store = TestDatabase::postgres();
    let settings = [("REDIS_URL", &*url(&given)), ("RATE_LIMIT_ENABLED", "true")];
    let replicas = replicas(&store, 2, &settings).await;
    let mut clients = clients(&replicas).await;
    let ids = [clients[0].create(a_product()).await.id, clients[0].create(a_product()).await.id];
    let request = || GetProductsByIDsRequest { product_ids: ids.to_vec(), ..Default::default() };
    for round in 0..6 {
        clients[round % 2].move_stock(ids[0], "adjustment", round as i32).await.unwrap();
        for client in &mut clients {
            let found = client.rpc.get_products_by_i_ds(request()).await.unwrap().into_inner().products;
            assert_eq!((found.len(), found[0].stock_quantity), (2, round as i32));
        }
    }
    let metrics = testkit::http::Client::new(replicas[1].addresses.admin);
    assert!(metrics.metric("listings_cache_hits_total{kind=\"listing\"}").await > 0.0);
    assert_eq!(metrics.text("/metrics").await.matches("listings_rate_limit_failed_total{").count(), 0);
    assert!(ask::<u64>(&mut second, "DBSIZE").await > 0);
    assert_eq!(ask::<u64>(&mut first, "DBSIZE").await, 0);
    stop(replicas).await;
}

/// Redis answers nobody while a script runs, and an answer after 150 ms counts as none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_of_many_words_reaches_redis_in_small_scripts() {
    let (redis, store) = (
        Redis::start(&[("slowlog-log-slower-than", "0"), ("slowlog-max-len", "100000")]).unwrap(),
        TestDatabase::postgres(),
    );
    let replicas = replicas(&store, 1, &[("REDIS_URL", &url(&redis))]).await;
    let mut client = clients(&replicas).await.remove(0);
    let words = |letter: char| (0..250).map(|n| format!("{letter}{n} ")).collect::<String>();
    let id = client.create(a_product()).await.id;
    for letter in ['a', 'b'] {
        let description = Some(words(letter));
        let edit = UpdateListingRequest { id, user_id: 7, description, ..UpdateListingRequest::default() };
        client.rpc.update_listing(edit).await.unwrap();
    }
    assert_eq!(client.search("b7").await, (vec![id], 1));
    let log: Vec<(i64, i64, i64, Vec<String>)> = redis::cmd("EVAL")
        .arg("local log = redis.call('SLOWLOG', 'GET', -1) for i, entry in ipairs(log) do log[i] = {unpack(entry, 1, 4)} end return log")
        .arg(0)
        .query_async(&mut connection(&redis).await)
        .await
        .unwrap();
    let scripts = log.iter().filter(|entry| entry.3[0].eq_ignore_ascii_case("EVALSHA"));
    let keys: Vec<usize> = scripts.map(|entry| entry.3[2].parse().unwrap()).collect();
    assert!(keys.iter().sum::<usize>() > 1_000, "{keys:?}");
    assert!(keys.iter().all(|count| *count <= 128), "{keys:?}");
    stop(replicas).await;
}
