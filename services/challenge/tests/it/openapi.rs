//! The API's document compared with real responses: every operation, and every refusal that a test can cause.

use hyper::Method;
use serde_json::json;
use testkit::differences;
use testkit::http::{connect_and_send, request};
use testkit::openapi::Document;

use crate::support::{Player, Server};

const BASE: &str = "/challenge";

/// Responses that other tests cause: 403 of tokens, 408 of a slow body, 429 of a user with many requests, 502 of a failed
/// reward, 503 of health without a store.
const ELSEWHERE: [(&str, &str); 5] = [("", "403"), ("", "408"), ("", "429"), ("", "502"), ("health", "503")];

const ACTIVATE: &str = r#"{"isActive":true}"#;

/// A request; its path has the parameters of the document.
#[derive(Clone, Copy)]
struct DocumentedRequest<'a> {
    method: &'a Method,
    path: &'a str,
    goal: &'a str,
    body: &'a str,
}

/// Sends the request and compares the response with the document.
async fn check(document: &mut Document, player: &Player, documented: DocumentedRequest<'_>) {
    let DocumentedRequest { method, path, goal, body } = documented;
    let real =
        path.replace("{challenge_id}", &format!("challenge-{}", &goal[5..8])).replace("{goal_id}", goal);
    let request = player.request(method.clone(), &format!("{BASE}{real}"), body);
    document.check(method, path, &player.client.exchange(request).await);
}

#[tokio::test]
async fn every_documented_response_occurs_and_every_response_is_documented() {
    let server = Server::start().await;
    let (ann, anonymous) = (server.player("ann"), server.player(""));
    let (_, document) = anonymous.get("/challenge/openapi.json").await;
    let mut checked = Document::new(document);
    let paths = checked.operations();
    let (active, claim) = (
        "/v1/challenges/{challenge_id}/goals/{goal_id}/active",
        "/v1/challenges/{challenge_id}/goals/{goal_id}/claim",
    );
    let large = format!(r#"{{"x":"{}"}}"#, "y".repeat(20_000));

    let mut publisher = server.publisher().await;
    for (path, method) in &paths {
        let request = DocumentedRequest { method, path, goal: "goal-001-01", body: "{}" };
        check(&mut checked, &anonymous, request).await;
        check(&mut checked, &ann, DocumentedRequest { body: ACTIVATE, ..request }).await;
    }
    let set_active =
        DocumentedRequest { method: &Method::PUT, path: active, goal: "goal-001-05", body: ACTIVATE };
    let claim = DocumentedRequest { method: &Method::POST, path: claim, goal: "goal-001-05", body: "" };
    for body in ["{", large.as_str(), r#"{"is_active":false}"#] {
        check(&mut checked, &ann, DocumentedRequest { goal: "goal-001-02", body, ..set_active }).await;
    }
    check(&mut checked, &ann, set_active).await;
    publisher.update_statistic("ann", "items_crafted", 50.0).await.unwrap();
    publisher.update_statistic("ann", "enemy_kills", 3.0).await.unwrap();
    publisher.log_in("ann", "1").await.unwrap();
    for goal in [
        "goal-010-01",
        "goal-010-01",
        "goal-001-01",
        "goal-001-02",
        "goal-001-05",
        "goal-999-01",
        "goal-001-99",
    ] {
        check(&mut checked, &ann, DocumentedRequest { goal, ..claim }).await;
        check(&mut checked, &ann, DocumentedRequest { goal, ..set_active }).await;
    }
    check_selections(&mut checked, &ann, &large).await;
    for path in ["/v1/challenges", "/v1/challenges/initialize"] {
        let method = if path.ends_with("initialize") { Method::POST } else { Method::GET };
        let request = DocumentedRequest { method: &method, path, goal: "goal-001-01", body: "" };
        check(&mut checked, &ann, request).await;
    }
    let (_, shown) = ann.get("/challenge/v1/challenges?active_only=true").await;
    let list = json!({ "$ref": "#/components/schemas/Challenges" });
    assert_eq!(differences(&checked.json, &list, &shown), Vec::<String>::new());
    refuse_all(&mut checked, &paths).await;
    assert_eq!(checked.missing(&ELSEWHERE), []);
}

/// Of a player who has claimed `goal-010-01`, and not completed `goal-001-01`.
async fn check_selections(checked: &mut Document, ann: &Player, large: &str) {
    let path = "/v1/challenges/{challenge_id}/goals/batch-select";
    let named = DocumentedRequest { method: &Method::POST, path, goal: "goal-001-01", body: "" };
    ann.set_active("goal-010-01", r#"{"isActive":false}"#).await;
    let random = DocumentedRequest { path: "/v1/challenges/{challenge_id}/goals/random-select", ..named };
    for (goal, names) in [
        ("goal-001-01", r#"{"goalIds":["goal-001-01","goal-001-03"]}"#),
        ("goal-001-01", r#"{"goal_ids":["goal-001-10"]}"#),
        ("goal-001-01", r#"{"goalIds":["goal-002-01"]}"#),
        ("goal-010-01", r#"{"goalIds":["goal-010-01"]}"#),
        ("goal-999-01", r#"{"goalIds":["goal-001-01"]}"#),
        ("goal-001-01", large),
        ("goal-001-01", "{"),
    ] {
        check(checked, ann, DocumentedRequest { goal, body: names, ..named }).await;
    }
    let draw = r#"{"count":50,"excludeActive":true}"#;
    for (goal, body) in [
        ("goal-003-01", draw),
        ("goal-003-01", draw),
        ("goal-003-01", r#"{"count":0}"#),
        ("goal-999-01", draw),
        ("goal-001-01", large),
    ] {
        check(checked, ann, DocumentedRequest { goal, body, ..random }).await;
    }
    let path = "/v1/challenges/{challenge_id}/rotation";
    let rotation = DocumentedRequest { method: &Method::GET, path, goal: "goal-999-01", body: "" };
    check(checked, ann, rotation).await;
}

/// While a body that does not end holds the only slot, every request of players is refused.
async fn refuse_all(checked: &mut Document, paths: &[(String, Method)]) {
    let full = Server::start_with(&[("HTTP_MAX_IN_FLIGHT", "1")]).await;
    let ann = full.player("ann");
    let path = "/challenge/v1/challenges/challenge-001/goals/goal-001-01/active";
    let head =
        format!("PUT {path} HTTP/1.1\r\nhost: t\r\nx-mock-user-id: bob\r\ncontent-length: 9\r\n\r\n{{");
    let _holder = connect_and_send(full.http().address, &head).await;
    let held = async { while ann.get("/challenge/v1/challenges").await.0.as_u16() != 503 {} };
    tokio::time::timeout(std::time::Duration::from_secs(9), held).await.expect("the slot is held");
    for (path, method) in paths {
        let request = DocumentedRequest { method, path, goal: "goal-001-01", body: "{}" };
        check(checked, &ann, request).await;
    }
}

#[tokio::test]
async fn the_documentation_page_is_html_and_names_the_base_path() {
    let server = Server::start_with(&[("BASE_PATH", "/games")]).await;
    let anonymous = server.player("");
    let page = server.http().exchange(request("GET", "/games/apidocs/", &[], "")).await;
    assert_eq!(page.status.as_u16(), 200);
    assert!(page.body.starts_with(b"<!doctype html>"));
    let (_, document) = anonymous.get("/games/openapi.json").await;
    assert_eq!(document["servers"], json!([{ "url": "/games" }]));
}
