//! The API's document compared with real responses: every operation, and every refusal that a test can cause.

use hyper::Method;
use serde_json::json;
use testkit::http::{Client, request};
use testkit::issuer::claims;
use testkit::openapi::Document;

use crate::access::Guarded;
use crate::support::{Server, sample, send};

/// Responses that other tests check: to slow bodies, and to too many of them.
const CHECKED_ELSEWHERE: [(&str, &str); 2] = [("telemetry", "408"), ("telemetry", "429")];

/// A request whose response is compared with the document.
struct ApiRequest<'a> {
    method: &'a Method,
    path: &'a str,
    headers: &'a [(&'a str, &'a str)],
    body: &'a str,
}

impl<'a> ApiRequest<'a> {
    fn new(method: &'a Method, path: &'a str) -> Self {
        Self { method, path, headers: &[], body: "" }
    }

    fn telemetry(body: &'a str) -> Self {
        Self { body, ..Self::new(&Method::POST, "/telemetry") }
    }
}

/// Sends a request and compares the response with the document.
async fn check(document: &mut Document, client: Client, api_request: ApiRequest<'_>) {
    let ApiRequest { method, path, headers, body } = api_request;
    let response = client.exchange(request(method, path, headers, body)).await;
    document.check(method, path.split('?').next().unwrap(), &response);
}

#[tokio::test]
async fn every_described_response_occurs_and_every_response_is_described() {
    let server = Server::start(&[("MAX_BODY_BYTES", "4096"), ("MAX_BATCH", "10")]).await;
    let client = server.client();
    let (_, document) = client.get("/openapi.json").await;
    let mut document = Document::new(document);
    let valid = sample("a", 1.0, "LOW");
    let mixed = json!([valid, { "device_id": "a" }, 7]).to_string();
    let long = " ".repeat(5000);
    for body in
        [valid.to_string(), mixed, "[]".to_owned(), "[{}]".to_owned(), "{".to_owned(), long, String::new()]
    {
        check(&mut document, client, ApiRequest::telemetry(&body)).await;
    }
    let csv = ApiRequest { headers: &[("content-type", "text/csv")], ..ApiRequest::telemetry("1") };
    check(&mut document, client, csv).await;
    let (get, post) = (Method::GET, Method::POST);
    for (method, path) in [
        (&get, "/status"),
        (&get, "/status?device=a"),
        (&get, "/status?device=unknown"),
        (&get, "/status?device=a%20b"),
        (&post, "/start"),
        (&post, "/start"),
        (&post, "/reset"),
        (&post, "/stop"),
        (&post, "/stop"),
        (&get, "/health"),
        (&get, "/metrics"),
        (&get, "/openapi.json"),
    ] {
        check(&mut document, client, ApiRequest::new(method, path)).await;
    }
    let server = Server::start(&[("FAULT_AFTER_SAMPLES", "1")]).await;
    let faulty = server.client();
    faulty.post("/start?device=a", "").await;
    send(faulty, &valid).await;
    check(&mut document, faulty, ApiRequest::new(&get, "/status?device=a")).await;
    for path in ["/start?device=a", "/stop?device=a", "/reset?device=a"] {
        check(&mut document, faulty, ApiRequest::new(&post, path)).await;
    }
    let server = Server::start(&[("ACCEPTED_STATUS", "200")]).await;
    check(&mut document, server.client(), ApiRequest::telemetry(&valid.to_string())).await;
    check_a_full_queue(&mut document).await;
    check_access(&mut document).await;
    assert_eq!(document.missing(&CHECKED_ELSEWHERE), []);
}

async fn check_a_full_queue(document: &mut Document) {
    let unreachable =
        [("SINK", "redis"), ("REDIS_URL", "redis://127.0.0.1:1"), ("QUEUE_SIZE", "1"), ("MAX_BATCH", "1")];
    let server = Server::start(&unreachable).await;
    let full = server.client();
    let body = sample("a", 1.0, "LOW").to_string();
    for _ in 0..2 {
        check(document, full, ApiRequest::telemetry(&body)).await;
    }
}

/// No token, another device's, and any token while there are no keys.
async fn check_access(document: &mut Document) {
    let guarded = Guarded::start(&[]).await;
    let bearer = guarded.bearer(&claims("d-2"));
    let missing = [("AUTH_JWKS_URL", "file:///missing"), ("AUTH_ISSUER", "i")];
    let keyless = Server::start(&missing).await;
    let authorization = [("authorization", bearer.as_str())];
    let body = sample("d-1", 1.0, "LOW").to_string();
    let (get, post) = (Method::GET, Method::POST);
    for (method, path) in [
        (&post, "/telemetry"),
        (&get, "/status?device=d-1"),
        (&post, "/start"),
        (&post, "/stop"),
        (&post, "/reset"),
        (&get, "/metrics"),
    ] {
        let request = |headers| ApiRequest { method, path, headers, body: &body };
        check(document, guarded.server.client(), request(&[])).await;
        check(document, guarded.server.client(), request(&authorization)).await;
        check(document, keyless.client(), request(&authorization)).await;
    }
}
