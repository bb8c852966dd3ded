//! Who may call what: every route and every kind of caller, compared with the table in `docs/gateway.md`.
//!
//! `WRITE_DOCS=1 cargo test -p gateway every_route` writes the table.

use gateway::http::routes;
use hyper::{Method, StatusCode};
use kit::process::Service;
use serde_json::{Value, json};

use testkit::documents::{assert_routes, assert_section};
use testkit::http::{Client, request};
use testkit::issuer::{KeyServer, Signer, claims, claims_with};

use crate::support::{Server, sample};

/// The routes of the operators' port.
const OPERATORS: [&str; 4] = ["/healthz", "/readyz", "/ready", "/metrics"];
pub(crate) const ROLES: [(&str, &str); 3] = [
    ("AUTH_NAMESPACE", "accelbyte"),
    ("SERVICE_SUBJECTS", "loader, importer"),
    ("ADMIN_SUBJECTS", "operator"),
];

/// A gateway that verifies tokens, and the issuer of the tokens.
pub(crate) struct Guarded {
    pub(crate) server: Server,
    signer: Signer,
}

impl Guarded {
    pub(crate) async fn start(more: &[(&str, &str)]) -> Self {
        let signer = Signer::ec("e");
        let keys = KeyServer::start(&[&signer]).await;
        let server = Server::start(&[keys.settings().as_slice(), &ROLES, more].concat()).await;
        server.running.ready().await;
        Self { server, signer }
    }

    /// The header of a token with these claims.
    pub(crate) fn bearer(&self, claims: &Value) -> String {
        format!("Bearer {}", self.signer.token(claims))
    }

    async fn post(&self, subject: &str, path: &str, body: &Value) -> (StatusCode, Value) {
        let bearer = self.bearer(&claims(subject));
        let headers = [("authorization", bearer.as_str())];
        self.server.client().request(Method::POST, path, &headers, body.to_string()).await
    }

    async fn state(&self, device: &str) -> Value {
        let bearer = self.bearer(&claims("operator"));
        let headers = [("authorization", bearer.as_str())];
        let path = format!("/status?device={device}");
        self.server.client().request(Method::GET, &path, &headers, "").await.1["state"].clone()
    }
}

/// Whether a caller gets past the check: `yes`, or the status of the refusal.
async fn cell(client: Client, method: &Method, path: &str, authorization: Option<&str>) -> String {
    let headers: Vec<_> = authorization.map(|value| ("authorization", value)).into_iter().collect();
    let body = sample("d-1", 1.0, "LOW").to_string();
    let request = request(method.clone(), &format!("{path}?device=d-1"), &headers, body);
    let response = client.exchange(request).await;
    let challenge = response.headers.get("www-authenticate");
    match response.status {
        // A command may be refused by the device's state, too.
        StatusCode::OK | StatusCode::ACCEPTED | StatusCode::BAD_REQUEST => "yes".to_owned(),
        refused => {
            assert_eq!(challenge.is_some(), refused == StatusCode::UNAUTHORIZED, "{path}");
            refused.as_u16().to_string()
        }
    }
}

#[tokio::test]
async fn every_route_and_caller_is_as_documented() {
    let guarded = Guarded::start(&[]).await;
    let foreign = claims_with("d-1", json!({ "namespace": "other" }));
    let named = ["d-2", "d-1", "loader", "operator"].map(claims).map(|claims| guarded.bearer(&claims));
    let callers = [None, Some(guarded.bearer(&foreign))].into_iter().chain(named.map(Some));
    let callers: Vec<Option<String>> = callers.collect();
    let mut table = "| Route | no token | a device of another namespace | another device | the device | a service | an administrator |\n".to_owned();
    table += "| --- | --- | --- | --- | --- | --- | --- |\n";
    let (main, admin) = (guarded.server.client(), guarded.server.admin());
    let routes = routes::all().into_iter().map(|route| (route.method, route.path, main, ""));
    let operators = OPERATORS.map(|path| (Method::GET, path, admin, "admin port: "));
    for (method, path, client, port) in routes.chain(operators) {
        table += &format!("| {port}`{method} {path}` |");
        for caller in &callers {
            table += &format!(" {} |", cell(client, &method, path, caller.as_deref()).await);
        }
        table += "\n";
    }
    assert_section("gateway.md", "access", &table);
}

#[test]
fn every_route_of_the_operators_port_is_tried() {
    assert_routes(&[include_str!("../../../kit/src/admin.rs")], &OPERATORS);
}

#[tokio::test]
async fn a_device_changes_nothing_of_another_device() {
    let guarded = Guarded::start(&[]).await;
    let ok = StatusCode::OK;
    assert_eq!(guarded.post("operator", "/start?device=d-1", &Value::Null).await.0, ok);
    // Five invalid samples of a measuring device would put it into `Error`.
    let invalid: Vec<Value> = (0..5).map(|_| sample("d-1", 1e300, "LOW")).collect();
    let mixed = json!([sample("d-2", 1.0, "LOW"), sample("d-1", 1.0, "LOW")]);
    for body in [sample("d-1", 1.0, "LOW"), invalid.into(), mixed] {
        let (status, response) = guarded.post("d-2", "/telemetry", &body).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{response}");
        assert_eq!(response["error"], "the token is another device's", "{body}");
    }
    assert_eq!(guarded.state("d-1").await, "Measuring");
    assert_eq!(guarded.state("d-2").await, Value::Null, "nothing was accepted of the batch");
    let own = guarded.post("d-2", "/telemetry", &sample("d-2", 1.0, "LOW")).await;
    assert_eq!(own.0, StatusCode::ACCEPTED, "{}", own.1);
}

#[tokio::test]
async fn a_request_that_names_no_device_is_for_the_tokens_device() {
    let guarded = Guarded::start(&[]).await;
    guarded.post("d-1", "/telemetry", &sample("d-1", 1.0, "LOW")).await;
    let bearer = guarded.bearer(&claims("d-1"));
    let headers = [("authorization", bearer.as_str())];
    let (status, response) = guarded.server.client().request(Method::GET, "/status", &headers, "").await;
    assert_eq!((status, &response["device"]), (StatusCode::OK, &"d-1".into()));
}

#[tokio::test]
async fn a_gateway_without_keys_is_not_ready_and_refuses_for_now() {
    let signer = Signer::ec("e");
    let keys = KeyServer::start(&[&signer]).await;
    keys.set_down(true);
    let server = Server::start(&[keys.settings().as_slice(), &ROLES].concat()).await;
    let bearer = format!("Bearer {}", signer.token(&claims("d-1")));
    let headers = [("authorization", bearer.as_str())];
    let body = sample("d-1", 1.0, "LOW").to_string();
    let send = async || server.client().request(Method::POST, "/telemetry", &headers, &body).await.0;
    assert_eq!(send().await, StatusCode::SERVICE_UNAVAILABLE);
    for path in ["/readyz", "/ready"] {
        assert_eq!(server.admin().get(path).await.0, StatusCode::SERVICE_UNAVAILABLE);
    }
    keys.set_down(false);
    server.running.ready().await;
    assert_eq!(send().await, StatusCode::ACCEPTED);
    assert_eq!(server.admin().get("/readyz").await.0, StatusCode::OK);
}
