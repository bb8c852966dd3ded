//! Bearer tokens, with real requests to a real server whose keys come from a real key server.

use challenge::proto::service::InitializeRequest;
use challenge::proto::service::service_client::ServiceClient;
use hyper::{Method, StatusCode};
use kit::process::Service;
use serde_json::{Value, json};
use testkit::data::TestDatabase;
use testkit::grpc::{authorized, code};
use testkit::issuer::{KeyServer, Signer, claims, claims_with, now_s, unsigned};
use testkit::until;
use tonic::Code;

use crate::support::Server;

const LIST: &str = "/challenge/v1/challenges";

async fn list(server: &Server, headers: &[(&str, &str)]) -> (StatusCode, Value) {
    server.http().request(Method::GET, LIST, headers, "").await
}

async fn authenticate(server: &Server, token: &str) -> (StatusCode, Value) {
    list(server, &[("authorization", &format!("Bearer {token}"))]).await
}

async fn assert_refused(server: &Server, token: &str, status: StatusCode, reason: &str) {
    let (answered, body) = authenticate(server, token).await;
    let message = body["message"].as_str().unwrap();
    assert!(
        answered == status && message.contains(reason),
        "expected {status} {reason:?}: {answered} {body}"
    );
}

const UNAUTHORIZED: StatusCode = StatusCode::UNAUTHORIZED;

#[tokio::test]
async fn a_token_of_either_kind_names_its_subject() {
    let (rsa, ec) = (Signer::rsa("r"), Signer::ec("e"));
    let keys = KeyServer::start(&[&rsa, &ec]).await;
    let server = Server::start_with(&crate::publishers::settings(&keys)).await;
    let publisher = rsa.token(&claims("publisher"));
    crate::publishers::log_in(&server, &publisher, "ann").await;
    for signer in [&rsa, &ec] {
        for _ in 0..2 {
            let (status, body) = authenticate(&server, &signer.token(&claims("ann"))).await;
            assert_eq!(status, StatusCode::OK, "{}: {body}", signer.id);
        }
    }
    let path = "/challenge/v1/challenges/challenge-010/goals/goal-010-01/claim";
    let headers = [("authorization", &*format!("Bearer {}", ec.token(&claims("ann"))))];
    assert_eq!(server.http().request(Method::POST, path, &headers, "").await.0, StatusCode::OK);
    assert_eq!(server.count("SELECT count(*) FROM reward_ledger WHERE user_id = 'ann'"), 1);
}

#[tokio::test]
async fn a_token_not_signed_by_a_known_key_for_its_algorithm_assert_refused() {
    let (rsa, ec, stranger) = (Signer::rsa("r"), Signer::ec("e"), Signer::ec("e"));
    let keys = KeyServer::start(&[&rsa, &ec]).await;
    let server = Server::start_with(&keys.settings()).await;
    let good = claims("ann");
    let none = format!("{}.", unsigned(&json!({"alg": "none", "kid": "r"}), &good));
    assert_refused(&server, &none, UNAUTHORIZED, "algorithm").await;
    let jwk = rsa.jwk().to_string();
    for secret in [rsa.public(), jwk.into_bytes()] {
        assert_refused(&server, &rsa.token_by_hmac(&secret, &good), UNAUTHORIZED, "algorithm").await;
    }
    let confused = ec.token_as(&json!({"alg": "ES256", "kid": "r"}), &good);
    assert_refused(&server, &confused, UNAUTHORIZED, "algorithm").await;
    assert_refused(&server, &stranger.token(&good), UNAUTHORIZED, "signature").await;

    let whole = rsa.token(&good);
    assert_refused(&server, &whole[..whole.len() - 22], UNAUTHORIZED, "signature").await;
    let (head, signature) = whole.rsplit_once('.').unwrap();
    assert_refused(&server, head, UNAUTHORIZED, "malformed").await;
    assert_refused(&server, &format!("{head}."), UNAUTHORIZED, "signature").await;
    let others = unsigned(&json!({"alg": "RS256", "kid": "r"}), &claims("bob"));
    assert_refused(&server, &format!("{others}.{signature}"), UNAUTHORIZED, "signature").await;
    assert_refused(&server, &rsa.token(&json!({"x": "y".repeat(9000)})), UNAUTHORIZED, "too long").await;
    for text in ["", "x", "a.b.c", "...", "e30.e30.e30"] {
        assert_refused(&server, text, UNAUTHORIZED, "").await;
    }
    assert_eq!(authenticate(&server, &whole).await.0, StatusCode::OK, "the complete token is valid");
}

#[tokio::test]
async fn the_claims_of_a_signed_token_must_be_valid() {
    let rsa = Signer::rsa("r");
    let keys = KeyServer::start(&[&rsa]).await;
    let server = Server::start_with(&keys.settings()).await;
    let now = now_s();
    for (changes, reason) in [
        (json!({"exp": now - 31}), "expired"),
        (json!({"exp": null}), "malformed"),
        (json!({"nbf": now + 90}), "not valid yet"),
        (json!({"iat": now + 90}), "not valid yet"),
        (json!({"iss": "https://other.test"}), "issuer"),
        (json!({"aud": "other"}), "audience"),
        (json!({"sub": null}), "malformed"),
        (json!({"sub": "x".repeat(101)}), "subject"),
        (json!({"sub": "a\nb"}), "subject"),
    ] {
        assert_refused(&server, &rsa.token(&claims_with("ann", changes)), UNAUTHORIZED, reason).await;
    }
    let foreign = rsa.token(&claims_with("ann", json!({"namespace": "other"})));
    assert_refused(&server, &foreign, StatusCode::FORBIDDEN, "namespace").await;
    for within_skew in [json!({"exp": now - 10}), json!({"nbf": now + 10}), json!({"iat": now + 10})] {
        let token = rsa.token(&claims_with("ann", within_skew.clone()));
        assert_eq!(authenticate(&server, &token).await.0, StatusCode::OK, "{within_skew}");
    }
}

/// The token is cached after its first use; its expiry is still checked.
#[tokio::test]
async fn a_cached_token_expires() {
    let rsa = Signer::rsa("r");
    let keys = KeyServer::start(&[&rsa]).await;
    let settings = keys.settings().into_iter().chain([("AUTH_CLOCK_SKEW_S", "0")]);
    let server = Server::start_with(&settings.collect::<Vec<_>>()).await;
    let token = rsa.token(&claims_with("ann", json!({"exp": now_s() + 2})));
    assert_eq!(authenticate(&server, &token).await.0, StatusCode::OK);
    until("the token has expired", async || authenticate(&server, &token).await.0 == UNAUTHORIZED).await;
    assert_refused(&server, &token, UNAUTHORIZED, "expired").await;
}

#[tokio::test]
async fn a_new_key_is_fetched_for_its_first_token_and_a_removed_key_is_not_accepted() {
    let (old, new) = (Signer::rsa("1"), Signer::ec("2"));
    let keys = KeyServer::start(&[&old]).await;
    let server = Server::start_with(&keys.settings()).await;
    let by_old = old.token(&claims("ann"));
    assert_eq!(authenticate(&server, &by_old).await.0, StatusCode::OK);
    keys.set_keys(&[&new]);
    let by_new = new.token(&claims("ann"));
    // The keys were fetched at the start; they are not fetched again for a few seconds.
    until("the new key is fetched", async || authenticate(&server, &by_new).await.0 == StatusCode::OK).await;
    assert_eq!(keys.fetches(), 2);
    assert_refused(&server, &by_old, UNAUTHORIZED, "key is unknown").await;
}

#[tokio::test]
async fn forged_key_ids_cause_no_requests_to_the_key_server() {
    let (known, forger) = (Signer::ec("known"), Signer::ec("forged"));
    let keys = KeyServer::start(&[&known]).await;
    let server = Server::start_with(&keys.settings()).await;
    for number in 0..50 {
        let header = json!({"alg": "ES256", "kid": format!("forged-{number}")});
        assert_refused(&server, &forger.token_as(&header, &claims("ann")), UNAUTHORIZED, "key is unknown")
            .await;
    }
    assert!(keys.fetches() <= 2, "{} fetches", keys.fetches());
    assert_eq!(authenticate(&server, &known.token(&claims("ann"))).await.0, StatusCode::OK);
}

#[tokio::test]
async fn without_keys_requests_are_refused_and_readiness_reports_the_reason() {
    let signer = Signer::ec("e");
    let keys = KeyServer::start(&[&signer]).await;
    keys.set_down(true);
    let server = Server::start_unready_in(TestDatabase::new(), &keys.settings()).await;
    let token = signer.token(&claims("ann"));
    assert_refused(&server, &token, StatusCode::SERVICE_UNAVAILABLE, "cannot be verified now").await;
    let admin = server.admin();
    until("a fetch has failed", async || keys.fetches() > 0).await;
    until("readiness reports the reason", async || {
        let (status, body) = admin.get("/readyz").await;
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        let reason = body["status"].as_str().unwrap();
        assert!(reason.starts_with("no keys to verify tokens with"), "{reason}");
        reason.contains("500")
    })
    .await;
    keys.set_down(false);
    server.running.ready().await;
    assert_eq!(admin.get("/readyz").await.0, StatusCode::OK);
    assert_eq!(authenticate(&server, &token).await.0, StatusCode::OK);
}

#[tokio::test]
async fn keys_are_used_for_a_limited_time_while_their_server_is_down() {
    let signer = Signer::ec("e");
    let keys = KeyServer::start(&[&signer]).await;
    let bounds = [("AUTH_REFRESH_S", "1"), ("AUTH_KEEP_KEYS_S", "4")];
    let settings: Vec<_> = keys.settings().into_iter().chain(bounds).collect();
    let server = Server::start_with(&settings).await;
    let token = signer.token(&claims("ann"));
    keys.set_down(true);
    let failed_from = keys.fetches() + 2;
    until("fetches have failed", async || keys.fetches() >= failed_from).await;
    assert_eq!(authenticate(&server, &token).await.0, StatusCode::OK, "the last keys are still used");
    until("the keys are too old", async || {
        authenticate(&server, &token).await.0 == StatusCode::SERVICE_UNAVAILABLE
    })
    .await;
    keys.set_down(false);
    until("the keys are confirmed", async || authenticate(&server, &token).await.0 == StatusCode::OK).await;
}

#[tokio::test]
async fn keys_can_be_read_from_a_file() {
    let signer = Signer::ec("e");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys.json");
    std::fs::write(&path, json!({"keys": [signer.jwk()]}).to_string()).unwrap();
    let url = format!("file://{}", path.display());
    let settings = [
        ("TEST_IDENTITY_HEADER", "off"),
        ("AUTH_JWKS_URL", url.as_str()),
        ("AUTH_ISSUER", testkit::issuer::ISSUER),
    ];
    let server = Server::start_with(&settings).await;
    assert_eq!(authenticate(&server, &signer.token(&claims("ann"))).await.0, StatusCode::OK);
}

#[tokio::test]
async fn the_test_header_never_overrides_a_token() {
    let signer = Signer::ec("e");
    let keys = KeyServer::start(&[&signer]).await;
    let bearer = format!("Bearer {}", signer.token(&claims("ann")));
    let token = ("authorization", bearer.as_str());
    let (ann, bob) = (("x-mock-user-id", "ann"), ("x-mock-user-id", "bob"));

    let strict = Server::start_with(&keys.settings()).await;
    assert_eq!(list(&strict, &[ann]).await.0, UNAUTHORIZED, "the test header is switched off");
    assert_eq!(list(&strict, &[token, bob]).await.0, StatusCode::OK, "and ignored");
    assert_eq!(list(&strict, &[token, token]).await.0, UNAUTHORIZED, "two tokens are refused");

    let both = keys.settings().into_iter().chain([("TEST_IDENTITY_HEADER", "on")]);
    let both = Server::start_with(&both.collect::<Vec<_>>()).await;
    assert_eq!(list(&both, &[ann]).await.0, StatusCode::OK);
    assert_eq!(list(&both, &[token, ann]).await.0, StatusCode::OK);
    assert_eq!(list(&both, &[token, bob]).await.0, StatusCode::FORBIDDEN);
    assert_eq!(list(&both, &[("authorization", "Bearer x"), ann]).await.0, UNAUTHORIZED);
    assert_eq!(list(&both, &[("authorization", "Basic x"), ann]).await.0, UNAUTHORIZED);
}

#[tokio::test]
async fn tokens_are_checked_over_grpc_as_over_http() {
    let signer = Signer::ec("e");
    let keys = KeyServer::start(&[&signer]).await;
    let server = Server::start_with(&keys.settings()).await;
    let channel = testkit::grpc::connect(server.running.addresses.grpc.unwrap()).await;
    let mut client = ServiceClient::new(channel);
    for (changes, expect) in [
        (json!({}), Code::Ok),
        (json!({"exp": now_s() - 60}), Code::Unauthenticated),
        (json!({"namespace": "other"}), Code::PermissionDenied),
    ] {
        let bearer = format!("Bearer {}", signer.token(&claims_with("ann", changes.clone())));
        let code = code(client.initialize_player(authorized(InitializeRequest {}, Some(&bearer))).await);
        assert_eq!(code, expect, "{changes}");
    }
}
