//! Listings: created, read, changed, deleted.

use listings::proto::{
    CreateListingRequest, DeleteListingRequest, GetListingRequest, ListListingsRequest, ListingTranslation,
    UpdateListingRequest,
};
use testkit::grpc::code;
use tonic::Code;

use crate::support::{Server, a_product};

fn get(id: i64) -> GetListingRequest {
    GetListingRequest { id, lang: None }
}

#[tokio::test]
async fn a_listing_is_read_as_written_before_and_after_a_restart() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let translation = ListingTranslation { title: "Crveni bicikl".to_owned(), description: String::new() };
    let made = client
        .create(CreateListingRequest {
            sku: Some("B-1".to_owned()),
            currency: "EUR".to_owned(),
            translations: [("sr".to_owned(), translation)].into(),
            original_language: Some("en".to_owned()),
            ..a_product()
        })
        .await;
    assert_eq!((made.price, made.currency.as_str(), made.quantity), (19.99, "EUR", 10));
    assert_eq!((made.status.as_str(), made.visibility.as_str()), ("active", "public"));
    assert_eq!(made.published_at.as_ref(), Some(&made.created_at));
    let read = client.rpc.get_listing(get(made.id)).await.unwrap().into_inner().listing.unwrap();
    assert_eq!(read, made);
    let request = GetListingRequest { id: made.id, lang: Some("sr".to_owned()) };
    let read = client.rpc.get_listing(request).await.unwrap().into_inner().listing.unwrap();
    assert_eq!((read.title.as_str(), read.description.as_deref()), ("Crveni bicikl", Some("Nearly new")));
    drop(client);

    let server = Server::start_in(server.stop().await, &[]).await;
    let mut client = server.client().await;
    let read = client.rpc.get_listing(get(made.id)).await.unwrap().into_inner().listing.unwrap();
    assert_eq!(read, made);
    assert_eq!(client.create(a_product()).await.id, made.id + 1);
}

#[tokio::test]
async fn an_update_shows_in_the_next_read_and_only_the_owner_may_update() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let id = client.create(a_product()).await.id;
    for round in 1..=20 {
        let title = format!("Bike number {round}");
        let edit = UpdateListingRequest {
            id,
            user_id: 7,
            title: Some(title.clone()),
            price: Some(f64::from(round) + 0.5),
            ..UpdateListingRequest::default()
        };
        client.rpc.update_listing(edit).await.unwrap();
        let read = client.rpc.get_listing(get(id)).await.unwrap().into_inner().listing.unwrap();
        assert_eq!((read.title, read.price), (title, f64::from(round) + 0.5));
        assert_eq!(read.description.as_deref(), Some("Nearly new"), "fields that are not given stay");
    }
    let edit = UpdateListingRequest { id, user_id: 8, quantity: Some(0), ..UpdateListingRequest::default() };
    assert_eq!(code(client.rpc.update_listing(edit).await), Code::PermissionDenied);
    assert_eq!(client.product(id).await.unwrap().stock_quantity, 10);
}

/// No read, search, list, total or statistic contains it.
#[tokio::test]
async fn a_deleted_listing_is_neither_found_nor_counted() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let kept = client.create(a_product()).await.id;
    let gone = client.create(CreateListingRequest { sku: Some("gone".to_owned()), ..a_product() }).await.id;
    let all = ListListingsRequest::default;
    for (query, total) in [("bike", 2), ("bike", 2)] {
        assert_eq!(client.search(query).await.1, total);
    }
    assert_eq!(client.list(all()).await, (vec![gone, kept], 2));
    let favorite = listings::proto::AddToFavoritesRequest { user_id: 5, listing_id: gone };
    client.rpc.add_to_favorites(favorite).await.unwrap();

    let delete = DeleteListingRequest { id: gone, user_id: 8, is_admin: false };
    assert_eq!(code(client.rpc.delete_listing(delete).await), Code::PermissionDenied);
    let delete = DeleteListingRequest { id: gone, user_id: 7, is_admin: false };
    assert!(client.rpc.delete_listing(delete).await.unwrap().into_inner().success);
    assert_eq!(code(client.rpc.delete_listing(delete).await), Code::NotFound);
    assert_eq!(code(client.rpc.get_listing(get(gone)).await), Code::NotFound);
    assert_eq!(code(client.product(gone).await), Code::NotFound);
    assert_eq!(client.search("bike").await, (vec![kept], 1));
    assert_eq!(client.list(all()).await, (vec![kept], 1));
    let of = |user_id, storefront_id, category_id| ListListingsRequest {
        user_id,
        storefront_id,
        category_id,
        ..ListListingsRequest::default()
    };
    for request in [of(Some(7), None, None), of(None, Some(3), None), of(None, None, Some(20))] {
        assert_eq!(client.list(request).await, (vec![kept], 1));
    }
    let stats = client.stats(3).await;
    assert_eq!((stats.total_products, stats.active_products), (1, 1));
    assert!((stats.total_value - 199.9).abs() < 1e-9);
    let favorites = listings::proto::GetUserFavoritesRequest { user_id: 5, limit: 0, offset: 0 };
    let favorites = client.rpc.get_user_favorites(favorites).await.unwrap().into_inner();
    assert_eq!((favorites.listing_ids, favorites.total), (vec![], 0));
    let category = listings::proto::CategoryIdRequest { category_id: 20 };
    let category = client.rpc.get_category(category).await.unwrap().into_inner().category.unwrap();
    assert_eq!(category.listing_count, 1);
    let request =
        listings::proto::GetProductsBySkUsRequest { skus: vec!["gone".to_owned()], ..Default::default() };
    assert_eq!(client.rpc.get_products_by_sk_us(request).await.unwrap().into_inner().total_count, 0);
    assert_eq!(code(client.move_stock(gone, "in", 1).await), Code::NotFound);
    assert_eq!(server.count("SELECT count(*) FROM listings"), 2, "the row is kept");
}

#[tokio::test]
async fn an_administrator_deletes_listings_of_other_users() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let id = client.create(a_product()).await.id;
    let delete = DeleteListingRequest { id, user_id: 0, is_admin: true };
    assert!(client.rpc.delete_listing(delete).await.unwrap().into_inner().success);
    assert_eq!(client.stats(3).await.total_products, 0);
}

/// Prices whose sum in doubles is not exact.
#[tokio::test]
async fn total_values_are_exact() {
    let server = Server::start().await;
    let mut client = server.client().await;
    for _ in 0..100 {
        client.create(CreateListingRequest { price: 0.1, quantity: 3, ..a_product() }).await;
    }
    client.create(CreateListingRequest { price: 9_999_999_999_999.99, quantity: 1, ..a_product() }).await;
    assert_eq!(client.stats(3).await.total_value, 9_999_999_999_999.99 + 30.0);
}

/// The highest price times the highest quantity.
#[tokio::test]
async fn the_largest_total_values_do_not_overflow() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let dearest = CreateListingRequest { price: 9_999_999_999_999.99, quantity: i32::MAX, ..a_product() };
    for _ in 0..3 {
        client.create(dearest.clone()).await;
    }
    let one = 999_999_999_999_999_i128 * i128::from(i32::MAX);
    assert_eq!(client.stats(3).await.total_value, (3 * one) as f64 / 100.0);
    assert_eq!(code(client.move_stock(1, "in", i32::MAX).await), Code::FailedPrecondition);
    assert_eq!(client.stats(3).await.total_products, 3);
}
