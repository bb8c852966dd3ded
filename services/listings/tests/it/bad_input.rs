//! Invalid input is refused with the name of the field and changes nothing.

use listings::proto::{
    BatchUpdateStockRequest, CreateListingRequest, DecrementStockRequest, GetListingRequest,
    GetProductsByIDsRequest, ListListingsRequest, RollbackStockRequest, SearchListingsRequest, StockItem,
    StockUpdateItem, UpdateListingRequest,
};
use testkit::grpc::{self, code};
use testkit::process::random_bytes;
use tonic::Code;

use crate::support::{Server, a_product};

#[tokio::test]
async fn invalid_listings_are_refused_with_the_name_of_the_field() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let base = a_product;
    let long = "x".repeat(6_000);
    for (request, field) in [
        (CreateListingRequest { user_id: 0, ..base() }, "user_id"),
        (CreateListingRequest { user_id: -5, ..base() }, "user_id"),
        (CreateListingRequest { storefront_id: Some(0), ..base() }, "storefront_id"),
        (CreateListingRequest { title: "ab".to_owned(), ..base() }, "title"),
        (CreateListingRequest { title: "  a  ".to_owned(), ..base() }, "title"),
        (CreateListingRequest { title: "a\0bcd".to_owned(), ..base() }, "title"),
        (CreateListingRequest { title: long.clone(), ..base() }, "title"),
        (CreateListingRequest { description: Some(long.clone()), ..base() }, "description"),
        (CreateListingRequest { price: f64::NAN, ..base() }, "price"),
        (CreateListingRequest { price: f64::NEG_INFINITY, ..base() }, "price"),
        (CreateListingRequest { price: 0.0, ..base() }, "price"),
        (CreateListingRequest { price: -1.0, ..base() }, "price"),
        (CreateListingRequest { price: 1e300, ..base() }, "price"),
        (CreateListingRequest { price: 1.005, ..base() }, "price"),
        (CreateListingRequest { currency: "dinar".to_owned(), ..base() }, "currency"),
        (CreateListingRequest { category_id: i64::MIN, ..base() }, "category_id"),
        (CreateListingRequest { quantity: -1, ..base() }, "quantity"),
        (CreateListingRequest { sku: Some(long.clone()), ..base() }, "sku"),
        (CreateListingRequest { original_language: Some("'; --".to_owned()), ..base() }, "original_language"),
    ] {
        let refused = client.rpc.create_listing(request).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{field}");
        assert!(refused.message().starts_with(field), "{}", refused.message());
    }
    assert_eq!(server.count("SELECT count(*) FROM listings"), 0);
    let huge = CreateListingRequest { title: "x".repeat(300_000), ..base() };
    assert_eq!(code(client.rpc.create_listing(huge).await), Code::InvalidArgument);
}

#[tokio::test]
async fn invalid_filters_and_edits_are_refused() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let id = client.create(a_product()).await.id;
    let search = SearchListingsRequest::default;
    for request in [
        SearchListingsRequest { limit: -1, ..search() },
        SearchListingsRequest { offset: -1, ..search() },
        SearchListingsRequest { offset: i32::MAX, ..search() },
        SearchListingsRequest { min_price: Some(f64::NAN), ..search() },
        SearchListingsRequest { max_price: Some(-0.01), ..search() },
        SearchListingsRequest { query: "x".repeat(501), ..search() },
        SearchListingsRequest { query: ('a'..='q').map(|c| format!("{c} ")).collect(), ..search() },
        SearchListingsRequest { category_id: Some(-1), ..search() },
        SearchListingsRequest { min_price: Some(1.0), ..search() },
    ] {
        let text = format!("{request:?}");
        assert_eq!(code(client.rpc.search_listings(request).await), Code::InvalidArgument, "{text}");
    }
    let list = || ListListingsRequest::default();
    for (request, error) in [
        (ListListingsRequest { status: Some("gone".to_owned()), ..list() }, "status: must be"),
        (ListListingsRequest { offset: 10_001, ..list() }, "offset: must be at most 10000; use before_id"),
        (ListListingsRequest { offset: 1, before_id: Some(9), ..list() }, "offset: must be 0 with before_id"),
        (ListListingsRequest { before_id: Some(0), ..list() }, "before_id: must be above 0"),
        (
            ListListingsRequest { max_price: Some(0.01), ..list() },
            "max_price: needs a user_id, storefront_id or",
        ),
    ] {
        let refused = client.rpc.list_listings(request).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{error}");
        assert!(refused.message().starts_with(error), "{}", refused.message());
    }
    for bad in [0, -1, i64::MIN] {
        let request = GetListingRequest { id: bad, lang: None };
        assert_eq!(code(client.rpc.get_listing(request).await), Code::InvalidArgument);
    }
    let request = GetListingRequest { id: i64::MAX, lang: None };
    assert_eq!(code(client.rpc.get_listing(request).await), Code::NotFound);
    let many = GetProductsByIDsRequest { product_ids: vec![1; 1_001], ..Default::default() };
    assert_eq!(code(client.rpc.get_products_by_i_ds(many).await), Code::InvalidArgument);
    let edit = || UpdateListingRequest { id, user_id: 7, ..UpdateListingRequest::default() };
    for request in [
        UpdateListingRequest { status: Some("ACTIVE".to_owned()), ..edit() },
        UpdateListingRequest { price: Some(f64::NAN), ..edit() },
        UpdateListingRequest { price: Some(f64::INFINITY), ..edit() },
        UpdateListingRequest { price: Some(-19.99), ..edit() },
        UpdateListingRequest { price: Some(1e300), ..edit() },
        UpdateListingRequest { quantity: Some(i32::MIN), ..edit() },
        UpdateListingRequest { title: Some(String::new()), ..edit() },
    ] {
        let text = format!("{request:?}");
        assert_eq!(code(client.rpc.update_listing(request).await), Code::InvalidArgument, "{text}");
    }
    let product = client.product(id).await.unwrap();
    assert_eq!((product.price, product.stock_quantity), (19.99, 10));
}

#[tokio::test]
async fn invalid_stock_requests_change_nothing() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let id = client.create(a_product()).await.id;
    let item = |product_id, quantity| StockItem { product_id, variant_id: None, quantity };
    for (items, failed) in [
        (vec![], None),
        (vec![item(id, 0)], Some(0)),
        (vec![item(id, -3)], Some(0)),
        (vec![item(id, 1), item(-id, 1)], Some(1)),
        (vec![item(id, 1), item(id, 1)], Some(1)),
        (vec![item(id, 1), item(999, 1)], Some(1)),
        (vec![StockItem { variant_id: Some(4), ..item(id, 1) }], Some(0)),
    ] {
        let request = DecrementStockRequest { items: items.clone(), order_id: None };
        let taken = client.rpc.decrement_stock(request).await.unwrap().into_inner();
        let request = RollbackStockRequest { items: items.clone(), order_id: None };
        let returned = client.rpc.rollback_stock(request).await.unwrap().into_inner();
        for (success, error, results) in [
            (taken.success, taken.error, taken.results),
            (returned.success, returned.error, returned.results),
        ] {
            assert!(!success && error.is_some_and(|error| !error.is_empty()), "{items:?}");
            let position = results.iter().position(|result| !result.success && result.error.is_some());
            assert_eq!((results.len(), position), (items.len(), failed), "{items:?}");
        }
    }
    let request = DecrementStockRequest { items: vec![item(id, 1); 1_001], order_id: None };
    assert_eq!(code(client.rpc.decrement_stock(request).await), Code::InvalidArgument);
    for (movement_type, quantity) in [("in", 0), ("out", -1), ("adjustment", -1), ("sideways", 1), ("", 1)] {
        let refused = client.move_stock(id, movement_type, quantity).await;
        assert_eq!(code(refused), Code::InvalidArgument, "{movement_type} {quantity}");
    }
    let set = |product_id, quantity| StockUpdateItem { product_id, variant_id: None, quantity, reason: None };
    let request = BatchUpdateStockRequest {
        storefront_id: 3,
        items: vec![set(id, 1), set(id, i32::MIN)],
        reason: None,
        user_id: 7,
    };
    assert_eq!(code(client.rpc.batch_update_stock(request).await), Code::InvalidArgument);
    assert_eq!(client.product(id).await.unwrap().stock_quantity, 10);
    assert_eq!(server.count("SELECT count(*) FROM inventory_movements"), 0);
}

/// Random bytes, invalid UTF-8, truncated messages, endlessly nested groups.
#[tokio::test]
async fn bytes_that_are_not_a_message_are_an_invalid_argument() {
    let server = Server::start().await;
    let nested: Vec<u8> = std::iter::repeat_n(0x0b, 20_000).collect();
    let mut bodies = vec![vec![0xff; 40], vec![0x1a, 0x02, 0xc3, 0x28], vec![0x1a, 0x7f, b'x'], nested];
    bodies.extend((0..60).map(|length| random_bytes(length as u64, length)));
    for body in bodies {
        for method in ["CreateListing", "UpdateListing", "BatchUpdateStock"] {
            let path = format!("/listingssvc.v1.ListingsService/{method}");
            let refused = grpc::call(server.running.addresses.grpc, &path, &[], grpc::framed(&body)).await;
            assert_eq!(refused.status, "3", "{method} {body:?}: {refused:?}");
        }
    }
    assert_eq!(server.count("SELECT count(*) FROM listings"), 0);
}
