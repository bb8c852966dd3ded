//! Who may call what: every rpc and every route of the operators' port, tried by each kind of caller. The outcome is the
//! table in `docs/who-may-listings.md`; with `WRITE_DOCS` set, this test writes it.

use std::fmt::Write as _;
use std::path::Path;
use std::pin::Pin;

use axum::body::Body;
use hyper_util::rt::TokioIo;
use listings::methods::METHODS;
use listings::proto::listings_service_client::ListingsServiceClient;
use listings::proto::*;
use tonic::transport::Channel;
use tonic::{Code, Request, Status};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;

use crate::support::{a_product, connect};
use crate::tokens::AuthenticatedServer;

/// A kind of caller, the subject of its token, and the user that it acts for when it acts for itself.
struct Kind {
    name: &'static str,
    subject: Option<&'static str>,
    user: i64,
}

const KINDS: [Kind; 5] = [
    Kind { name: "no token", subject: None, user: 8 },
    Kind { name: "another user", subject: Some("8"), user: 8 },
    Kind { name: "the owner", subject: Some("7"), user: 7 },
    Kind { name: "a service", subject: Some("orders"), user: 8 },
    Kind { name: "an administrator", subject: Some("support"), user: 8 },
];

/// What an attempt is about: a product and a draft of user 7 in storefront 3, made for it alone.
#[derive(Clone, Copy)]
struct Subjects {
    product: i64,
    draft: i64,
    user: i64,
}

/// A caller's channel and token.
struct Caller {
    channel: Channel,
    token: Option<String>,
}

impl Caller {
    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        if let Some(token) = &self.token {
            request.metadata_mut().insert("authorization", token.parse().unwrap());
        }
        request
    }
}

/// Whether the caller got what was asked for.
type Outcome = Result<bool, Status>;
type Attempt = fn(Caller, Subjects) -> Pin<Box<dyn Future<Output = Outcome>>>;

/// An rpc, with which request, and the attempt.
struct Row {
    rpc: &'static str,
    with: &'static str,
    attempt: Attempt,
}

macro_rules! rows {
    ($($rpc:literal, $with:literal, $method:ident($of:ident => $message:expr), $got:expr;)*) => {
        &[$(Row { rpc: $rpc, with: $with, attempt: |caller, $of| Box::pin(async move {
            let request = caller.request($message);
            let answer = ListingsServiceClient::new(caller.channel).$method(request).await?.into_inner();
            Ok(got(answer, $got))
        }) },)*]
    };
}

fn got<A>(answer: A, is_shown: impl Fn(A) -> bool) -> bool {
    is_shown(answer)
}

fn get(id: i64) -> GetListingRequest {
    GetListingRequest { id, lang: None }
}

fn get_product(product_id: i64) -> GetProductRequest {
    GetProductRequest { product_id, ..GetProductRequest::default() }
}

fn by_ids(id: i64) -> GetProductsByIDsRequest {
    GetProductsByIDsRequest { product_ids: vec![id], ..GetProductsByIDsRequest::default() }
}

fn list(status: &str) -> ListListingsRequest {
    let status = Some(status.to_owned());
    ListListingsRequest { user_id: Some(7), status, ..ListListingsRequest::default() }
}

fn item(product_id: i64) -> StockItem {
    StockItem { product_id, variant_id: None, quantity: 1 }
}

fn check(id: i64) -> CheckStockAvailabilityRequest {
    CheckStockAvailabilityRequest { items: vec![item(id)] }
}

fn edit(id: i64, user_id: i64) -> UpdateListingRequest {
    UpdateListingRequest { id, user_id, price: Some(5.0), ..UpdateListingRequest::default() }
}

fn delete(id: i64, user_id: i64, is_admin: bool) -> DeleteListingRequest {
    DeleteListingRequest { id, user_id, is_admin }
}

fn mark(listing_id: i64, user_id: i64) -> AddToFavoritesRequest {
    AddToFavoritesRequest { user_id, listing_id }
}

fn movement(product_id: i64, user_id: i64) -> RecordInventoryMovementRequest {
    RecordInventoryMovementRequest {
        storefront_id: 3,
        product_id,
        movement_type: "in".to_owned(),
        quantity: 1,
        user_id,
        ..RecordInventoryMovementRequest::default()
    }
}

fn batch(product_id: i64, user_id: i64) -> BatchUpdateStockRequest {
    let item = StockUpdateItem { product_id, quantity: 1, ..StockUpdateItem::default() };
    BatchUpdateStockRequest { storefront_id: 3, items: vec![item], user_id, reason: None }
}

fn offer(user_id: i64, storefront_id: Option<i64>) -> CreateListingRequest {
    CreateListingRequest { user_id, storefront_id, ..a_product() }
}

const CATEGORY: CategoryIdRequest = CategoryIdRequest { category_id: 20 };

const ROWS: &[Row] = rows! {
    "GetListing", "of the owner", get_listing(of => get(of.product)), |_| true;
    "GetListing", "a draft", get_listing(of => get(of.draft)), |_| true;
    "CreateListing", "as oneself", create_listing(of => offer(of.user, None)), |_| true;
    "CreateListing", "as the owner", create_listing(_of => offer(7, None)), |_| true;
    "CreateListing", "as oneself, in the owner's storefront", create_listing(of => offer(of.user, Some(3))), |_| true;
    "UpdateListing", "as oneself", update_listing(of => edit(of.product, of.user)), |_| true;
    "UpdateListing", "as the owner", update_listing(of => edit(of.product, 7)), |_| true;
    "DeleteListing", "as oneself", delete_listing(of => delete(of.product, of.user, false)), |_| true;
    "DeleteListing", "as the owner", delete_listing(of => delete(of.product, 7, false)), |_| true;
    "DeleteListing", "with `is_admin`", delete_listing(of => delete(of.product, 0, true)), |_| true;
    "SearchListings", "by word",
        search_listings(_of => SearchListingsRequest { query: "bike".to_owned(), ..Default::default() }), |a| a.total > 0;
    "ListListings", "of the owner", list_listings(_of => list("active")), |a| a.total > 0;
    "ListListings", "the owner's drafts", list_listings(_of => list("draft")), |a| a.total > 0;
    "GetSimilarListings", "to the owner's",
        get_similar_listings(of => GetSimilarListingsRequest { listing_id: of.product, limit: None }), |_| true;
    "GetSimilarListings", "to a draft",
        get_similar_listings(of => GetSimilarListingsRequest { listing_id: of.draft, limit: None }), |a| a.total > 0;
    "GetRootCategories", "", get_root_categories(_of => ()), |_| true;
    "GetAllCategories", "", get_all_categories(_of => ()), |_| true;
    "GetPopularCategories", "", get_popular_categories(_of => PopularCategoriesRequest::default()), |_| true;
    "GetCategory", "", get_category(_of => CATEGORY), |_| true;
    "GetCategoryTree", "", get_category_tree(_of => CATEGORY), |_| true;
    "GetFavoritedUsers", "of the owner's listing",
        get_favorited_users(of => ListingIdRequest { listing_id: of.product }), |_| true;
    "AddToFavorites", "as oneself", add_to_favorites(of => mark(of.product, of.user)), |_| true;
    "AddToFavorites", "as oneself, a draft", add_to_favorites(of => mark(of.draft, of.user)), |_| true;
    "AddToFavorites", "as the owner", add_to_favorites(of => mark(of.product, 7)), |_| true;
    "RemoveFromFavorites", "as the owner",
        remove_from_favorites(of => RemoveFromFavoritesRequest { user_id: 7, listing_id: of.product }), |_| true;
    "GetUserFavorites", "of the owner",
        get_user_favorites(_of => GetUserFavoritesRequest { user_id: 7, limit: 0, offset: 0 }), |_| true;
    "IsFavorite", "of the owner",
        is_favorite(of => IsFavoriteRequest { user_id: 7, listing_id: of.product }), |_| true;
    "GetProduct", "of the owner", get_product(of => get_product(of.product)), |_| true;
    "GetProduct", "a draft", get_product(of => get_product(of.draft)), |_| true;
    "GetProductsBySKUs", "a draft",
        get_products_by_sk_us(_of => GetProductsBySkUsRequest { skus: vec![SKU.to_owned()], ..Default::default() }),
        |a| a.total_count > 0;
    "GetProductsByIDs", "of the owner", get_products_by_i_ds(of => by_ids(of.product)), |a| a.total_count > 0;
    "GetProductsByIDs", "a draft", get_products_by_i_ds(of => by_ids(of.draft)), |a| a.total_count > 0;
    "ListProducts", "the drafts of a storefront",
        list_products(_of => ListProductsRequest { storefront_id: 3, page_size: 100, ..Default::default() }),
        |a| a.products.iter().any(|product| !product.is_active);
    "GetProductStats", "of the owner's storefront",
        get_product_stats(_of => GetProductStatsRequest { storefront_id: 3 }), |_| true;
    "GetProductStats", "of a storefront without products",
        get_product_stats(_of => GetProductStatsRequest { storefront_id: 99 }), |_| true;
    "IncrementProductViews", "of the owner's product",
        increment_product_views(of => IncrementProductViewsRequest { product_id: of.product }), |_| true;
    "IncrementProductViews", "of a draft",
        increment_product_views(of => IncrementProductViewsRequest { product_id: of.draft }), |_| true;
    "DecrementStock", "",
        decrement_stock(of => DecrementStockRequest { items: vec![item(of.product)], order_id: None }), |a| a.success;
    "RollbackStock", "",
        rollback_stock(of => RollbackStockRequest { items: vec![item(of.product)], order_id: None }), |a| a.success;
    "CheckStockAvailability", "of the owner's product",
        check_stock_availability(of => check(of.product)), |a| a.all_available;
    "CheckStockAvailability", "of a draft", check_stock_availability(of => check(of.draft)), |a| a.all_available;
    "RecordInventoryMovement", "as oneself",
        record_inventory_movement(of => movement(of.product, of.user)), |a| a.success;
    "RecordInventoryMovement", "as the owner", record_inventory_movement(of => movement(of.product, 7)), |a| a.success;
    "BatchUpdateStock", "as oneself", batch_update_stock(of => batch(of.product, of.user)), |a| a.failed_count == 0;
    "BatchUpdateStock", "as the owner", batch_update_stock(of => batch(of.product, 7)), |a| a.failed_count == 0;
};

/// The stock-keeping unit of all drafts.
const SKU: &str = "DRAFT-1";

/// The routes of the operators' port.
const ROUTES: [&str; 9] = [
    "/healthz",
    "/readyz",
    "/ready",
    "/metrics",
    "/health",
    "/health/live",
    "/health/ready",
    "/health/startup",
    "/health/deep",
];

fn cell(outcome: &Outcome) -> &'static str {
    match outcome {
        Ok(true) => "yes",
        Ok(false) => "not shown",
        Err(status) => match status.code() {
            Code::NotFound => "not found",
            Code::PermissionDenied => "no",
            Code::Unauthenticated => "who?",
            code => panic!("{code:?}: {}", status.message()),
        },
    }
}

/// A server, and what each attempt needs.
struct Marketplace {
    server: AuthenticatedServer,
    channel: Channel,
}

impl Marketplace {
    async fn start() -> Self {
        let server = AuthenticatedServer::start().await;
        let channel = connect(server.server.running.addresses.grpc).await;
        let draft = CreateListingRequest { sku: Some(SKU.to_owned()), ..a_product() };
        server.draft_of(draft).await;
        Self { server, channel }
    }

    fn caller(&self, kind: &Kind) -> Caller {
        let token = kind.subject.map(|subject| self.server.bearer(subject));
        Caller { channel: self.channel.clone(), token }
    }

    async fn rpc(&self, row: &Row, kind: &Kind) -> &'static str {
        let (product, draft) = (self.server.product().await, self.server.draft().await);
        let subjects = Subjects { product, draft, user: kind.user };
        cell(&(row.attempt)(self.caller(kind), subjects).await)
    }

    async fn health(&self, kind: &Kind) -> &'static str {
        let caller = self.caller(kind);
        let request = caller.request(HealthCheckRequest::default());
        cell(&HealthClient::new(caller.channel).check(request).await.map(|_| true))
    }

    async fn route(&self, path: &str, kind: &Kind) -> &'static str {
        let address = self.server.server.running.addresses.http;
        let stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let mut request = hyper::Request::get(path).header("host", "test");
        if let Some(token) = self.caller(kind).token {
            request = request.header("authorization", token);
        }
        let response = sender.send_request(request.body(Body::empty()).unwrap()).await.unwrap();
        if response.status().is_success() { "yes" } else { panic!("{path}: {}", response.status()) }
    }
}

fn row(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

async fn table() -> String {
    let marketplace = Marketplace::start().await;
    let names = KINDS.map(|kind| kind.name).join(" | ");
    let rule = "| --- ".repeat(KINDS.len());
    let mut text = format!("| rpc | {names} |\n| --- {rule}|\n");
    for attempted in ROWS {
        let with = if attempted.with.is_empty() { String::new() } else { format!(", {}", attempted.with) };
        let mut cells = vec![format!("{}{with}", attempted.rpc)];
        for kind in &KINDS {
            cells.push(marketplace.rpc(attempted, kind).await.to_owned());
        }
        text += &row(&cells);
    }
    let mut cells = vec!["grpc.health.v1.Health/Check".to_owned()];
    for kind in &KINDS {
        cells.push(marketplace.health(kind).await.to_owned());
    }
    text += &row(&cells);
    let _ = write!(text, "\nThe operators' port answers everyone who reaches it; do not publish it.\n\n");
    let _ = write!(text, "| route | {names} |\n| --- {rule}|\n");
    for path in ROUTES {
        let mut cells = vec![format!("GET {path}")];
        for kind in &KINDS {
            cells.push(marketplace.route(path, kind).await.to_owned());
        }
        text += &row(&cells);
    }
    text
}

#[tokio::test]
async fn the_table_of_who_may_call_what_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/who-may-listings.md");
    let tried = table().await;
    assert_eq!(peers::document::section(&path, "access", &tried).unwrap(), tried);
}

#[test]
fn every_rpc_and_every_route_is_tried() {
    for method in METHODS {
        assert!(ROWS.iter().any(|row| row.rpc == method.name), "{}", method.name);
    }
    let sources =
        [include_str!("../../../kit/src/admin.rs"), include_str!("../../src/server/health.rs")].concat();
    let routes = sources.split(".route(").skip(1).map(|rest| rest.split('"').nth(1).unwrap());
    let mut found: Vec<&str> = routes.collect();
    let mut tried = ROUTES.to_vec();
    found.sort_unstable();
    tried.sort_unstable();
    assert_eq!(found, tried);
}
