//! Who may call what: every rpc and every route, tried by each kind of caller. The outcome is the table in
//! `docs/who-may-listings.md`; with `WRITE_DOCS` set, this test writes it.

mod routes;
mod rpcs;

use std::fmt::Write as _;
use std::pin::Pin;

use listings::http::BASE;
use listings::methods::METHODS;
use listings::proto::CreateListingRequest;
use tonic::transport::Channel;
use tonic::{Code, Request, Status};

use testkit::documents::{assert_routes, assert_section, table_head};
use testkit::grpc::{self, authorized, connect};
use testkit::http::request;

use crate::support::a_product;
use crate::tokens::AuthenticatedServer;
use routes::{HTTP_ROWS, HttpRow};
use rpcs::ROWS;

/// A kind of caller, the subject of its token, and the user that it acts for when it acts for itself.
struct Kind {
    name: &'static str,
    subject: Option<&'static str>,
    user: i64,
}

const KINDS: [Kind; 5] = [
    Kind { name: "no token", subject: None, user: 8 },
    Kind { name: "another user", subject: Some("8"), user: 8 },
    Kind { name: "the owner", subject: Some("7"), user: 7 },
    Kind { name: "a service", subject: Some("orders"), user: 8 },
    Kind { name: "an administrator", subject: Some("support"), user: 8 },
];

/// What an attempt is about: products of user 7 in storefront 3, made for it alone.
#[derive(Clone, Copy)]
struct Subjects {
    product: i64,
    draft: i64,
    private: i64,
    unlisted: i64,
    user: i64,
}

/// A caller's channel and token.
struct Caller {
    channel: Channel,
    token: Option<String>,
}

impl Caller {
    fn request<T>(&self, message: T) -> Request<T> {
        authorized(message, self.token.as_deref())
    }
}

/// Whether the caller got what was asked for.
type Outcome = Result<bool, Status>;
type Attempt = fn(Caller, Subjects) -> Pin<Box<dyn Future<Output = Outcome>>>;

/// An rpc, with which request, and the attempt.
struct Row {
    rpc: &'static str,
    with: &'static str,
    attempt: Attempt,
}

/// The stock-keeping unit of all drafts.
const SKU: &str = "DRAFT-1";
const PRIVATE_SKU: &str = "PRIVATE-1";
const UNLISTED_SKU: &str = "UNLISTED-1";

/// The routes of the HTTP port beside those of the operations.
const ROUTES: [&str; 10] = [
    "/api/v1/listings/openapi.json",
    "/healthz",
    "/readyz",
    "/ready",
    "/metrics",
    "/health",
    "/health/live",
    "/health/ready",
    "/health/startup",
    "/health/deep",
];

fn cell(outcome: &Outcome) -> &'static str {
    match outcome {
        Ok(true) => "yes",
        Ok(false) => "not shown",
        Err(status) => match status.code() {
            Code::NotFound => "not found",
            Code::PermissionDenied => "no",
            Code::Unauthenticated => "who?",
            code => panic!("{code:?}: {}", status.message()),
        },
    }
}

/// A server, and what each attempt needs.
struct Marketplace {
    server: AuthenticatedServer,
    channel: Channel,
}

impl Marketplace {
    async fn start() -> Self {
        let server = AuthenticatedServer::start().await;
        let channel = connect(server.server.running.addresses.grpc).await;
        let draft = CreateListingRequest { sku: Some(SKU.to_owned()), ..a_product() };
        server.draft_of(draft).await;
        Self { server, channel }
    }

    fn caller(&self, kind: &Kind) -> Caller {
        let token = kind.subject.map(|subject| self.server.bearer(subject));
        Caller { channel: self.channel.clone(), token }
    }

    async fn subjects(&self, kind: &Kind) -> Subjects {
        let of = async |visibility: &str, sku: &str| {
            let (visibility, sku) = (Some(visibility.to_owned()), Some(sku.to_owned()));
            self.server.create(CreateListingRequest { visibility, sku, ..a_product() }).await
        };
        Subjects {
            product: self.server.product().await,
            draft: self.server.draft().await,
            private: of("private", PRIVATE_SKU).await,
            unlisted: of("unlisted", UNLISTED_SKU).await,
            user: kind.user,
        }
    }

    async fn rpc(&self, row: &Row, kind: &Kind) -> &'static str {
        cell(&(row.attempt)(self.caller(kind), self.subjects(kind).await).await)
    }

    async fn http(&self, row: &HttpRow, kind: &Kind) -> &'static str {
        let client = self.server.server.http();
        row.cell(client, self.caller(kind).token.as_deref(), self.subjects(kind).await).await
    }

    /// A call of health or reflection, with an empty message.
    async fn open_rpc(&self, path: &str, kind: &Kind) -> &'static str {
        let address = self.server.server.running.addresses.grpc;
        let token = self.caller(kind).token;
        let headers = token.as_deref().map(|token| ("authorization", token));
        match grpc::call(address, path, headers.as_slice(), grpc::framed(b"")).await.status.as_str() {
            "16" => "who?",
            "7" => "no",
            _ => "yes",
        }
    }

    async fn route(&self, path: &str, kind: &Kind) -> &'static str {
        let token = self.caller(kind).token;
        let headers = token.as_deref().map(|token| ("authorization", token));
        let request = request("GET", path, headers.as_slice(), "");
        let server = &self.server.server;
        let port = if path.starts_with(BASE) { server.http() } else { server.admin() };
        let status = port.exchange(request).await.status;
        if status.is_success() { "yes" } else { panic!("{path}: {status}") }
    }
}

fn row(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

async fn table() -> String {
    let marketplace = Marketplace::start().await;
    let names = KINDS.map(|kind| kind.name);
    let mut text = table_head("rpc", &names);
    for attempted in ROWS {
        let with = if attempted.with.is_empty() { String::new() } else { format!(", {}", attempted.with) };
        let mut cells = vec![format!("{}{with}", attempted.rpc)];
        for kind in &KINDS {
            cells.push(marketplace.rpc(attempted, kind).await.to_owned());
        }
        text += &row(&cells);
    }
    for path in grpc::paths_of_every_port() {
        let mut cells = vec![path.trim_start_matches('/').to_owned()];
        for kind in &KINDS {
            cells.push(marketplace.open_rpc(&path, kind).await.to_owned());
        }
        text += &row(&cells);
    }
    let _ = write!(text, "\nOver HTTP, below `{BASE}`. `no` is 403, `who?` 401, `not found` 404.\n\n");
    text += &table_head("route", &names);
    for attempted in HTTP_ROWS {
        let mut cells = vec![attempted.name()];
        for kind in &KINDS {
            cells.push(marketplace.http(attempted, kind).await.to_owned());
        }
        text += &row(&cells);
    }
    let _ = write!(
        text,
        "\nThe other routes of that port answer everyone who reaches it; publish `/api/v1/` alone.\n\n"
    );
    text += &table_head("route", &names);
    for path in ROUTES {
        let mut cells = vec![format!("GET {path}")];
        for kind in &KINDS {
            cells.push(marketplace.route(path, kind).await.to_owned());
        }
        text += &row(&cells);
    }
    text
}

#[tokio::test]
async fn the_table_of_who_may_call_what_is_up_to_date() {
    assert_section("who-may-listings.md", "access", &table().await);
}

#[test]
fn every_rpc_and_every_route_is_tried() {
    for method in METHODS {
        assert!(ROWS.iter().any(|row| row.rpc == method.name), "{}", method.name);
    }
    for route in listings::http::ROUTES {
        let is_tried = HTTP_ROWS.iter().any(|row| row.verb == route.verb && row.path == route.path);
        assert!(is_tried, "{} {}", route.verb, route.path);
    }
    let sources = [include_str!("../../../kit/src/admin.rs"), include_str!("../../src/server/health.rs")];
    assert!(ROUTES.contains(&format!("{BASE}/openapi.json").as_str()));
    assert_routes(&sources, &ROUTES[1..]);
}
