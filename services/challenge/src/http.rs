//! The players' HTTP API: routes, authentication, and the format of responses and refusals. The operations themselves
//! are in `operations`.

mod body;
mod claim;
mod document;
mod error;
mod guard;
mod identity;
mod initialize;
mod list;
mod path;
mod rotation;
pub mod routes;
mod select;
mod set_active;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::Bytes;
use kit::health::Health;
use kit::metrics::Metrics;

use crate::admission::Admission;
use crate::operations::Operations;
use crate::refusal::Code;
use crate::render::{InitializeTemplate, ListTemplate};
pub use error::overloaded;
use error::refusal_response;
use guard::Guard;
use routes::{Access, Route};

/// What every route needs.
pub struct Api {
    operations: Arc<Operations>,
    list: ListTemplate,
    initialize: InitializeTemplate,
    document: Bytes,
    health: Arc<Health>,
}

impl Api {
    /// Prepares the templates of the operations' catalogue, and the OpenAPI document for `base_path`.
    #[must_use]
    pub fn new(base_path: &str, operations: Arc<Operations>, health: Arc<Health>) -> Self {
        let list = ListTemplate::new(&operations.catalog);
        let initialize = InitializeTemplate::new(&operations.catalog);
        Self { operations, list, initialize, document: document::at(base_path), health }
    }
}

/// The routes below `base_path`. Requests that are not admitted are refused before any work.
pub fn router(base_path: &str, api: Arc<Api>, admission: &Admission, metrics: &Metrics) -> Router {
    let add = |router: Router<Arc<Api>>, route: Route| match route.access {
        Access::Public => router.route(route.path, route.handler),
        Access::Player => {
            let guard = Guard { endpoint: metrics.endpoint(route.name), admission: admission.clone() };
            let guard = axum::middleware::from_fn_with_state(Arc::new(guard), guard::run);
            router.route(route.path, route.handler.layer(guard))
        }
    };
    let routes = routes::all().into_iter().fold(Router::new(), add);
    let not_found = || async { refusal_response(Code::NotFound, "no such path") };
    let wrong_method = || async { refusal_response(Code::MethodNotAllowed, "the path takes another method") };
    let nested = if base_path.is_empty() { routes } else { Router::new().nest(base_path, routes) };
    nested.fallback(not_found).method_not_allowed_fallback(wrong_method).with_state(api)
}

/// Whether this process serves. Without authentication, because health checkers have no identity.
async fn healthz(axum::extract::State(api): axum::extract::State<Arc<Api>>) -> Response {
    match api.health.ready() {
        Ok(()) => json(r#"{"status":"healthy"}"#),
        Err(reason) => refusal_response(Code::Unavailable, &reason),
    }
}

fn json(body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = StatusCode::OK;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
