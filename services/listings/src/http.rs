//! The HTTP API: every operation of the interface as a route with JSON, in the words of the interface. Callers, limits,
//! checks and responses are those of the rpc of the same name.

mod document;
mod failure;
mod input;
mod routes;

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Body;
use axum::extract::{FromRequestParts as _, RawPathParams, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, on};
use kit::metrics::{Endpoint, Metrics};
use serde::Serialize;

use crate::admission::{Admission, Admitted};
use crate::api::Api;
use crate::limiter::Origin;
use crate::methods::{self, Method};
use failure::Failure;
pub use failure::overloaded;
use input::Input;
pub use routes::{BASE, ROUTES, Route};

/// What every route needs.
struct HttpApi {
    api: Api,
    admission: Arc<Admission>,
}

/// A route with its operation and metrics, resolved once at start.
struct RoutedMethod {
    route: &'static Route,
    method: &'static Method,
    endpoint: Endpoint,
}

pub fn router(api: Api, admission: Arc<Admission>, metrics: &Metrics) -> Router {
    let mut router = Router::new().route(document::PATH, get(document::document));
    for route in ROUTES {
        // Every route has its operation and a method that axum routes by: a test of the table.
        let (Some(method), Ok(verb)) = (methods::find(route.rpc), route.verb.clone().try_into()) else {
            continue;
        };
        let routed = Arc::new(RoutedMethod { route, method, endpoint: metrics.endpoint(route.rpc) });
        let respond = move |State(http): State<Arc<HttpApi>>, request: Request| async move {
            http.respond(&routed, request).await
        };
        router = router.route(&format!("{BASE}{}", route.path), on(verb, respond));
    }
    let http = Arc::new(HttpApi { api, admission });
    let no_path = || async { Failure::NoSuchPath.into_response() };
    let wrong_method = || async { Failure::WrongMethod.into_response() };
    router.fallback(no_path).method_not_allowed_fallback(wrong_method).with_state(http)
}

impl HttpApi {
    async fn respond(&self, routed: &RoutedMethod, request: Request) -> Response {
        let started = Instant::now();
        let answer = tokio::time::timeout(routed.method.timeout, self.answer(routed, request)).await;
        let response = answer.unwrap_or(Err(Failure::TimedOut)).unwrap_or_else(Failure::into_response);
        routed.endpoint.answered(outcome(response.status()), started);
        response
    }

    async fn answer(&self, routed: &RoutedMethod, request: Request) -> Result<Response, Failure> {
        let (mut parts, body) = request.into_parts();
        let parameters = RawPathParams::from_request_parts(&mut parts, &()).await;
        let head = axum::http::Request::from_parts(parts, ());
        let Admitted { caller, permit } =
            self.admission.admit(routed.method, Origin::from_request(&head)).await?;
        #[cfg(feature = "faults")]
        let _injected = kit::faults::inject().await;
        let ids = input::ids(&parameters.map_err(|_| input::not_utf8())?)?;
        let input = Input::read(ids, head.map(|()| body)).await?;
        let response = (routed.route.handle)(self.api.clone(), caller, input).await;
        drop(permit);
        response
    }
}

fn json(status: StatusCode, message: &impl Serialize) -> Response {
    // The messages have keys of text only, so that they can be written.
    let mut response = Response::new(Body::from(serde_json::to_vec(message).unwrap_or_default()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The outcome in the metrics.
fn outcome(status: StatusCode) -> &'static str {
    match status.as_u16() {
        200 => "200",
        201 => "201",
        204 => "204",
        400 => "400",
        401 => "401",
        403 => "403",
        404 => "404",
        409 => "409",
        413 => "413",
        429 => "429",
        503 => "503",
        504 => "504",
        _ => "other",
    }
}
