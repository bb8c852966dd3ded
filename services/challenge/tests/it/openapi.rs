//! The API's document against real answers: every operation, what it does and every refusal that can be brought about.

use crate::schema::differences;
use crate::support::{Player, Server};
use axum::body::Body;
use hyper::{Method, Request};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tokio::io::AsyncWriteExt;

const BASE: &str = "/challenge";

/// Answers that other tests bring about: tokens' 403, a trickling body's 408, a failing reward's 502, and what health
/// says without a store.
const ELSEWHERE: [(&str, &str); 4] = [("", "403"), ("", "408"), ("", "502"), ("health", "503")];

struct Asked {
    document: Value,
    seen: BTreeSet<(String, String)>,
}

impl Asked {
    /// Asks and holds the answer against the document; `path` is as the document has it.
    async fn ask(
        &mut self,
        player: &Player,
        (method, path): (&Method, &str),
        (goal, body): (&str, &str),
    ) -> Value {
        let real =
            path.replace("{challenge_id}", &format!("challenge-{}", &goal[5..8])).replace("{goal_id}", goal);
        let (status, answer) = player.send(method.clone(), &format!("{BASE}{real}"), body).await;
        let status = status.as_str();
        let operation = &self.document["paths"][path][method.as_str().to_lowercase()];
        let mut described = &operation["responses"][status];
        if let Some(reference) = described["$ref"].as_str() {
            described = self.document.pointer(reference.trim_start_matches('#')).unwrap();
        }
        let content = &described["content"];
        assert!(content.is_object(), "{method} {path} answers {status}, which is not described: {answer}");
        if let Some(schema) = content["application/json"].get("schema") {
            let found = differences(&self.document, schema, &answer);
            assert!(found.is_empty(), "{method} {path} {status}: {found:#?}");
        }
        let id = operation["operationId"].as_str().unwrap();
        self.seen.insert((id.to_owned(), status.to_owned()));
        answer
    }

    /// What is described and was not seen.
    fn missed(&self) -> Vec<(String, String)> {
        let paths = self.document["paths"].as_object().unwrap().values();
        let operations = paths.flat_map(|methods| methods.as_object().unwrap().values());
        let described = operations.flat_map(|operation| {
            let id = operation["operationId"].as_str().unwrap();
            operation["responses"].as_object().unwrap().keys().map(|status| (id.to_owned(), status.clone()))
        });
        let is_ours = |(id, status): &(String, String)| {
            !ELSEWHERE.iter().any(|(other, seen)| status == seen && (other.is_empty() || id == other))
        };
        described.filter(|pair| is_ours(pair) && !self.seen.contains(pair)).collect()
    }
}

#[tokio::test]
async fn every_described_answer_is_given_and_every_given_answer_is_described() {
    let server = Server::start().await;
    let (ann, nobody) = (server.player("ann"), server.player(""));
    let (_, document) = nobody.get("/challenge/openapi.json").await;
    let mut asked = Asked { document, seen: BTreeSet::new() };
    let paths: Vec<(String, Method)> = asked.document["paths"]
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
        asked.ask(&nobody, (method, path), ("goal-001-01", "{}")).await;
        asked.ask(&ann, (method, path), ("goal-001-01", r#"{"isActive":true}"#)).await;
    }
    for body in ["{", large.as_str(), r#"{"is_active":false}"#] {
        asked.ask(&ann, (&Method::PUT, active), ("goal-001-02", body)).await;
    }
    asked.ask(&ann, (&Method::PUT, active), ("goal-001-05", r#"{"isActive":true}"#)).await;
    publisher.tell("ann", "items_crafted", 50.0).await.unwrap();
    publisher.tell("ann", "enemy_kills", 3.0).await.unwrap();
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
        asked.ask(&ann, (&Method::POST, claim), (goal, "")).await;
        asked.ask(&ann, (&Method::PUT, active), (goal, r#"{"isActive":true}"#)).await;
    }
    for path in ["/v1/challenges", "/v1/challenges/initialize"] {
        let method = if path.ends_with("initialize") { Method::POST } else { Method::GET };
        asked.ask(&ann, (&method, path), ("goal-001-01", "")).await;
    }
    let (_, shown) = ann.get("/challenge/v1/challenges?active_only=true").await;
    let list = json!({ "$ref": "#/components/schemas/Challenges" });
    assert_eq!(differences(&asked.document, &list, &shown), Vec::<String>::new());
    refuse_all(&mut asked, &paths).await;
    assert_eq!(asked.missed(), []);
}

/// While a body that does not end holds the only place, everything of players' is refused.
async fn refuse_all(asked: &mut Asked, paths: &[(String, Method)]) {
    let full = Server::start_with(&[("HTTP_MAX_IN_FLIGHT", "1")]).await;
    let ann = full.player("ann");
    let mut holder = tokio::net::TcpStream::connect(full.running.addresses.http.unwrap()).await.unwrap();
    let path = "/challenge/v1/challenges/challenge-001/goals/goal-001-01/active";
    let head =
        format!("PUT {path} HTTP/1.1\r\nhost: t\r\nx-mock-user-id: bob\r\ncontent-length: 9\r\n\r\n{{");
    holder.write_all(head.as_bytes()).await.unwrap();
    let held = async { while ann.get("/challenge/v1/challenges").await.0.as_u16() != 503 {} };
    tokio::time::timeout(std::time::Duration::from_secs(9), held).await.expect("the place is held");
    for (path, method) in paths {
        asked.ask(&ann, (method, path), ("goal-001-01", "{}")).await;
    }
}

#[tokio::test]
async fn the_page_for_people_is_html_that_may_load_nothing_from_elsewhere() {
    let server = Server::start_with(&[("BASE_PATH", "/games")]).await;
    let nobody = server.player("");
    let request = Request::get("/games/apidocs/").header("host", "test").body(Body::empty()).unwrap();
    let (status, page) = nobody.raw(request).await.unwrap();
    assert_eq!(status.as_u16(), 200);
    assert!(page.starts_with(b"<!doctype html>"));
    let (_, document) = nobody.get("/games/openapi.json").await;
    assert_eq!(document["servers"], json!([{ "url": "/games" }]));
}
