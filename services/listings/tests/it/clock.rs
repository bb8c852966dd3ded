//! The clock is set while the service runs: timestamps and tokens follow it, and nothing else does.

use std::sync::Arc;

use listings::proto::{
    AddToFavoritesRequest, GetListingRequest, GetProductStatsRequest, GetUserFavoritesRequest,
    ListListingsRequest,
};
use peers::faketime::Clock;
use tonic::{Code, Request};

use testkit::data::TestDatabase;
use testkit::grpc::code;
use testkit::issuer::{KeyServer, Signer, claims};
use testkit::killed::Load;
use testkit::process::Process;
use testkit::time::{HOUR_S, hours_ahead};
use testkit::until;

use crate::process::serving;
use crate::support::{Client, a_product};

/// The offsets to which the clock is set, one after another.
const OFFSETS_S: [i64; 4] = [0, -HOUR_S, HOUR_S, 0];

fn start(store: &TestDatabase, clock: &Clock, settings: &[(&str, &str)]) -> Process {
    let mut command = serving(store);
    command.envs(clock.env()).envs(settings.iter().copied());
    Process::start(&mut command)
}

/// Moves stock until the load is over; every movement shows in the next read.
async fn move_until_over(mut client: Client, id: i64, load: Arc<Load>) {
    while !load.is_over() {
        let (_, after) = client.move_stock(id, "in", 1).await.unwrap();
        assert_eq!(client.product(id).await.unwrap().stock_quantity, after);
        load.acknowledge();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn setting_the_clock_changes_no_stock_no_order_and_no_answer() {
    let (clock, store) = (Clock::start().unwrap(), TestDatabase::new());
    let process = start(&store, &clock, &[]);
    let mut client = Client::connect(process.address("grpc")).await;
    let id = client.create(a_product()).await.id;
    let load = Arc::new(Load::default());
    let moving = tokio::spawn(move_until_over(client.clone(), id, Arc::clone(&load)));
    let (mut newest_first, mut hours) = (vec![id], Vec::new());
    for ahead_s in OFFSETS_S {
        clock.set(ahead_s).unwrap();
        let before = load.acknowledged();
        until("stock is moved", async || {
            assert!(!moving.is_finished());
            load.acknowledged() > before + 20
        })
        .await;
        let made = client.create(a_product()).await;
        hours.push(hours_ahead(&made.created_at));
        newest_first.insert(0, made.id);
        let all = ListListingsRequest { limit: 10, ..ListListingsRequest::default() };
        assert_eq!(client.list(all).await.0, newest_first);
        let favorite = AddToFavoritesRequest { user_id: 5, listing_id: made.id };
        client.rpc.add_to_favorites(favorite).await.unwrap();
        let favorites = GetUserFavoritesRequest { user_id: 5, limit: 10, offset: 0 };
        let favorites = client.rpc.get_user_favorites(favorites).await.unwrap().into_inner().listing_ids;
        assert_eq!(favorites, newest_first[..newest_first.len() - 1], "the newest favourite comes first");
    }
    assert_eq!(hours, [0, -1, 1, 0], "the clock was set");
    load.end();
    moving.await.unwrap();
    let moved = i32::try_from(load.acknowledged()).unwrap();
    assert_eq!(client.product(id).await.unwrap().stock_quantity, 10 + moved);
    assert_eq!(client.stats(3).await.total_products, 5);
    drop(client);
    clock.set(-HOUR_S).unwrap();
    assert!(process.terminate().success(), "it drains also after the clock was set");
    assert_eq!(store.count("SELECT count(*) FROM inventory_movements"), i64::from(moved));
}

#[tokio::test]
async fn the_rate_limiters_minute_does_not_depend_on_the_clock() {
    let (clock, store) = (Clock::start().unwrap(), TestDatabase::new());
    let table = store.path().join("limits.toml");
    std::fs::write(&table, "GetProductStats = { per_minute = 8 }").unwrap();
    let table = table.display().to_string();
    let process = start(&store, &clock, &[("RATE_LIMIT_ENABLED", "true"), ("RATE_LIMIT_TABLE", &table)]);
    let mut client = Client::connect(process.address("grpc")).await;
    let request = GetProductStatsRequest { storefront_id: 3 };
    for ahead_s in OFFSETS_S {
        clock.set(ahead_s).unwrap();
        for _ in 0..2 {
            client.rpc.get_product_stats(request).await.unwrap();
        }
    }
    for ahead_s in OFFSETS_S {
        clock.set(ahead_s).unwrap();
        let refused = client.rpc.get_product_stats(request).await.unwrap_err();
        assert_eq!(refused.code(), Code::ResourceExhausted);
        let retry_after = refused.metadata().get("grpc-retry-pushback-ms").unwrap().to_str().unwrap();
        assert!((1..=65_000).contains(&retry_after.parse::<u64>().unwrap()), "{retry_after} ms");
    }
    drop(client);
    assert!(process.terminate().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_are_valid_by_the_current_clock() {
    let (clock, store) = (Clock::start().unwrap(), TestDatabase::new());
    let signer = Signer::ec("k1");
    let keys = KeyServer::start(&[&signer]).await;
    let mut settings = vec![("AUTH_ENABLED", "true"), ("AUTH_NAMESPACE_CLAIM", "none")];
    let own = keys.settings();
    settings.extend(own);
    let process = start(&store, &clock, &settings);
    let mut client = Client::connect(process.address("grpc")).await;
    // Both are valid for an hour from now; the second is first used when the clock is before that.
    let (first, second) = (signer.token(&claims("7")), signer.token(&claims("7")));
    let mut codes = Vec::new();
    let steps = [(0, &first), (HOUR_S + 60, &first), (0, &first), (-HOUR_S, &second), (0, &second)];
    for (ahead_s, token) in steps {
        clock.set(ahead_s).unwrap();
        let mut request = Request::new(GetListingRequest { id: 1, lang: None });
        request.metadata_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        codes.push(code(client.rpc.get_listing(request).await));
    }
    let (valid, invalid) = (Code::NotFound, Code::Unauthenticated);
    assert_eq!(codes, [valid, invalid, valid, invalid, valid]);
    drop(client);
    assert!(process.terminate().success());
}
