//! Bearer tokens: who calls is whom the token names, and nobody else.

use crate::issuer::{KeyServer, Signer, claims_with, unsigned};
use crate::support::{Client, Server, a_product, code};
use listings::proto::{
    CreateListingRequest, DecrementStockRequest, DeleteListingRequest, GetListingRequest,
    GetUserFavoritesRequest, RecordInventoryMovementRequest, StockItem,
};
use serde_json::json;
use tonic::{Code, Request};

struct Known {
    server: Server,
    signer: Signer,
    client: Client,
    _keys: KeyServer,
}

impl Known {
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

    /// A good token with another's claims, tokens that nobody signed or that were signed with the public key as a shared
    /// secret, one that is over, and what is no token.
    fn forged(&self) -> [String; 6] {
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

    fn by<T>(&self, subject: &str, message: T) -> Request<T> {
        let mut request = Request::new(message);
        let token = self.signer.token(&claims_with(subject, json!({})));
        request.metadata_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        request
    }
}

#[tokio::test]
async fn without_a_token_that_is_believed_nothing_is_answered_but_health() {
    let known = Known::start().await;
    let mut rpc = known.client.rpc.clone();
    let asked = || GetListingRequest { id: 1, lang: None };
    assert_eq!(code(rpc.get_listing(asked()).await), Code::Unauthenticated);
    let mut forged = Request::new(asked());
    let stranger = Signer::ec("k1").token(&claims_with("7", json!({})));
    forged.metadata_mut().insert("authorization", format!("Bearer {stranger}").parse().unwrap());
    assert_eq!(code(rpc.get_listing(forged).await), Code::Unauthenticated);
    for token in known.forged() {
        let mut request = Request::new(asked());
        request.metadata_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        assert_eq!(code(rpc.get_listing(request).await), Code::Unauthenticated, "{token}");
    }
    for subject in ["nobody", "0", "-7", "7.0"] {
        assert_eq!(
            code(rpc.get_listing(known.by(subject, asked())).await),
            Code::Unauthenticated,
            "{subject}"
        );
    }
    assert_eq!(code(rpc.get_listing(known.by("7", asked())).await), Code::NotFound);
    assert!(known.server.get("/health/ready").await.0.is_success());
}

#[tokio::test]
async fn nobody_speaks_for_another_and_administrators_for_all() {
    let known = Known::start().await;
    let mut rpc = known.client.rpc.clone();
    assert_eq!(code(rpc.create_listing(known.by("8", a_product())).await), Code::PermissionDenied);
    let id = rpc.create_listing(known.by("7", a_product())).await.unwrap().into_inner().listing.unwrap().id;
    let favorites = GetUserFavoritesRequest { user_id: 7, limit: 0, offset: 0 };
    assert_eq!(code(rpc.get_user_favorites(known.by("8", favorites)).await), Code::PermissionDenied);
    let movement = |user_id| RecordInventoryMovementRequest {
        storefront_id: 3,
        product_id: id,
        movement_type: "in".to_owned(),
        quantity: 1,
        user_id,
        ..RecordInventoryMovementRequest::default()
    };
    assert_eq!(code(rpc.record_inventory_movement(known.by("8", movement(7))).await), Code::PermissionDenied);
    assert_eq!(code(rpc.record_inventory_movement(known.by("8", movement(8))).await), Code::PermissionDenied);
    assert!(rpc.record_inventory_movement(known.by("7", movement(7))).await.is_ok());
    let item = StockItem { product_id: id, variant_id: None, quantity: 1 };
    let order = || DecrementStockRequest { items: vec![item], order_id: None };
    assert_eq!(code(rpc.decrement_stock(known.by("7", order())).await), Code::PermissionDenied);
    assert!(rpc.decrement_stock(known.by("orders", order())).await.is_ok());
    let delete = |is_admin| DeleteListingRequest { id, user_id: 7, is_admin };
    assert_eq!(code(rpc.delete_listing(known.by("8", delete(true))).await), Code::PermissionDenied);
    assert_eq!(code(rpc.delete_listing(known.by("8", delete(false))).await), Code::PermissionDenied);
    assert!(rpc.delete_listing(known.by("support", delete(true))).await.is_ok());
    let other = CreateListingRequest { user_id: 12, ..a_product() };
    assert!(rpc.create_listing(known.by("support", other)).await.is_ok());
}
