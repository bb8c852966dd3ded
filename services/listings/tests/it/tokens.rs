//! Bearer tokens: the caller is the subject of the token.

use listings::proto::{
    AddToFavoritesRequest, CheckStockAvailabilityRequest, CreateListingRequest, DecrementStockRequest,
    DeleteListingRequest, GetListingRequest, GetProductRequest, GetProductStatsRequest,
    GetProductsByIDsRequest, GetUserFavoritesRequest, IncrementProductViewsRequest, ListListingsRequest,
    ListProductsRequest, ListingIdRequest, RecordInventoryMovementRequest, StockItem, UpdateListingRequest,
};
use serde_json::json;
use tonic::{Code, Request};

use testkit::data::TestDatabase;
use testkit::grpc::{authorized, code};
use testkit::issuer::{KeyServer, Signer, claims_with, unsigned};

use crate::support::{Client, Server, a_product};

pub(crate) struct AuthenticatedServer {
    pub(crate) server: Server,
    signer: Signer,
    pub(crate) client: Client,
    _keys: KeyServer,
}

impl AuthenticatedServer {
    pub(crate) async fn start() -> Self {
        Self::start_with(&[]).await
    }

    pub(crate) async fn start_with(more: &[(&str, &str)]) -> Self {
        Self::start_in(TestDatabase::new(), more).await
    }

    pub(crate) async fn start_in(store: TestDatabase, more: &[(&str, &str)]) -> Self {
        let signer = Signer::ec("k1");
        let keys = KeyServer::start(&[&signer]).await;
        let mut settings = vec![("AUTH_ENABLED", "true"), ("ADMIN_SUBJECTS", "support, root")];
        let own = keys.settings();
        settings.extend(own);
        settings.extend([("SERVICE_SUBJECTS", "orders"), ("AUTH_NAMESPACE_CLAIM", "none")]);
        settings.extend(more);
        let server = Server::start_in(store, &settings).await;
        let client = server.client().await;
        Self { server, signer, client, _keys: keys }
    }

    /// A token with another's claims, unsigned tokens, a token signed with the public key as a shared secret, an
    /// expired token, and a text that is not a token.
    fn invalid_tokens(&self) -> [String; 6] {
        let good = self.signer.token(&claims_with("7", json!({})));
        let (signed, signature) = good.rsplit_once('.').unwrap();
        let (head, _) = signed.split_once('.').unwrap();
        let admin = claims_with("support", json!({}));
        let none = unsigned(&json!({"alg": "none", "kid": "k1"}), &admin);
        let (_, others) = none.split_once('.').unwrap();
        [
            format!("{head}.{others}.{signature}"),
            format!("{none}."),
            format!("{none}.{signature}"),
            self.signer.token_by_hmac(&self.signer.public(), &admin),
            self.signer.token(&claims_with("support", json!({"exp": 1_000_000_000}))),
            "x".repeat(4_000),
        ]
    }

    /// The value of the header `authorization` for this subject.
    pub(crate) fn bearer(&self, subject: &str) -> String {
        format!("Bearer {}", self.signer.token(&claims_with(subject, json!({}))))
    }

    pub(crate) fn request_by<T>(&self, subject: &str, message: T) -> Request<T> {
        authorized(message, Some(&self.bearer(subject)))
    }

    /// The id of a product of user 7 in storefront 3.
    pub(crate) async fn product(&self) -> i64 {
        self.create(a_product()).await
    }

    /// The id of a new listing of user 7.
    pub(crate) async fn create(&self, request: CreateListingRequest) -> i64 {
        let mut rpc = self.client.rpc.clone();
        let made = rpc.create_listing(self.request_by("7", request)).await.unwrap().into_inner();
        made.listing.unwrap().id
    }

    /// The id of a draft of user 7 in storefront 3.
    pub(crate) async fn draft(&self) -> i64 {
        self.draft_of(a_product()).await
    }

    /// The id of a new listing of user 7 as a draft.
    pub(crate) async fn draft_of(&self, request: CreateListingRequest) -> i64 {
        let id = self.create(request).await;
        let status = Some("draft".to_owned());
        let edit = UpdateListingRequest { id, user_id: 7, status, ..UpdateListingRequest::default() };
        self.client.rpc.clone().update_listing(self.request_by("7", edit)).await.unwrap();
        id
    }
}

#[tokio::test]
async fn without_a_valid_token_only_what_is_public_is_answered() {
    let server = AuthenticatedServer::start().await;
    let mut rpc = server.client.rpc.clone();
    let request = || GetListingRequest { id: 1, lang: None };
    assert_eq!(code(rpc.get_listing(request()).await), Code::NotFound);
    assert_eq!(code(rpc.create_listing(a_product()).await), Code::Unauthenticated);
    let stranger = Signer::ec("k1").token(&claims_with("7", json!({})));
    for token in server.invalid_tokens().into_iter().chain([stranger]) {
        let request = authorized(request(), Some(&format!("Bearer {token}")));
        assert_eq!(code(rpc.get_listing(request).await), Code::Unauthenticated, "{token}");
    }
    for subject in ["unknown", "0", "-7", "7.0"] {
        assert_eq!(
            code(rpc.get_listing(server.request_by(subject, request())).await),
            Code::Unauthenticated,
            "{subject}"
        );
    }
    assert_eq!(code(rpc.get_listing(server.request_by("7", request())).await), Code::NotFound);
    assert!(server.server.admin().get("/health/ready").await.0.is_success());
    let id = server.product().await;
    assert!(rpc.get_listing(GetListingRequest { id, lang: None }).await.is_ok());
}

#[tokio::test]
async fn users_act_for_themselves_and_administrators_for_all() {
    let server = AuthenticatedServer::start().await;
    let mut rpc = server.client.rpc.clone();
    assert_eq!(code(rpc.create_listing(server.request_by("8", a_product())).await), Code::PermissionDenied);
    let id = rpc
        .create_listing(server.request_by("7", a_product()))
        .await
        .unwrap()
        .into_inner()
        .listing
        .unwrap()
        .id;
    let favorites = GetUserFavoritesRequest { user_id: 7, limit: 0, offset: 0 };
    assert_eq!(code(rpc.get_user_favorites(server.request_by("8", favorites)).await), Code::PermissionDenied);
    let movement = |user_id| RecordInventoryMovementRequest {
        storefront_id: 3,
        product_id: id,
        movement_type: "in".to_owned(),
        quantity: 1,
        user_id,
        ..RecordInventoryMovementRequest::default()
    };
    assert_eq!(
        code(rpc.record_inventory_movement(server.request_by("8", movement(7))).await),
        Code::PermissionDenied
    );
    assert_eq!(
        code(rpc.record_inventory_movement(server.request_by("8", movement(8))).await),
        Code::PermissionDenied
    );
    assert!(rpc.record_inventory_movement(server.request_by("7", movement(7))).await.is_ok());
    let item = StockItem { product_id: id, variant_id: None, quantity: 1 };
    let order = || DecrementStockRequest { items: vec![item], order_id: None };
    assert_eq!(code(rpc.decrement_stock(server.request_by("7", order())).await), Code::PermissionDenied);
    assert!(rpc.decrement_stock(server.request_by("orders", order())).await.is_ok());
    let delete = |is_admin| DeleteListingRequest { id, user_id: 7, is_admin };
    assert_eq!(code(rpc.delete_listing(server.request_by("8", delete(true))).await), Code::PermissionDenied);
    assert_eq!(code(rpc.delete_listing(server.request_by("8", delete(false))).await), Code::PermissionDenied);
    assert!(rpc.delete_listing(server.request_by("support", delete(true))).await.is_ok());
    let other = CreateListingRequest { user_id: 12, ..a_product() };
    assert!(rpc.create_listing(server.request_by("support", other)).await.is_ok());
}

#[tokio::test]
async fn a_storefront_belongs_to_the_user_of_its_first_product() {
    let server = AuthenticatedServer::start().await;
    let mut rpc = server.client.rpc.clone();
    server.product().await;
    let offer = |user_id, storefront_id| CreateListingRequest {
        user_id,
        storefront_id: Some(storefront_id),
        ..a_product()
    };
    assert_eq!(code(rpc.create_listing(server.request_by("8", offer(8, 3))).await), Code::PermissionDenied);
    assert!(rpc.create_listing(server.request_by("8", offer(8, 4))).await.is_ok());
    assert_eq!(code(rpc.create_listing(server.request_by("7", offer(7, 4))).await), Code::PermissionDenied);
    assert!(rpc.create_listing(server.request_by("7", offer(7, 3))).await.is_ok());
    assert!(rpc.create_listing(server.request_by("orders", offer(8, 3))).await.is_ok());
}

/// The reads of listing `id` in storefront 3 by `caller`: whether each shows it.
async fn shown(server: &AuthenticatedServer, caller: &str, id: i64) -> Vec<bool> {
    let mut rpc = server.client.rpc.clone();
    let get = GetListingRequest { id, lang: None };
    let product = GetProductRequest { product_id: id, ..GetProductRequest::default() };
    let by_ids = GetProductsByIDsRequest { product_ids: vec![id], ..Default::default() };
    let of_user = ListListingsRequest { user_id: Some(7), ..ListListingsRequest::default() };
    let all = ListListingsRequest::default();
    let drafts = ListListingsRequest { status: Some("draft".to_owned()), ..ListListingsRequest::default() };
    let of_storefront = ListProductsRequest { storefront_id: 3, ..ListProductsRequest::default() };
    let item = StockItem { product_id: id, variant_id: None, quantity: 1 };
    let check = CheckStockAvailabilityRequest { items: vec![item] };
    let view = IncrementProductViewsRequest { product_id: id };
    let by = |request| server.request_by(caller, request);
    let mut shown = vec![
        rpc.get_listing(server.request_by(caller, get)).await.is_ok(),
        rpc.get_product(server.request_by(caller, product)).await.is_ok(),
        rpc.get_products_by_i_ds(server.request_by(caller, by_ids)).await.unwrap().into_inner().total_count
            == 1,
    ];
    for list in [of_user, all, drafts] {
        let found = rpc.list_listings(by(list)).await.unwrap().into_inner();
        assert_eq!(found.total as usize, found.listings.len());
        shown.push(found.total == 1);
    }
    let found = rpc.list_products(server.request_by(caller, of_storefront)).await.unwrap().into_inner();
    assert_eq!(found.total_count as usize, found.products.len());
    shown.push(found.total_count == 1);
    let checked = rpc.check_stock_availability(server.request_by(caller, check)).await.unwrap();
    shown.push(checked.into_inner().all_available);
    shown.push(rpc.increment_product_views(server.request_by(caller, view)).await.is_ok());
    shown
}

/// Those who are not shown a draft are asked first and last: no cached answer of another caller is theirs.
#[tokio::test]
async fn a_draft_is_shown_to_its_owner_and_to_services_alone() {
    let server = AuthenticatedServer::start().await;
    let id = server.draft().await;
    for (caller, expect) in [("8", false), ("orders", true), ("7", true), ("support", true), ("8", false)] {
        let shown = shown(&server, caller, id).await;
        // The list of everybody's listings shows no drafts to users.
        let in_all = if caller == "7" { false } else { expect };
        assert_eq!(
            shown,
            [expect, expect, expect, expect, in_all, in_all, expect, expect, expect],
            "{caller}"
        );
    }
    let mark = AddToFavoritesRequest { user_id: 8, listing_id: id };
    let mut rpc = server.client.rpc.clone();
    assert_eq!(code(rpc.add_to_favorites(server.request_by("8", mark)).await), Code::NotFound);
}

#[tokio::test]
async fn sums_and_marks_are_shown_to_the_owner_and_to_services_alone() {
    let server = AuthenticatedServer::start().await;
    let listing_id = server.product().await;
    let mut rpc = server.client.rpc.clone();
    let stats = GetProductStatsRequest { storefront_id: 3 };
    for (caller, expect) in [("8", false), ("7", true), ("orders", true), ("support", true), ("8", false)] {
        let answered = rpc.get_product_stats(server.request_by(caller, stats)).await;
        assert_eq!(answered.map(drop).map_err(|status| status.code()).is_ok(), expect, "{caller}");
        let marked =
            rpc.get_favorited_users(server.request_by(caller, ListingIdRequest { listing_id })).await;
        match marked {
            Ok(_) => assert!(expect, "{caller}"),
            Err(status) => assert!(!expect && status.code() == Code::PermissionDenied, "{caller} {status}"),
        }
    }
    let nobodys = GetProductStatsRequest { storefront_id: 99 };
    assert_eq!(code(rpc.get_product_stats(server.request_by("7", nobodys)).await), Code::PermissionDenied);
}
