//! What answers the requests of a port: its routes, or what is done around each of them.
//!
//! What is done around every request of a port is not a layer of its routes: for every request, a layer of `axum` boxes a
//! copy of everything within it.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use hyper::body::Incoming;
use tonic::codegen::Service as _;

/// Answers requests.
pub trait Respond: Send + Sync + 'static {
    fn respond(&self, request: Request) -> impl Future<Output = Response> + Send;
}

impl Respond for Router {
    async fn respond(&self, request: Request) -> Response {
        // Clones share the routes, and are always ready.
        let Ok(response) = self.clone().call(request).await;
        response
    }
}

/// The response to a request, with the error type that a server expects.
pub(super) type ResponseFuture = Pin<Box<dyn Future<Output = Result<Response, Infallible>> + Send>>;

/// Any [`Respond`], shared by the connections of a port.
pub(super) type SharedResponder = Arc<dyn Fn(hyper::Request<Incoming>) -> ResponseFuture + Send + Sync>;

pub(super) fn share(responder: impl Respond) -> SharedResponder {
    let responder = Arc::new(responder);
    Arc::new(move |request| {
        let responder = Arc::clone(&responder);
        Box::pin(async move { Ok(responder.respond(request.map(Body::new)).await) })
    })
}
