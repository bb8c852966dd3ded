//! Favourites.

use listings::proto::{
    AddToFavoritesRequest, GetListingRequest, GetUserFavoritesRequest, IsFavoriteRequest, ListingIdRequest,
    RemoveFromFavoritesRequest,
};
use testkit::grpc::code;
use tokio::task::JoinSet;
use tonic::Code;

use crate::support::{Client, Server, a_product};

async fn add_favorite(client: &mut Client, user_id: i64, listing_id: i64) -> Result<(), tonic::Status> {
    client.rpc.add_to_favorites(AddToFavoritesRequest { user_id, listing_id }).await.map(drop)
}

async fn count(client: &mut Client, id: i64) -> i32 {
    let request = GetListingRequest { id, lang: None };
    client.rpc.get_listing(request).await.unwrap().into_inner().listing.unwrap().favorites_count
}

#[tokio::test]
async fn a_favourite_is_counted_once_and_removed_once() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let (first, second) = (client.create(a_product()).await.id, client.create(a_product()).await.id);
    for _ in 0..2 {
        add_favorite(&mut client, 5, first).await.unwrap();
    }
    add_favorite(&mut client, 5, second).await.unwrap();
    add_favorite(&mut client, 6, first).await.unwrap();
    assert_eq!((count(&mut client, first).await, count(&mut client, second).await), (2, 1));
    let users = client.rpc.get_favorited_users(ListingIdRequest { listing_id: first }).await.unwrap();
    assert_eq!(users.into_inner().user_ids, [5, 6]);
    let page = GetUserFavoritesRequest { user_id: 5, limit: 1, offset: 0 };
    let page = client.rpc.get_user_favorites(page).await.unwrap().into_inner();
    assert_eq!((page.listing_ids, page.total), (vec![second], 2));
    for _ in 0..2 {
        let request = RemoveFromFavoritesRequest { user_id: 5, listing_id: first };
        client.rpc.remove_from_favorites(request).await.unwrap();
        assert_eq!(count(&mut client, first).await, 1);
    }
    for (user_id, listing_id, expect) in [(5, first, false), (6, first, true), (5, 999, false)] {
        let request = IsFavoriteRequest { user_id, listing_id };
        assert_eq!(client.rpc.is_favorite(request).await.unwrap().into_inner().is_favorite, expect);
    }
    assert_eq!(code(add_favorite(&mut client, 5, 999).await), Code::NotFound);
    assert_eq!(
        code(client.rpc.get_favorited_users(ListingIdRequest { listing_id: 999 }).await),
        Code::NotFound
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_favourites_of_many_users_are_counted_exactly() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let id = client.create(a_product()).await.id;
    let mut calls = JoinSet::new();
    for number in 0..300 {
        let mut client = client.clone();
        calls.spawn(async move { add_favorite(&mut client, 1 + number % 100, id).await.unwrap() });
    }
    calls.join_all().await;
    assert_eq!(count(&mut client, id).await, 100);
    assert_eq!(server.count("SELECT count(*) FROM listing_favorites"), 100);
}
