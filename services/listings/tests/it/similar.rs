//! Similar listings.

use listings::proto::{
    CreateListingRequest, DeleteListingRequest, GetSimilarListingsRequest, UpdateListingRequest,
};
use testkit::grpc::code;
use tonic::Code;

use crate::support::{Client, Server, a_product};

async fn priced(client: &mut Client, prices: &[f64]) -> Vec<i64> {
    let mut ids = Vec::new();
    for price in prices {
        ids.push(client.create(CreateListingRequest { price: *price, ..a_product() }).await.id);
    }
    ids
}

async fn similar(client: &mut Client, listing_id: i64, limit: i32) -> Vec<i64> {
    let request = GetSimilarListingsRequest { listing_id, limit: Some(limit) };
    let found = client.rpc.get_similar_listings(request).await.unwrap().into_inner();
    assert_eq!(found.total as usize, found.listings.len());
    found.listings.iter().map(|listing| listing.id).collect()
}

#[tokio::test]
async fn nearest_in_price_of_the_same_category_come_first() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let ids = priced(&mut client, &[10.0, 12.0, 9.0, 50.0, 1.0, 10.0, 8.0]).await;
    client.create(CreateListingRequest { category_id: 21, price: 10.0, ..a_product() }).await;
    for _ in 0..2 {
        assert_eq!(
            similar(&mut client, ids[0], 0).await,
            [ids[5], ids[2], ids[6], ids[1], ids[4], ids[3]],
            "of two at the same distance the newer comes first"
        );
        assert_eq!(similar(&mut client, ids[0], 2).await, [ids[5], ids[2]]);
        assert_eq!(similar(&mut client, ids[3], 3).await, [ids[1], ids[5], ids[0]]);
    }
}

/// Answers are cached, so each write must invalidate those that it affects.
#[tokio::test]
async fn every_write_shows_in_similar_listings() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let ids = priced(&mut client, &[10.0, 11.0, 13.0]).await;
    assert_eq!(similar(&mut client, ids[0], 0).await, [ids[1], ids[2]]);
    let edit = |id, price, status: Option<&str>| UpdateListingRequest {
        id,
        user_id: 7,
        price,
        status: status.map(str::to_owned),
        ..UpdateListingRequest::default()
    };
    client.rpc.update_listing(edit(ids[1], Some(20.0), None)).await.unwrap();
    assert_eq!(similar(&mut client, ids[0], 0).await, [ids[2], ids[1]]);
    client.rpc.update_listing(edit(ids[0], Some(19.0), None)).await.unwrap();
    assert_eq!(similar(&mut client, ids[0], 0).await, [ids[1], ids[2]], "its own price counts");
    client.rpc.update_listing(edit(ids[1], None, Some("sold"))).await.unwrap();
    assert_eq!(similar(&mut client, ids[0], 0).await, [ids[2]]);
    client.rpc.update_listing(edit(ids[1], None, Some("active"))).await.unwrap();
    assert_eq!(similar(&mut client, ids[0], 0).await, [ids[1], ids[2]]);
    let delete = DeleteListingRequest { id: ids[2], user_id: 7, is_admin: false };
    client.rpc.delete_listing(delete).await.unwrap();
    assert_eq!(similar(&mut client, ids[0], 0).await, [ids[1]]);
    let newer = priced(&mut client, &[18.5]).await[0];
    assert_eq!(similar(&mut client, ids[0], 0).await, [newer, ids[1]]);
}

#[tokio::test]
async fn to_an_unknown_listing_none_is_similar_and_at_most_twenty_are_shown() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let ids = priced(&mut client, &(1..=23).map(f64::from).collect::<Vec<_>>()).await;
    for (limit, expect) in [(None, 10), (Some(0), 10), (Some(3), 3), (Some(20), 20), (Some(i32::MAX), 20)] {
        let request = GetSimilarListingsRequest { listing_id: ids[0], limit };
        let found = client.rpc.get_similar_listings(request).await.unwrap().into_inner();
        assert_eq!((found.listings.len(), found.total), (expect, expect as i32), "{limit:?}");
    }
    assert!(similar(&mut client, 999, 0).await.is_empty());
    for (listing_id, limit) in [(0, 0), (1, -1)] {
        let request = GetSimilarListingsRequest { listing_id, limit: Some(limit) };
        assert_eq!(code(client.rpc.get_similar_listings(request).await), Code::InvalidArgument);
    }
}
