//! Searches and lists: results, order and totals.

use listings::proto::{
    CreateListingRequest, ListListingsRequest, SearchListingsRequest, UpdateListingRequest,
};

use crate::support::{Client, Server, a_product};

async fn with_titles(client: &mut Client, titles: &[&str]) -> Vec<i64> {
    let mut ids = Vec::new();
    for title in titles {
        let request = CreateListingRequest { title: (*title).to_owned(), description: None, ..a_product() };
        ids.push(client.create(request).await.id);
    }
    ids
}

#[tokio::test]
async fn a_search_finds_listings_with_every_word_newest_first() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let ids =
        with_titles(&mut client, &["Red bike", "Blue BIKE, red saddle", "Red car", "Žuta bicikla"]).await;
    assert_eq!(client.search("red").await, (vec![ids[2], ids[1], ids[0]], 3));
    assert_eq!(client.search("Bike  RED!").await, (vec![ids[1], ids[0]], 2));
    assert_eq!(client.search("žuta").await, (vec![ids[3]], 1));
    assert_eq!(client.search("bik").await, (vec![], 0));
    assert_eq!(client.search("").await.1, 4);
    assert_eq!(client.search("'; DROP TABLE listings --").await.1, 0);
}

/// Answers are cached, so each filter must be part of the cache key.
#[tokio::test]
async fn every_filter_applies_also_to_cached_answers() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let mut ids = Vec::new();
    for (price, category_id) in [(10.0, 20), (20.0, 20), (30.0, 21)] {
        ids.push(client.create(CreateListingRequest { price, category_id, ..a_product() }).await.id);
    }
    let request = |category_id, min_price, max_price| SearchListingsRequest {
        query: "bike".to_owned(),
        category_id,
        min_price,
        max_price,
        ..SearchListingsRequest::default()
    };
    for _ in 0..3 {
        for (request, expect) in [
            (request(None, None, None), vec![ids[2], ids[1], ids[0]]),
            (request(Some(20), None, None), vec![ids[1], ids[0]]),
            (request(None, Some(15.0), None), vec![ids[2], ids[1]]),
            (request(None, Some(10.01), Some(20.0)), vec![ids[1]]),
            (request(Some(21), None, Some(29.99)), vec![]),
        ] {
            let found = client.rpc.search_listings(request).await.unwrap().into_inner();
            let found_ids: Vec<i64> = found.listings.iter().map(|listing| listing.id).collect();
            assert_eq!((found_ids, found.total), (expect.clone(), expect.len() as i32));
        }
    }
}

#[tokio::test]
async fn totals_are_of_all_pages_also_in_cached_answers() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let titles: Vec<String> = (0..45).map(|n| format!("Bike number {n}")).collect();
    let titles: Vec<&str> = titles.iter().map(String::as_str).collect();
    let mut ids = with_titles(&mut client, &titles).await;
    ids.reverse();
    for _ in 0..2 {
        for (limit, offset, expect) in [(0, 0, 0..20), (100, 0, 0..45), (10, 40, 40..45), (10, 45, 45..45)] {
            let request = SearchListingsRequest {
                query: "bike".to_owned(),
                limit,
                offset,
                ..SearchListingsRequest::default()
            };
            let found = client.rpc.search_listings(request).await.unwrap().into_inner();
            let found_ids: Vec<i64> = found.listings.iter().map(|listing| listing.id).collect();
            assert_eq!((found_ids.as_slice(), found.total), (&ids[expect.clone()], 45));
            let request = ListListingsRequest {
                storefront_id: Some(3),
                limit,
                offset,
                ..ListListingsRequest::default()
            };
            assert_eq!(client.list(request).await, (ids[expect].to_vec(), 45));
        }
    }
}

/// Pages by the last listing of the page before have every listing once, whatever is added meanwhile.
#[tokio::test]
async fn a_page_begins_after_the_last_listing_of_the_page_before() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let mut ids = with_titles(&mut client, &["Bike one", "Bike two", "Bike three", "Bike four"]).await;
    ids.reverse();
    let page = |before_id| ListListingsRequest { limit: 2, before_id, ..ListListingsRequest::default() };
    assert_eq!(client.list(page(None)).await, (ids[..2].to_vec(), 4));
    with_titles(&mut client, &["Bike five"]).await;
    assert_eq!(client.list(page(Some(ids[1]))).await, (ids[2..].to_vec(), 5));
    assert_eq!(client.list(page(Some(ids[3]))).await, (vec![], 5));
    let search = SearchListingsRequest {
        query: "bike".to_owned(),
        before_id: Some(ids[2]),
        ..SearchListingsRequest::default()
    };
    let found = client.rpc.search_listings(search).await.unwrap().into_inner();
    assert_eq!((found.listings[0].id, found.listings.len(), found.total), (ids[3], 1, 5));
}

#[tokio::test]
async fn a_total_is_exact_up_to_a_thousand() {
    let store = Server::start().await.stop().await;
    store.run(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
         INSERT INTO listing_words SELECT 'lamp', i, 20, 100 FROM n",
    );
    let server = Server::start_in(store, &[]).await;
    assert_eq!(server.client().await.search("lamp").await.1, 1_000);
    let store = server.stop().await;
    store.run("INSERT INTO listing_words SELECT word, listing_id + 1000, 20, 100 FROM listing_words");
    let server = Server::start_in(store, &[]).await;
    assert_eq!(server.client().await.search("lamp").await.1, 1_001, "more than a thousand");
}

/// Each write must invalidate the searches that it affects.
#[tokio::test]
async fn a_search_after_a_write_shows_the_write() {
    let server = Server::start().await;
    let mut client = server.client().await;
    assert_eq!(client.search("lamp").await, (vec![], 0));
    let id = with_titles(&mut client, &["Old lamp"]).await[0];
    assert_eq!(client.search("lamp").await, (vec![id], 1));
    let edit = |title: Option<&str>, status: Option<&str>| UpdateListingRequest {
        id,
        user_id: 7,
        title: title.map(str::to_owned),
        status: status.map(str::to_owned),
        ..UpdateListingRequest::default()
    };
    client.rpc.update_listing(edit(Some("Old desk"), None)).await.unwrap();
    assert_eq!(client.search("lamp").await, (vec![], 0));
    assert_eq!(client.search("desk").await, (vec![id], 1));
    client.rpc.update_listing(edit(None, Some("sold"))).await.unwrap();
    assert_eq!(client.search("desk").await, (vec![], 0));
    let of = |status: &str| ListListingsRequest {
        status: Some(status.to_owned()),
        ..ListListingsRequest::default()
    };
    assert_eq!(client.list(of("sold")).await, (vec![id], 1));
    assert_eq!(client.list(of("active")).await, (vec![], 0));
    client.rpc.update_listing(edit(None, Some("active"))).await.unwrap();
    assert_eq!(client.search("desk").await, (vec![id], 1));
    client.move_stock(id, "in", 5).await.unwrap();
    let request = SearchListingsRequest { query: "desk".to_owned(), ..SearchListingsRequest::default() };
    let found = client.rpc.search_listings(request).await.unwrap().into_inner();
    assert_eq!(found.listings[0].quantity, 15, "a found listing is as current as the listing itself");
}

#[tokio::test]
async fn images_come_with_every_listing_in_their_order() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let ids = with_titles(&mut client, &["Bike one", "Bike two"]).await;
    let store = server.stop().await;
    for (position, id) in [(1, ids[0]), (0, ids[0]), (0, ids[1])] {
        let primary = i32::from(position == 0);
        let primary = if store.kind == testkit::data::StoreKind::Sqlite {
            primary.to_string()
        } else {
            (primary == 1).to_string()
        };
        store.run(&format!(
            "INSERT INTO listing_images (listing_id, display_order, id, url, is_primary)
             VALUES ({id}, {position}, {}, 'https://img/{id}/{position}', {primary})",
            id * 10 + position
        ));
    }
    let server = Server::start_in(store, &[]).await;
    let mut client = server.client().await;
    let found = client.rpc.list_listings(ListListingsRequest::default()).await.unwrap().into_inner();
    let urls = |at: usize| -> Vec<&str> {
        found.listings[at].images.iter().map(|image| image.url.as_str()).collect()
    };
    assert_eq!(urls(0), [format!("https://img/{}/0", ids[1])]);
    assert_eq!(urls(1), [format!("https://img/{}/0", ids[0]), format!("https://img/{}/1", ids[0])]);
    assert!(found.listings[1].images[0].is_primary && !found.listings[1].images[1].is_primary);
}
