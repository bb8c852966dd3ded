//! A clock that is set back, or on, while the service runs: stamps and tokens follow it, and nothing else does.

use crate::home::Home;
use crate::issuer::{KeyServer, Signer, claims};
use crate::process::{Process, serving};
use crate::support::{Client, a_product, code, until};
use kit::clock::UtcMs;
use listings::proto::{
    AddToFavoritesRequest, GetListingRequest, GetProductStatsRequest, GetUserFavoritesRequest,
    ListListingsRequest, Listing,
};
use peers::faketime::Clock;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use tonic::{Code, Request};

const HOUR_S: i64 = 3_600;
const HOUR_MS: i64 = 1_000 * HOUR_S;
/// How far the clock is ahead, in turn.
const TURNS: [i64; 4] = [0, -HOUR_S, HOUR_S, 0];

fn start(home: &Home, clock: &Clock, settings: &[(&str, &str)]) -> Process {
    let mut command = serving(home);
    command.envs(clock.env()).envs(settings.iter().copied());
    Process::started(&mut command, Stdio::null())
}

/// How far the clock was from the true time when a listing was made; a test takes far less than half an hour.
fn hours_ahead(listing: &Listing) -> i64 {
    let told = UtcMs::parse(&listing.created_at).unwrap();
    (told.0 - UtcMs::now().0 + HOUR_MS / 2).div_euclid(HOUR_MS)
}

/// Moves stock until it is over; every answer shows in the next read.
async fn move_on(mut client: Client, id: i64, (moved, is_over): (Arc<AtomicI32>, Arc<AtomicBool>)) {
    while !is_over.load(Ordering::Relaxed) {
        let (_, after) = client.move_stock(id, ("in", 1)).await.unwrap();
        assert_eq!(client.product(id).await.unwrap().stock_quantity, after);
        moved.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_set_changes_no_stock_no_order_and_no_answer() {
    let (clock, home) = (Clock::start().unwrap(), Home::new());
    let process = start(&home, &clock, &[]);
    let mut client = Client::connect(process.addresses.grpc).await;
    let id = client.create(a_product()).await.id;
    let shared = (Arc::new(AtomicI32::new(0)), Arc::new(AtomicBool::new(false)));
    let (moved, is_over) = shared.clone();
    let moving = tokio::spawn(move_on(client.clone(), id, shared));
    let (mut newest_first, mut hours) = (vec![id], Vec::new());
    for ahead_s in TURNS {
        clock.set(ahead_s).unwrap();
        let before = moved.load(Ordering::Relaxed);
        until("stock is moved", async || {
            assert!(!moving.is_finished());
            moved.load(Ordering::Relaxed) > before + 20
        })
        .await;
        let made = client.create(a_product()).await;
        hours.push(hours_ahead(&made));
        newest_first.insert(0, made.id);
        let all = ListListingsRequest { limit: 10, ..ListListingsRequest::default() };
        assert_eq!(client.list(all).await.0, newest_first);
        let mark = AddToFavoritesRequest { user_id: 5, listing_id: made.id };
        client.rpc.add_to_favorites(mark).await.unwrap();
        let marks = GetUserFavoritesRequest { user_id: 5, limit: 10, offset: 0 };
        let marks = client.rpc.get_user_favorites(marks).await.unwrap().into_inner().listing_ids;
        assert_eq!(marks, newest_first[..newest_first.len() - 1], "the last mark stands first");
    }
    assert_eq!(hours, [0, -1, 1, 0], "the clock was set");
    is_over.store(true, Ordering::Relaxed);
    moving.await.unwrap();
    let moved = moved.load(Ordering::Relaxed);
    assert_eq!(client.product(id).await.unwrap().stock_quantity, 10 + moved);
    assert_eq!(client.stats(3).await.total_products, 5);
    drop(client);
    clock.set(-HOUR_S).unwrap();
    assert!(process.terminate().success(), "it drains whatever time it is");
    assert_eq!(home.count("SELECT count(*) FROM inventory_movements"), i64::from(moved));
}

#[tokio::test]
async fn a_minute_of_the_limiter_is_none_of_the_clock() {
    let (clock, home) = (Clock::start().unwrap(), Home::new());
    let table = home.path().join("limits.toml");
    std::fs::write(&table, "GetProductStats = { per_minute = 8 }").unwrap();
    let table = table.display().to_string();
    let process = start(&home, &clock, &[("RATE_LIMIT_ENABLED", "true"), ("RATE_LIMIT_TABLE", &table)]);
    let mut client = Client::connect(process.addresses.grpc).await;
    let asked = GetProductStatsRequest { storefront_id: 3 };
    for ahead_s in TURNS {
        clock.set(ahead_s).unwrap();
        for _ in 0..2 {
            client.rpc.get_product_stats(asked).await.unwrap();
        }
    }
    for ahead_s in TURNS {
        clock.set(ahead_s).unwrap();
        let refused = client.rpc.get_product_stats(asked).await.unwrap_err();
        assert_eq!(refused.code(), Code::ResourceExhausted);
        let again_in = refused.metadata().get("grpc-retry-pushback-ms").unwrap().to_str().unwrap();
        assert!((1..=65_000).contains(&again_in.parse::<u64>().unwrap()), "{again_in} ms");
    }
    drop(client);
    assert!(process.terminate().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_are_believed_when_the_clock_says_so() {
    let (clock, home) = (Clock::start().unwrap(), Home::new());
    let signer = Signer::ec("k1");
    let keys = KeyServer::start(&[&signer]).await;
    let mut settings = vec![("AUTH_ENABLED", "true"), ("AUTH_NAMESPACE_CLAIM", "none")];
    let own = keys.settings();
    settings.extend(own);
    let process = start(&home, &clock, &settings);
    let mut client = Client::connect(process.addresses.grpc).await;
    // Both for an hour from now on; the second is not shown until the clock is before their beginning.
    let (first, second) = (signer.token(&claims("7")), signer.token(&claims("7")));
    let mut believed = Vec::new();
    let turns = [(0, &first), (HOUR_S + 60, &first), (0, &first), (-HOUR_S, &second), (0, &second)];
    for (ahead_s, token) in turns {
        clock.set(ahead_s).unwrap();
        let mut asked = Request::new(GetListingRequest { id: 1, lang: None });
        asked.metadata_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        believed.push(code(client.rpc.get_listing(asked).await));
    }
    let (yes, no) = (Code::NotFound, Code::Unauthenticated);
    assert_eq!(believed, [yes, no, yes, no, yes]);
    drop(client);
    assert!(process.terminate().success());
}
