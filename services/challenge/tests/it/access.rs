//! Who may call what: every route and rpc with every kind of caller, compared with the table in
//! `docs/who-may-challenge.md`.
//!
//! `WRITE_DOCS=1 cargo test -p challenge every_route_and_rpc` writes the table.

use std::net::SocketAddr;
use std::path::Path;

use axum::body::Body;
use challenge::http::routes;
use challenge::proto::{EVENTS, PLAYERS};
use http_body_util::BodyExt;
use hyper::{Method, Request};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use prost_types::FileDescriptorSet;
use serde_json::json;

use crate::issuer::{KeyServer, Signer, claims, claims_with};
use crate::support::{Player, Server};

const LOGIN_GOAL: &str = "goal-010-01";
/// Those whose requests must change nothing of the user come before the user.
const CALLERS: [&str; 6] = [
    "no credential",
    "a user of another namespace",
    "another user",
    "a service",
    "an administrator",
    "the user",
];

/// The `Authorization` of each of [`CALLERS`].
fn credentials(signer: &Signer) -> [Option<String>; CALLERS.len()] {
    let foreign = claims_with("ann", json!({"namespace": "other"}));
    let named = ["bob", "publisher", "operator", "ann"].map(claims);
    let [bob, publisher, operator, ann] = named.map(|claims| Some(signer.token(&claims)));
    [None, Some(signer.token(&foreign)), bob, publisher, operator, ann]
        .map(|token| token.map(|token| format!("Bearer {token}")))
}

fn rows(table: &mut String, what: &str, cells: &[String]) {
    *table += &format!("| {what} | {} |\n", cells.join(" | "));
}

/// `yes` when the caller gets past the check, whatever the operation's result, or the status of the refusal.
async fn http_cell(address: SocketAddr, request: (&Method, &str), authorization: Option<&str>) -> String {
    let (method, path) = request;
    let mut request = Request::builder().method(method).uri(path).header("host", "test");
    if let Some(authorization) = authorization {
        request = request.header("authorization", authorization);
    }
    // Makes the goal inactive, if that is what the route does.
    let request = request.body(Body::from(r#"{"isActive":false}"#)).unwrap();
    match Player::new(address, "").raw(request).await.unwrap().0.as_u16() {
        refused @ (401 | 403) => refused.to_string(),
        _ => "yes".to_owned(),
    }
}

/// The same over gRPC, with an empty message.
async fn grpc_cell(address: SocketAddr, rpc: &str, authorization: Option<&str>) -> String {
    let stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
    let (mut sender, connection) = handshake.await.unwrap();
    tokio::spawn(connection);
    let request = Request::post(format!("http://{address}{rpc}"));
    let mut request = request.header("content-type", "application/grpc").header("te", "trailers");
    if let Some(authorization) = authorization {
        request = request.header("authorization", authorization);
    }
    let response = sender.send_request(request.body(Body::from(vec![0; 5])).unwrap()).await.unwrap();
    let head = response.headers().get("grpc-status").cloned();
    let trailers = response.into_body().collect().await.unwrap().trailers().cloned().unwrap_or_default();
    let status = head.or_else(|| trailers.get("grpc-status").cloned()).unwrap();
    match status.to_str().unwrap() {
        "16" => "unauthenticated".to_owned(),
        "7" => "permission denied".to_owned(),
        _ => "yes".to_owned(),
    }
}

/// The rpcs of a port as paths: its own, and those that every port has.
fn rpcs(descriptors: &[u8]) -> Vec<String> {
    let set = FileDescriptorSet::decode(descriptors).unwrap();
    let mut paths = Vec::new();
    for file in &set.file {
        for service in &file.service {
            let methods = service.method.iter().map(|method| method.name());
            paths.extend(methods.map(|method| format!("/{}.{}/{method}", file.package(), service.name())));
        }
    }
    let every_port =
        ["/grpc.health.v1.Health/Check", "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"];
    paths.extend(every_port.map(str::to_owned));
    paths
}

async fn table(server: &Server, credentials: &[Option<String>]) -> String {
    let addresses = server.running.addresses;
    let mut table = format!("| | {} |\n|{}\n", CALLERS.join(" | "), " --- |".repeat(CALLERS.len() + 1));
    let players = routes::all().into_iter().map(|route| {
        let path = route.path.replace("{challenge_id}", "challenge-010").replace("{goal_id}", LOGIN_GOAL);
        (addresses.http.unwrap(), route.method, route.path, format!("/challenge{path}"), "")
    });
    let operators = ["/healthz", "/readyz", "/ready", "/metrics"]
        .map(|path| (addresses.admin, Method::GET, path, path.to_owned(), "admin port: "));
    for (address, method, documented, path, port) in players.chain(operators) {
        let mut cells = Vec::new();
        for authorization in credentials {
            cells.push(http_cell(address, (&method, &path), authorization.as_deref()).await);
        }
        rows(&mut table, &format!("{port}`{method} {documented}`"), &cells);
    }
    for (address, descriptors, port) in
        [(addresses.grpc, PLAYERS, "gRPC port"), (addresses.events, EVENTS, "event port")]
    {
        for rpc in rpcs(descriptors) {
            let mut cells = Vec::new();
            for authorization in credentials {
                cells.push(grpc_cell(address.unwrap(), &rpc, authorization.as_deref()).await);
            }
            rows(&mut table, &format!("{port}: `{rpc}`"), &cells);
        }
    }
    table
}

#[tokio::test]
async fn every_route_and_rpc_and_caller_is_as_documented() {
    let signer = Signer::ec("e");
    let keys = KeyServer::start(&[&signer]).await;
    let server = Server::start_with(&crate::publishers::settings(&keys)).await;
    let table = table(&server, &credentials(&signer)).await;
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/who-may-challenge.md");
    assert_eq!(peers::document::section(&file, "access", &table).unwrap(), table);
}

/// Every caller but the user tries every route, also with the user's name in every place that could name one.
#[tokio::test]
async fn no_other_caller_reads_or_changes_anything_of_a_user() {
    let signer = Signer::ec("e");
    let keys = KeyServer::start(&[&signer]).await;
    let server = Server::start_with(&crate::publishers::settings(&keys)).await;
    crate::publishers::log_in(&server, &signer.token(&claims("publisher")), "ann").await;
    let state =
        "SELECT count(*) FROM user_goal_progress WHERE user_id = 'ann' AND is_active AND claimed_at IS NULL";
    assert_eq!(server.count(state), 10);
    let http = server.running.addresses.http.unwrap();
    for authorization in &credentials(&signer)[..CALLERS.len() - 1] {
        for route in routes::all() {
            let path = route.path.replace("{challenge_id}", "challenge-010").replace("{goal_id}", LOGIN_GOAL);
            let uri = format!("/challenge{path}?user_id=ann&userId=ann");
            let mut request = Request::builder().method(route.method).uri(uri).header("host", "test");
            request = request.header("x-mock-user-id", "ann").header("x-user-id", "ann");
            if let Some(authorization) = authorization {
                request = request.header("authorization", authorization);
            }
            let body = Body::from(r#"{"isActive":false,"userId":"ann","user_id":"ann"}"#);
            let (_, answer) = Player::new(http, "").exchange(request.body(body).unwrap()).await.unwrap();
            assert!(!answer.to_string().contains(r#""status":"completed""#), "{} {answer}", route.path);
        }
    }
    assert_eq!(server.count(state), 10, "nothing of hers changed");
    assert_eq!(server.count("SELECT count(*) FROM reward_ledger"), 0);
}
