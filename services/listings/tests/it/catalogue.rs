//! Categories and products.

use listings::proto::{
    CategoryIdRequest, CreateListingRequest, GetProductRequest, GetProductsByIDsRequest,
    GetProductsBySkUsRequest, ListProductsRequest, PopularCategoriesRequest,
};
use testkit::grpc::code;
use tokio::task::JoinSet;
use tonic::Code;

use crate::support::{Server, a_product};

#[tokio::test]
async fn categories_are_a_tree_with_the_numbers_of_listings() {
    let server = Server::start().await;
    let mut client = server.client().await;
    for category_id in [20, 20, 21] {
        client.create(CreateListingRequest { category_id, ..a_product() }).await;
    }
    let all = client.rpc.get_all_categories(()).await.unwrap().into_inner().categories;
    let roots = client.rpc.get_root_categories(()).await.unwrap().into_inner().categories;
    assert!(all.len() > roots.len() && roots.iter().all(|root| root.parent_id.is_none() && root.level == 0));
    let popular = client.rpc.get_popular_categories(PopularCategoriesRequest { limit: 2 }).await.unwrap();
    let popular: Vec<_> =
        popular.into_inner().categories.iter().map(|one| (one.id, one.listing_count)).collect();
    assert_eq!(popular, [(20, 2), (21, 1)]);
    let tree = client.rpc.get_category_tree(CategoryIdRequest { category_id: 5 }).await.unwrap().into_inner();
    let tree = tree.tree.unwrap();
    assert_eq!((tree.slug.as_str(), tree.children_count), ("sport", 3));
    let child = tree.children.iter().find(|child| child.id == 20).unwrap();
    assert_eq!((child.path.as_str(), child.level, child.listing_count), ("sport/bicycles", 1, 2));
    let unknown = || CategoryIdRequest { category_id: 999 };
    assert_eq!(code(client.rpc.get_category(unknown()).await), Code::NotFound);
    assert_eq!(code(client.rpc.get_category_tree(unknown()).await), Code::NotFound);
    let request = CreateListingRequest { category_id: 999, ..a_product() };
    assert_eq!(code(client.rpc.create_listing(request).await), Code::NotFound);
}

#[tokio::test]
async fn products_are_the_listings_of_storefronts() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let of = |storefront_id, sku: &str| CreateListingRequest {
        storefront_id,
        sku: Some(sku.to_owned()),
        ..a_product()
    };
    let first = client.create(of(Some(3), "A")).await.id;
    let second = client.create(of(Some(4), "A")).await.id;
    let private = client.create(of(None, "A")).await.id;
    let product = client.product(first).await.unwrap();
    assert_eq!((product.name.as_str(), product.price, product.storefront_id), ("Red bike", 19.99, 3));
    assert_eq!((product.stock_status.as_str(), product.is_active), ("in_stock", true));
    assert_eq!(code(client.product(private).await), Code::NotFound, "a listing without a storefront");
    let other = GetProductRequest { product_id: first, storefront_id: Some(4), lang: None };
    assert_eq!(code(client.rpc.get_product(other).await), Code::NotFound);
    let request =
        GetProductsByIDsRequest { product_ids: vec![second, 999, private, first], ..Default::default() };
    let found = client.rpc.get_products_by_i_ds(request).await.unwrap().into_inner();
    let ids: Vec<i64> = found.products.iter().map(|product| product.id).collect();
    assert_eq!((ids, found.total_count), (vec![second, first], 2));
    for (storefront_id, expect) in [(None, vec![first, second]), (Some(4), vec![second])] {
        let request = GetProductsBySkUsRequest {
            skus: vec!["A".to_owned(), "B".to_owned()],
            storefront_id,
            lang: None,
        };
        let found = client.rpc.get_products_by_sk_us(request).await.unwrap().into_inner();
        assert_eq!(found.products.iter().map(|product| product.id).collect::<Vec<_>>(), expect);
    }
}

#[tokio::test]
async fn one_request_for_stock_keeping_units_has_a_thousand_products_at_most() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let of = |storefront_id, sku: &str| CreateListingRequest {
        storefront_id: Some(storefront_id),
        sku: Some(sku.to_owned()),
        ..a_product()
    };
    let mut creating = JoinSet::new();
    for _ in 0..1_001 {
        let (mut client, request) = (client.clone(), of(3, "MANY"));
        creating.spawn(async move { client.create(request).await });
    }
    creating.join_all().await;
    let few = client.create(of(4, "FEW")).await.id;
    let mut found = async |skus: &[&str], storefront_id| {
        let skus = skus.iter().map(|sku| (*sku).to_owned()).collect();
        let request = GetProductsBySkUsRequest { skus, storefront_id, lang: None };
        client.rpc.get_products_by_sk_us(request).await.map(|found| found.into_inner())
    };
    for _uncached_then_cached in 0..2 {
        assert_eq!(found(&["MANY"], None).await.unwrap().total_count, 1_000);
        let refused = found(&["FEW", "MANY"], None).await.map(|found| found.total_count).unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument);
        let why =
            "skus: more than 1000 products have them; ask for fewer at once, or for those of one storefront";
        assert_eq!(refused.message(), why);
        let in_storefront = found(&["FEW", "MANY"], Some(4)).await.unwrap();
        assert_eq!(in_storefront.products.iter().map(|product| product.id).collect::<Vec<_>>(), [few]);
    }
}

#[tokio::test]
async fn a_stock_keeping_unit_that_a_request_repeats_is_looked_up_once() {
    let server = Server::start().await;
    let id = server
        .client()
        .await
        .create(CreateListingRequest { sku: Some("A".to_owned()), ..a_product() })
        .await
        .id;
    let body = r#"{"skus":["A","A","B","A"]}"#;
    let (_, found) = server.call("POST", "/api/v1/listings/products/by-skus", body).await;
    assert_eq!((&found["total_count"], found["products"][0]["id"].as_i64()), (&1.into(), Some(id)));
    let metrics = server.admin().text("/metrics").await;
    let look_ups: Vec<&str> = metrics.lines().filter(|line| line.contains(r#"{kind="list"}"#)).collect();
    let expected =
        [r#"listings_cache_hits_total{kind="list"} 0"#, r#"listings_cache_misses_total{kind="list"} 2"#];
    assert_eq!(look_ups, expected);
}

#[tokio::test]
async fn products_are_listed_by_storefront_newest_first() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let mut ids = Vec::new();
    for storefront in [3, 3, 4, 3] {
        let request = CreateListingRequest { storefront_id: Some(storefront), ..a_product() };
        ids.push(client.create(request).await.id);
    }
    for _ in 0..2 {
        for (storefront_id, page, page_size, expect) in [
            (3, 0, 0, vec![ids[3], ids[1], ids[0]]),
            (3, 1, 2, vec![ids[3], ids[1]]),
            (3, 2, 2, vec![ids[0]]),
            (3, 3, 2, vec![]),
            (3, 2, 1, vec![ids[1]]),
            (9, 1, 0, vec![]),
        ] {
            let request = ListProductsRequest { storefront_id, page, page_size, is_active_only: None };
            let found = client.rpc.list_products(request).await.unwrap().into_inner();
            let total = if storefront_id == 3 { 3 } else { 0 };
            assert_eq!(found.products.iter().map(|product| product.id).collect::<Vec<_>>(), expect);
            assert_eq!(found.total_count, total);
        }
    }
    for (storefront_id, page, page_size) in [(0, 1, 0), (3, -1, 0), (3, 1, -1), (3, i32::MAX, 100)] {
        let request = ListProductsRequest { storefront_id, page, page_size, is_active_only: None };
        assert_eq!(code(client.rpc.list_products(request).await), Code::InvalidArgument);
    }
}

#[tokio::test]
async fn of_a_storefronts_products_those_that_are_active_are_listed_alone_on_request() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let [sold, active] = [client.create(a_product()).await.id, client.create(a_product()).await.id];
    let edit = listings::proto::UpdateListingRequest {
        id: sold,
        user_id: 7,
        status: Some("sold".to_owned()),
        ..Default::default()
    };
    client.rpc.update_listing(edit).await.unwrap();
    for (is_active_only, expect) in
        [(None, vec![active, sold]), (Some(false), vec![active, sold]), (Some(true), vec![active])]
    {
        let request = ListProductsRequest { storefront_id: 3, is_active_only, ..Default::default() };
        let found = client.rpc.list_products(request).await.unwrap().into_inner();
        let ids: Vec<i64> = found.products.iter().map(|product| product.id).collect();
        assert_eq!((found.total_count as usize, ids), (expect.len(), expect));
    }
}

#[tokio::test]
async fn statistics_follow_every_write() {
    let server = Server::start().await;
    let mut client = server.client().await;
    assert_eq!(client.stats(3).await, Default::default());
    let ids = [client.create(a_product()).await.id, client.create(a_product()).await.id];
    client.move_stock(ids[0], "adjustment", 5).await.unwrap();
    client.move_stock(ids[1], "adjustment", 0).await.unwrap();
    let stats = client.stats(3).await;
    assert_eq!((stats.total_products, stats.out_of_stock, stats.low_stock), (2, 1, 1));
    assert!((stats.total_value - 5.0 * 19.99).abs() < 1e-9);
    let edit = listings::proto::UpdateListingRequest {
        id: ids[0],
        user_id: 7,
        price: Some(1.0),
        status: Some("inactive".to_owned()),
        ..Default::default()
    };
    client.rpc.update_listing(edit).await.unwrap();
    let stats = client.stats(3).await;
    assert_eq!((stats.active_products, stats.total_value), (1, 5.0));
    assert_eq!(client.stats(99).await.total_products, 0);
}
