//! Publishers: with tokens switched on, events are taken only from services of this namespace.

use challenge::proto::account::UserLoggedIn;
use hyper::StatusCode;
use serde_json::json;
use testkit::grpc::{authorized, code};
use testkit::issuer::{KeyServer, Signer, claims, claims_with};
use tonic::{Code, Request};

use crate::support::{Server, statistic};

/// The settings of a service that trusts this key server, with a subject for each role.
pub(crate) fn settings(keys: &KeyServer) -> Vec<(&str, &str)> {
    let roles = [("SERVICE_SUBJECTS", "publisher"), ("ADMIN_SUBJECTS", "operator")];
    keys.settings().into_iter().chain(roles).collect()
}

fn with_token<T>(message: T, token: Option<&str>) -> Request<T> {
    authorized(message, token.map(|token| format!("Bearer {token}")).as_deref())
}

fn login(user: &str) -> UserLoggedIn {
    UserLoggedIn {
        user_id: user.to_owned(),
        id: "1".to_owned(),
        namespace: "accelbyte".to_owned(),
        ..UserLoggedIn::default()
    }
}

/// Publishes a login of the user.
pub(crate) async fn log_in(server: &Server, token: &str, user: &str) {
    server.publisher().await.login.on_message(with_token(login(user), Some(token))).await.unwrap();
}

/// The codes of a login and of a statistic that are sent with this token.
async fn codes(server: &Server, token: Option<&str>) -> [Code; 2] {
    let mut publisher = server.publisher().await;
    let logged_in = publisher.login.on_message(with_token(login("ann"), token)).await;
    let update = statistic("ann", "enemy_kills", 1e9);
    let updated = publisher.statistic.on_message(with_token(update, token)).await;
    [logged_in, updated].map(code)
}

#[tokio::test]
async fn only_a_service_of_the_namespace_may_publish_events() {
    let (signer, stranger) = (Signer::ec("e"), Signer::ec("e"));
    let keys = KeyServer::start(&[&signer]).await;
    let server = Server::start_with(&settings(&keys)).await;
    assert_eq!(codes(&server, None).await, [Code::Unauthenticated; 2], "no token");
    for (token, expected) in [
        (stranger.token(&claims("publisher")), Code::Unauthenticated),
        (signer.token(&claims_with("publisher", json!({"exp": 1}))), Code::Unauthenticated),
        (signer.token(&claims_with("publisher", json!({"namespace": "other"}))), Code::PermissionDenied),
        (signer.token(&claims("ann")), Code::PermissionDenied),
        (signer.token(&claims("publisher ")), Code::PermissionDenied),
    ] {
        assert_eq!(codes(&server, Some(&token)).await, [expected; 2]);
    }
    assert_eq!(server.count("SELECT count(*) FROM user_goal_progress"), 0, "a refused event does nothing");
    let metrics = server.metrics().await;
    let line = r#"challenge_requests_total{endpoint="event_statistic",outcome="permission_denied"} 3"#;
    assert!(metrics.contains(line), "{metrics}");
    for service in ["publisher", "operator"] {
        assert_eq!(codes(&server, Some(&signer.token(&claims(service)))).await, [Code::Ok; 2], "{service}");
    }
    assert_eq!(server.count("SELECT count(*) FROM user_goal_progress"), 10);
    assert_eq!(server.player("").get("/challenge/healthz").await.0, StatusCode::OK);
}
