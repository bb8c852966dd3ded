//! The API's document compared with real responses: every operation, and every refusal that a test can cause.

use std::collections::BTreeSet;

use axum::body::Body;
use hyper::{Method, Request};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::schema::differences;
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

/// The responses that were checked.
struct CheckedResponses {
    document: Value,
    seen: BTreeSet<(String, String)>,
}

impl CheckedResponses {
    /// Sends the request and compares the response with the document.
    async fn check(&mut self, player: &Player, request: DocumentedRequest<'_>) {
        let DocumentedRequest { method, path, goal, body } = request;
        let real =
            path.replace("{challenge_id}", &format!("challenge-{}", &goal[5..8])).replace("{goal_id}", goal);
        let (status, answer) = player.send(method.clone(), &format!("{BASE}{real}"), body).await;
        let status = status.as_str();
        let operation = &self.document["paths"][path][method.as_str().to_lowercase()];
        let mut documented = &operation["responses"][status];
        if let Some(reference) = documented["$ref"].as_str() {
            documented = self.document.pointer(reference.trim_start_matches('#')).unwrap();
        }
        let content = &documented["content"];
        assert!(content.is_object(), "{method} {path} answers {status}, which is not documented: {answer}");
        if let Some(schema) = content["application/json"].get("schema") {
            let found = differences(&self.document, schema, &answer);
            assert!(found.is_empty(), "{method} {path} {status}: {found:#?}");
        }
        let id = operation["operationId"].as_str().unwrap();
        self.seen.insert((id.to_owned(), status.to_owned()));
    }

    /// Documented responses that were not seen.
    fn missing(&self) -> Vec<(String, String)> {
        let paths = self.document["paths"].as_object().unwrap().values();
        let operations = paths.flat_map(|methods| methods.as_object().unwrap().values());
        let documented = operations.flat_map(|operation| {
            let id = operation["operationId"].as_str().unwrap();
            operation["responses"].as_object().unwrap().keys().map(|status| (id.to_owned(), status.clone()))
        });
        let is_expected = |(id, status): &(String, String)| {
            !ELSEWHERE.iter().any(|(other, seen)| status == seen && (other.is_empty() || id == other))
        };
        documented.filter(|pair| is_expected(pair) && !self.seen.contains(pair)).collect()
    }
}

#[tokio::test]
async fn every_documented_response_occurs_and_every_response_is_documented() {
    let server = Server::start().await;
    let (ann, anonymous) = (server.player("ann"), server.player(""));
    let (_, document) = anonymous.get("/challenge/openapi.json").await;
    let mut checked = CheckedResponses { document, seen: BTreeSet::new() };
    let paths: Vec<(String, Method)> = checked.document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().unwrap().keys();
            methods.map(|method| (path.clone(), method.to_uppercase().parse().unwrap())).collect::<Vec<_>>()
        })
        .collect();
    let (active, claim) = (
        "/v1/challenges/{challenge_id}/goals/{goal_id}/active",
        "/v1/challenges/{challenge_id}/goals/{goal_id}/claim",
    );
    let large = format!(r#"{{"x":"{}"}}"#, "y".repeat(20_000));

    let mut publisher = server.publisher().await;
    for (path, method) in &paths {
        let request = DocumentedRequest { method, path, goal: "goal-001-01", body: "{}" };
        checked.check(&anonymous, request).await;
        checked.check(&ann, DocumentedRequest { body: ACTIVATE, ..request }).await;
    }
    let set_active =
        DocumentedRequest { method: &Method::PUT, path: active, goal: "goal-001-05", body: ACTIVATE };
    let claim = DocumentedRequest { method: &Method::POST, path: claim, goal: "goal-001-05", body: "" };
    for body in ["{", large.as_str(), r#"{"is_active":false}"#] {
        checked.check(&ann, DocumentedRequest { goal: "goal-001-02", body, ..set_active }).await;
    }
    checked.check(&ann, set_active).await;
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
        checked.check(&ann, DocumentedRequest { goal, ..claim }).await;
        checked.check(&ann, DocumentedRequest { goal, ..set_active }).await;
    }
    check_selections(&mut checked, &ann, &large).await;
    for path in ["/v1/challenges", "/v1/challenges/initialize"] {
        let method = if path.ends_with("initialize") { Method::POST } else { Method::GET };
        let request = DocumentedRequest { method: &method, path, goal: "goal-001-01", body: "" };
        checked.check(&ann, request).await;
    }
    let (_, shown) = ann.get("/challenge/v1/challenges?active_only=true").await;
    let list = json!({ "$ref": "#/components/schemas/Challenges" });
    assert_eq!(differences(&checked.document, &list, &shown), Vec::<String>::new());
    refuse_all(&mut checked, &paths).await;
    assert_eq!(checked.missing(), []);
}

/// Of a player who has claimed `goal-010-01`, and not completed `goal-001-01`.
async fn check_selections(checked: &mut CheckedResponses, ann: &Player, large: &str) {
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
        checked.check(ann, DocumentedRequest { goal, body: names, ..named }).await;
    }
    let draw = r#"{"count":50,"excludeActive":true}"#;
    for (goal, body) in [
        ("goal-003-01", draw),
        ("goal-003-01", draw),
        ("goal-003-01", r#"{"count":0}"#),
        ("goal-999-01", draw),
        ("goal-001-01", large),
    ] {
        checked.check(ann, DocumentedRequest { goal, body, ..random }).await;
    }
    let path = "/v1/challenges/{challenge_id}/rotation";
    let rotation = DocumentedRequest { method: &Method::GET, path, goal: "goal-999-01", body: "" };
    checked.check(ann, rotation).await;
}

/// While a body that does not end holds the only slot, every request of players is refused.
async fn refuse_all(checked: &mut CheckedResponses, paths: &[(String, Method)]) {
    let full = Server::start_with(&[("HTTP_MAX_IN_FLIGHT", "1")]).await;
    let ann = full.player("ann");
    let mut holder = tokio::net::TcpStream::connect(full.running.addresses.http.unwrap()).await.unwrap();
    let path = "/challenge/v1/challenges/challenge-001/goals/goal-001-01/active";
    let head =
        format!("PUT {path} HTTP/1.1\r\nhost: t\r\nx-mock-user-id: bob\r\ncontent-length: 9\r\n\r\n{{");
    holder.write_all(head.as_bytes()).await.unwrap();
    let held = async { while ann.get("/challenge/v1/challenges").await.0.as_u16() != 503 {} };
    tokio::time::timeout(std::time::Duration::from_secs(9), held).await.expect("the slot is held");
    for (path, method) in paths {
        let request = DocumentedRequest { method, path, goal: "goal-001-01", body: "{}" };
        checked.check(&ann, request).await;
    }
}

#[tokio::test]
async fn the_documentation_page_is_html_and_names_the_base_path() {
    let server = Server::start_with(&[("BASE_PATH", "/games")]).await;
    let anonymous = server.player("");
    let request = Request::get("/games/apidocs/").header("host", "test").body(Body::empty()).unwrap();
    let (status, page) = anonymous.raw(request).await.unwrap();
    assert_eq!(status.as_u16(), 200);
    assert!(page.starts_with(b"<!doctype html>"));
    let (_, document) = anonymous.get("/games/openapi.json").await;
    assert_eq!(document["servers"], json!([{ "url": "/games" }]));
}
