//! Streams of health and reflection. Their clients keep them open for as long as they run, so they end when the drain
//! begins; otherwise each would hold it up until its time is over.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::{Body, HttpBody};
use axum::http::{HeaderMap, HeaderValue};
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use tonic::{Code, Status};

use super::health_path::HEALTH_PATH;
use super::respond::SharedResponder;
use crate::drain::Draining;

/// How the paths begin of services whose streams have no end.
const ENDLESS: [&str; 2] = [HEALTH_PATH, "/grpc.reflection."];

/// The same responses; those of services without an end to their streams end when the drain begins.
pub(super) fn end_with_drain(responder: SharedResponder, draining: Draining) -> SharedResponder {
    Arc::new(move |request| {
        let path = request.uri().path();
        let is_endless = ENDLESS.iter().any(|service| path.starts_with(service));
        let responding = responder(request);
        if !is_endless {
            return responding;
        }
        let mut draining = draining.clone();
        let drained = Box::pin(async move { draining.begun().await });
        Box::pin(async move { Ok(responding.await?.map(|body| Body::new(UntilDrain::new(body, drained)))) })
    })
}

type Drained = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A body that ends when nothing more is in it and the drain has begun.
struct UntilDrain {
    body: Body,
    /// `None` after the end.
    drained: Option<Drained>,
}

impl UntilDrain {
    fn new(body: Body, drained: Drained) -> Self {
        Self { body, drained: Some(drained) }
    }
}

impl HttpBody for UntilDrain {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = self.get_mut();
        let Some(drained) = &mut this.drained else { return Poll::Ready(None) };
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(context) {
            return Poll::Ready(frame);
        }
        ready!(drained.as_mut().poll(context));
        this.drained = None;
        let mut trailers = HeaderMap::new();
        trailers.insert(Status::GRPC_STATUS, HeaderValue::from(Code::Unavailable as i32));
        Poll::Ready(Some(Ok(Frame::trailers(trailers))))
    }

    fn is_end_stream(&self) -> bool {
        self.drained.is_none() || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
