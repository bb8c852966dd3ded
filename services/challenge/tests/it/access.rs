//! Who may call what: every route and rpc with every kind of caller, compared with the table in
//! `docs/who-may-challenge.md`.
//!
//! `WRITE_DOCS=1 cargo test -p challenge --features profiling access` writes the tables.

use std::net::SocketAddr;

#[cfg(feature = "profiling")]
use axum::body::Body;
use challenge::http::routes;
use challenge::proto::{EVENTS, PLAYERS};
use hyper::Method;
#[cfg(feature = "profiling")]
use hyper::Request;
use serde_json::json;
use testkit::documents::{assert_routes, assert_section};
use testkit::grpc;
use testkit::http::{Client, request};
use testkit::issuer::{KeyServer, Signer, claims, claims_with};

use crate::support::Server;

/// The routes of the operators' port.
const OPERATORS: [&str; 4] = ["/healthz", "/readyz", "/ready", "/metrics"];
/// Those that it has with `PROFILING=on` besides.
const PROFILES: [&str; 5] =
    ["/debug/pprof", "/debug/pprof/", "/debug/pprof/profile", "/debug/pprof/heap", "/debug/pprof/allocs"];
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
async fn http_cell(
    address: SocketAddr,
    method_and_path: (&Method, &str),
    authorization: Option<&str>,
) -> String {
    let (method, path) = method_and_path;
    let headers = authorization.map(|value| ("authorization", value));
    // Makes the goal inactive, if that is what the route does.
    let request = request(method, path, headers.as_slice(), r#"{"isActive":false}"#);
    cell(Client::new(address).exchange(request).await.status.as_u16())
}

fn cell(status: u16) -> String {
    match status {
        refused @ (401 | 403) => refused.to_string(),
        _ => "yes".to_owned(),
    }
}

/// The same over gRPC, with an empty message.
async fn grpc_cell(address: SocketAddr, rpc: &str, authorization: Option<&str>) -> String {
    let headers = authorization.map(|value| ("authorization", value));
    match grpc::call(address, rpc, headers.as_slice(), grpc::framed(b"")).await.status.as_str() {
        "16" => "unauthenticated".to_owned(),
        "7" => "permission denied".to_owned(),
        _ => "yes".to_owned(),
    }
}

async fn table(server: &Server, credentials: &[Option<String>]) -> String {
    let addresses = server.running.addresses;
    let mut table = format!("| | {} |\n|{}\n", CALLERS.join(" | "), " --- |".repeat(CALLERS.len() + 1));
    let players = routes::all().into_iter().map(|route| {
        let path = route.path.replace("{challenge_id}", "challenge-010").replace("{goal_id}", LOGIN_GOAL);
        (addresses.http.unwrap(), route.method, route.path, format!("/challenge{path}"), "")
    });
    let operators =
        OPERATORS.map(|path| (addresses.admin, Method::GET, path, path.to_owned(), "admin port: "));
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
        for rpc in grpc::paths(descriptors).into_iter().chain(grpc::paths_of_every_port()) {
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
    assert_section("who-may-challenge.md", "access", &table);
}

#[test]
fn every_route_of_the_operators_port_is_tried() {
    let sources =
        [include_str!("../../../kit/src/admin.rs"), include_str!("../../../kit/src/profiling/routes.rs")];
    assert_routes(&sources, &[&OPERATORS[..], &PROFILES].concat());
}

/// Builds without profiles cannot send these requests, but their document must have the routes.
#[test]
fn the_documented_profiles_are_all_there_are() {
    let document = include_str!("../../../../docs/who-may-challenge.md");
    let (_, profiles) = document.split_once("<!-- begin profiles -->").unwrap();
    let rows = profiles.split("| admin port: `GET ").skip(1);
    assert_eq!(rows.map(|row| row.split('`').next().unwrap()).collect::<Vec<_>>(), PROFILES);
}

/// A caller on this machine needs no token, so these requests come from another.
#[cfg(feature = "profiling")]
#[tokio::test]
async fn profiles_are_for_the_callers_that_are_documented() {
    use hyper::service::Service as _;

    let on = [(kit::profiling::VARIABLE, "on")];
    kit::profiling::start(&kit::env::Env::from_pairs(on)).unwrap();
    let signer = Signer::ec("e");
    let keys = KeyServer::start(&[&signer]).await;
    let database = testkit::data::TestDatabase::new();
    let settings = crate::database::settings(&database, &crate::publishers::settings(&keys));
    let metrics = kit::metrics::Metrics::new("challenge");
    let identity = std::sync::Arc::new(kit::auth::Identity::start(settings.tokens, settings.roles, &metrics));
    identity.ready().await;
    let routes = hyper_util::service::TowerToHyperService::new(kit::profiling::routes(identity));
    let mut table = format!("| | {} |\n|{}\n", CALLERS.join(" | "), " --- |".repeat(CALLERS.len() + 1));
    for path in PROFILES {
        let mut cells = Vec::new();
        for authorization in credentials(&signer) {
            // Callers that may take a profile are refused at once because this one takes too short.
            let mut request = Request::get(format!("{path}?seconds=0&debug=1"));
            if let Some(authorization) = authorization {
                request = request.header("authorization", authorization);
            }
            let mut request = request.body(Body::empty()).unwrap();
            request.extensions_mut().insert(kit::serve::Peer("192.0.2.1:1".parse().unwrap()));
            cells.push(cell(routes.call(request).await.unwrap().status().as_u16()));
        }
        rows(&mut table, &format!("admin port: `GET {path}`"), &cells);
    }
    assert_section("who-may-challenge.md", "profiles", &table);
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
    for authorization in &credentials(&signer)[..CALLERS.len() - 1] {
        for route in routes::all() {
            let path = route.path.replace("{challenge_id}", "challenge-010").replace("{goal_id}", LOGIN_GOAL);
            let uri = format!("/challenge{path}?user_id=ann&userId=ann");
            let mut headers = vec![("x-mock-user-id", "ann"), ("x-user-id", "ann")];
            headers.extend(authorization.as_deref().map(|value| ("authorization", value)));
            let body = r#"{"isActive":false,"userId":"ann","user_id":"ann"}"#;
            let (_, answer) = server.http().request(route.method, &uri, &headers, body).await;
            assert!(!answer.to_string().contains(r#""status":"completed""#), "{} {answer}", route.path);
        }
    }
    assert_eq!(server.count(state), 10, "nothing of hers changed");
    assert_eq!(server.count("SELECT count(*) FROM reward_ledger"), 0);
}
