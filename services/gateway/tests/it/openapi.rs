//! The API's document compared with real responses: every operation, and every refusal that a test can cause.

use std::collections::BTreeSet;

use hyper::Method;
use serde_json::{Value, json};

use crate::access::Guarded;
use crate::issuer::claims;
use crate::schema::differences;
use crate::support::{Client, Server, sample};

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

struct DocumentCheck {
    document: Value,
    seen: BTreeSet<(String, String)>,
}

impl DocumentCheck {
    /// Sends a request and compares the response with the document.
    async fn check(&mut self, client: Client, request: ApiRequest<'_>) {
        let ApiRequest { method, path, headers, body } = request;
        let (status, response) = client.request(method.clone(), path, headers, body.to_owned()).await;
        let status = status.as_str();
        let plain = path.split('?').next().unwrap();
        let operation = &self.document["paths"][plain][method.as_str().to_lowercase()];
        let mut described = &operation["responses"][status];
        if let Some(reference) = described["$ref"].as_str() {
            described = self.document.pointer(reference.trim_start_matches('#')).unwrap();
        }
        let content = &described["content"];
        assert!(content.is_object(), "{method} {path} answers {status}, which is not described: {response}");
        let schema = &content["application/json"]["schema"];
        let found = differences(&self.document, schema, &response);
        assert!(found.is_empty(), "{method} {path} {status}: {found:#?}");
        self.seen.insert((operation["operationId"].as_str().unwrap().to_owned(), status.to_owned()));
    }

    /// The operations and statuses that are described and were not seen.
    fn missed(&self) -> Vec<(String, String)> {
        let paths = self.document["paths"].as_object().unwrap().values();
        let operations = paths.flat_map(|methods| methods.as_object().unwrap().values());
        let described = operations.flat_map(|operation| {
            let id = operation["operationId"].as_str().unwrap();
            operation["responses"].as_object().unwrap().keys().map(|status| (id.to_owned(), status.clone()))
        });
        let is_elsewhere =
            |(id, status): &(String, String)| CHECKED_ELSEWHERE.contains(&(id.as_str(), status.as_str()));
        described.filter(|pair| !is_elsewhere(pair) && !self.seen.contains(pair)).collect()
    }
}

#[tokio::test]
async fn every_described_response_occurs_and_every_response_is_described() {
    let server = Server::start(&[("MAX_BODY_BYTES", "4096"), ("MAX_BATCH", "10")]).await;
    let client = server.client();
    let (_, document) = client.get("/openapi.json").await;
    let mut document_check = DocumentCheck { document, seen: BTreeSet::new() };
    let valid = sample("a", 1.0, "LOW");
    let mixed = json!([valid, { "device_id": "a" }, 7]).to_string();
    let long = " ".repeat(5000);
    for body in
        [valid.to_string(), mixed, "[]".to_owned(), "[{}]".to_owned(), "{".to_owned(), long, String::new()]
    {
        document_check.check(client, ApiRequest::telemetry(&body)).await;
    }
    let csv = ApiRequest { headers: &[("content-type", "text/csv")], ..ApiRequest::telemetry("1") };
    document_check.check(client, csv).await;
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
        document_check.check(client, ApiRequest::new(method, path)).await;
    }
    let server = Server::start(&[("FAULT_AFTER_SAMPLES", "1")]).await;
    let faulty = server.client();
    faulty.post("/start?device=a", "").await;
    faulty.send(&valid).await;
    document_check.check(faulty, ApiRequest::new(&get, "/status?device=a")).await;
    for path in ["/start?device=a", "/stop?device=a", "/reset?device=a"] {
        document_check.check(faulty, ApiRequest::new(&post, path)).await;
    }
    let server = Server::start(&[("ACCEPTED_STATUS", "200")]).await;
    document_check.check(server.client(), ApiRequest::telemetry(&valid.to_string())).await;
    check_a_full_queue(&mut document_check).await;
    check_access(&mut document_check).await;
    assert_eq!(document_check.missed(), []);
}

async fn check_a_full_queue(document_check: &mut DocumentCheck) {
    let unreachable =
        [("SINK", "redis"), ("REDIS_URL", "redis://127.0.0.1:1"), ("QUEUE_SIZE", "1"), ("MAX_BATCH", "1")];
    let server = Server::start(&unreachable).await;
    let full = server.client();
    let body = sample("a", 1.0, "LOW").to_string();
    for _ in 0..2 {
        document_check.check(full, ApiRequest::telemetry(&body)).await;
    }
}

/// No token, another device's, and any token while there are no keys.
async fn check_access(document_check: &mut DocumentCheck) {
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
        document_check.check(guarded.server.client(), request(&[])).await;
        document_check.check(guarded.server.client(), request(&authorization)).await;
        document_check.check(keyless.client(), request(&authorization)).await;
    }
}
