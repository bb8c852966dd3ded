//! Bearer tokens: the caller is the subject of the token.

use listings::proto::{
    CreateListingRequest, DecrementStockRequest, DeleteListingRequest, GetListingRequest,
    GetUserFavoritesRequest, RecordInventoryMovementRequest, StockItem,
};
use serde_json::json;
use tonic::{Code, Request};

use crate::issuer::{KeyServer, Signer, claims_with, unsigned};
use crate::support::{Client, Server, a_product, code};

struct AuthenticatedServer {
    server: Server,
    signer: Signer,
    client: Client,
    _keys: KeyServer,
}

impl AuthenticatedServer {
    async fn start() -> Self {
        let signer = Signer::ec("k1");
        let keys = KeyServer::start(&[&signer]).await;
        let mut settings = vec![("AUTH_ENABLED", "true"), ("ADMIN_SUBJECTS", "orders, support")];
        let own = keys.settings();
        settings.extend(own);
        settings.push(("AUTH_NAMESPACE_CLAIM", "none"));
        let server = Server::start_with(&settings).await;
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

    fn request_by<T>(&self, subject: &str, message: T) -> Request<T> {
        let mut request = Request::new(message);
        let token = self.signer.token(&claims_with(subject, json!({})));
        request.metadata_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        request
    }
}

#[tokio::test]
async fn without_a_valid_token_only_health_is_answered() {
    let server = AuthenticatedServer::start().await;
    let mut rpc = server.client.rpc.clone();
    let request = || GetListingRequest { id: 1, lang: None };
    assert_eq!(code(rpc.get_listing(request()).await), Code::Unauthenticated);
    let mut forged = Request::new(request());
    let stranger = Signer::ec("k1").token(&claims_with("7", json!({})));
    forged.metadata_mut().insert("authorization", format!("Bearer {stranger}").parse().unwrap());
    assert_eq!(code(rpc.get_listing(forged).await), Code::Unauthenticated);
    for token in server.invalid_tokens() {
        let mut request = Request::new(request());
        request.metadata_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
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
    assert!(server.server.get("/health/ready").await.0.is_success());
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
