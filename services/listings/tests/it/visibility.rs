//! Visibility and tags: written at creation and later, and honoured by every read, also by cached answers.

use listings::proto::{
    CheckStockAvailabilityRequest, CreateListingRequest, GetListingRequest, GetProductRequest,
    GetProductsByIDsRequest, GetProductsBySkUsRequest, GetSimilarListingsRequest, ListListingsRequest,
    ListProductsRequest, PopularCategoriesRequest, SearchListingsRequest, StockItem, Tags,
    UpdateListingRequest,
};
use testkit::grpc::code;
use tonic::{Code, Request};

use crate::support::{Server, a_product};
use crate::tokens::AuthenticatedServer;

/// A read of the listing `id`, which alone has the SKU `V`, the category 21 and the word `veiled`.
const READS: [&str; 13] = [
    "get",
    "product",
    "by ids",
    "stock",
    "similar to it",
    "by skus",
    "search",
    "search without words",
    "list",
    "list of category",
    "similar",
    "list of user",
    "list of storefront",
];

/// Whether each read shows the listing to a caller.
async fn shown(server: &AuthenticatedServer, caller: Option<&str>, [id, other]: [i64; 2]) -> Vec<bool> {
    let mut rpc = server.client.rpc.clone();
    macro_rules! ask {
        ($method:ident, $message:expr) => {{
            let mut request = Request::new($message);
            if let Some(caller) = caller {
                request.metadata_mut().insert("authorization", server.bearer(caller).parse().unwrap());
            }
            rpc.$method(request).await.map(tonic::Response::into_inner)
        }};
    }
    let has = |listings: &[listings::proto::Listing]| listings.iter().any(|listing| listing.id == id);
    let lists = async |rpc: &mut crate::support::Client, message: ListListingsRequest| {
        let mut request = Request::new(message);
        if let Some(caller) = caller {
            request.metadata_mut().insert("authorization", server.bearer(caller).parse().unwrap());
        }
        let found = rpc.rpc.list_listings(request).await.unwrap().into_inner();
        assert_eq!(found.total as usize, found.listings.len());
        has(&found.listings)
    };
    let item = StockItem { product_id: id, variant_id: None, quantity: 1 };
    let search = |query: &str| SearchListingsRequest { query: query.to_owned(), ..Default::default() };
    let found = ask!(search_listings, search("veiled")).unwrap();
    assert_eq!(found.total as usize, found.listings.len());
    let all = ask!(search_listings, search("")).unwrap();
    assert_eq!(all.total as usize, all.listings.len());
    let similar = |listing_id| GetSimilarListingsRequest { listing_id, limit: Some(20) };
    let by_sku = GetProductsBySkUsRequest { skus: vec!["V".to_owned()], ..Default::default() };
    let of_storefront = ListProductsRequest { storefront_id: 3, page_size: 100, ..Default::default() };
    let products = ask!(list_products, of_storefront).unwrap();
    assert_eq!(products.total_count as usize, products.products.len());
    let mut client = server.client.clone();
    let of = |user_id, category_id| ListListingsRequest { user_id, category_id, ..Default::default() };
    vec![
        ask!(get_listing, GetListingRequest { id, lang: None }).is_ok(),
        ask!(get_product, GetProductRequest { product_id: id, ..Default::default() }).is_ok(),
        ask!(get_products_by_i_ds, GetProductsByIDsRequest { product_ids: vec![id], ..Default::default() })
            .unwrap()
            .total_count
            == 1,
        caller.is_none()
            || ask!(check_stock_availability, CheckStockAvailabilityRequest { items: vec![item] })
                .unwrap()
                .all_available,
        !ask!(get_similar_listings, similar(id)).unwrap().listings.is_empty(),
        ask!(get_products_by_sk_us, by_sku).unwrap().total_count == 1,
        has(&found.listings),
        has(&all.listings),
        lists(&mut client, ListListingsRequest::default()).await,
        lists(&mut client, of(None, Some(21))).await,
        has(&ask!(get_similar_listings, similar(other)).unwrap().listings),
        lists(&mut client, of(Some(7), None)).await,
        products.products.iter().any(|product| product.id == id),
    ]
}

async fn set_visibility(server: &AuthenticatedServer, id: i64, visibility: &str) {
    let visibility = Some(visibility.to_owned());
    let edit = UpdateListingRequest { id, user_id: 7, visibility, ..UpdateListingRequest::default() };
    let mut request = Request::new(edit);
    request.metadata_mut().insert("authorization", server.bearer("7").parse().unwrap());
    server.client.rpc.clone().update_listing(request).await.unwrap();
}

/// The listing, and another one that it is similar to.
async fn two_listings(server: &AuthenticatedServer) -> [i64; 2] {
    let listing = |sku: &str, title: &str| CreateListingRequest {
        sku: Some(sku.to_owned()),
        title: title.to_owned(),
        category_id: 21,
        ..a_product()
    };
    let id = server.create(listing("V", "Veiled bike")).await;
    [id, server.create(listing("W", "Other bike")).await]
}

/// By id alone; in the lists of the owner; nowhere else.
fn expected(visibility: &str, caller: Option<&str>) -> Vec<bool> {
    let (is_owner, is_service) = (caller == Some("7"), matches!(caller, Some("orders" | "support")));
    let (is_public, sees_all) = (visibility == "public", is_owner || is_service);
    READS
        .iter()
        .map(|read| match *read {
            "stock" if caller.is_none() => true,
            "get" | "product" | "by ids" | "stock" | "similar to it" => sees_all || visibility != "private",
            "by skus" | "list of user" | "list of storefront" => is_public || sees_all,
            _ => is_public,
        })
        .collect()
}

#[tokio::test]
async fn a_listing_is_shown_to_whom_its_visibility_allows() {
    let server = AuthenticatedServer::start().await;
    let ids = two_listings(&server).await;
    for visibility in ["public", "private", "unlisted", "public"] {
        set_visibility(&server, ids[0], visibility).await;
        // Strangers ask first and last: no cached answer of another caller is theirs.
        for caller in [None, Some("8"), Some("7"), Some("orders"), Some("support"), Some("8"), None] {
            let shown = shown(&server, caller, ids).await;
            let expected = expected(visibility, caller);
            for ((read, shown), expected) in READS.iter().zip(shown).zip(expected) {
                assert_eq!(shown, expected, "{visibility} to {caller:?}: {read}");
            }
        }
    }
}

/// Without verification every caller may act as every user; lists without an owner show what is public.
#[tokio::test]
async fn a_change_of_visibility_shows_at_once_in_every_read() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let id = client.create(CreateListingRequest { category_id: 21, ..a_product() }).await.id;
    let other = client.create(CreateListingRequest { category_id: 21, ..a_product() }).await.id;
    for (visibility, is_public) in
        [("public", true), ("private", false), ("public", true), ("unlisted", false)]
    {
        let edit = UpdateListingRequest {
            id,
            user_id: 7,
            visibility: Some(visibility.to_owned()),
            ..UpdateListingRequest::default()
        };
        let edited = client.rpc.update_listing(edit).await.unwrap().into_inner().listing.unwrap();
        assert_eq!(edited.visibility, visibility);
        let expect = if is_public { vec![other, id] } else { vec![other] };
        let count = expect.len() as i32;
        assert_eq!(client.search("bike").await, (expect.clone(), count), "{visibility}");
        let of = |category_id, user_id, min_price| ListListingsRequest {
            category_id,
            user_id,
            min_price,
            ..ListListingsRequest::default()
        };
        for request in [of(None, None, None), of(Some(21), None, None), of(Some(21), None, Some(1.0))] {
            assert_eq!(client.list(request).await, (expect.clone(), count), "{visibility}");
        }
        assert_eq!(client.list(of(None, Some(7), None)).await, (vec![other, id], 2), "the owner's");
        let request = GetSimilarListingsRequest { listing_id: other, limit: None };
        let similar = client.rpc.get_similar_listings(request).await.unwrap().into_inner();
        assert_eq!(similar.total, i32::from(is_public), "{visibility}");
        let popular = PopularCategoriesRequest { limit: 1 };
        let popular = client.rpc.get_popular_categories(popular).await.unwrap().into_inner();
        assert_eq!((popular.categories[0].id, popular.categories[0].listing_count), (21, count));
        assert_eq!(
            client.stats(3).await.active_products,
            2,
            "the storefront's sums have all of its products"
        );
    }
}

#[tokio::test]
async fn tags_are_read_as_written_and_searches_find_their_words() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let tags = |tags: &[&str]| tags.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>();
    let request = CreateListingRequest {
        tags: tags(&[" Steel frame", "retro", "retro"]),
        visibility: Some("unlisted".to_owned()),
        ..a_product()
    };
    let made = client.create(request).await;
    assert_eq!((made.tags.clone(), made.visibility.as_str()), (tags(&["Steel frame", "retro"]), "unlisted"));
    assert_eq!(client.search("retro").await, (vec![], 0));
    let edit = |visibility: Option<&str>, tags: Option<Vec<String>>| UpdateListingRequest {
        id: made.id,
        user_id: 7,
        visibility: visibility.map(str::to_owned),
        tags: tags.map(|tags| Tags { tags }),
        ..UpdateListingRequest::default()
    };
    client.rpc.update_listing(edit(Some("public"), None)).await.unwrap();
    assert_eq!(client.search("retro steel bike").await, (vec![made.id], 1));
    let edited = client.rpc.update_listing(edit(None, Some(tags(&["new"])))).await.unwrap().into_inner();
    assert_eq!(edited.listing.unwrap().tags, ["new"]);
    assert_eq!(client.search("retro").await, (vec![], 0));
    assert_eq!(client.search("new").await, (vec![made.id], 1));
    drop(client);
    let server = Server::start_in(server.stop().await, &[]).await;
    let mut client = server.client().await;
    let found = client.rpc.list_listings(ListListingsRequest::default()).await.unwrap().into_inner();
    assert_eq!(
        (&found.listings[0].tags[..], found.listings[0].visibility.as_str()),
        (&tags(&["new"])[..], "public")
    );
    client.rpc.update_listing(edit(None, Some(Vec::new()))).await.unwrap();
    let read = client.rpc.get_listing(GetListingRequest { id: made.id, lang: None }).await.unwrap();
    assert!(read.into_inner().listing.unwrap().tags.is_empty());
    for request in [
        edit(Some("hidden"), None),
        edit(None, Some(tags(&[" "]))),
        edit(None, Some(tags(&["x".repeat(51).as_str()]))),
        edit(None, Some(vec!["a".to_owned(); 21])),
    ] {
        assert_eq!(code(client.rpc.update_listing(request).await), Code::InvalidArgument);
    }
}
