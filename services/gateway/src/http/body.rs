//! Request bodies within bounds: on each, on all together, and on time.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::response::{error, overloaded};
use crate::settings::BodyOptions;

/// Reads bodies within bounds.
#[derive(Debug, Clone)]
pub struct BodyBounds {
    max_bytes: usize,
    /// From a request's head to its body's end.
    timeout: Duration,
    /// Bytes of all bodies that may be in memory at once.
    budget: Arc<Semaphore>,
}

impl BodyBounds {
    /// A reader with these bounds.
    #[must_use]
    pub fn new(BodyOptions { max_bytes, max_total_bytes, timeout }: BodyOptions) -> Self {
        let budget = Arc::new(Semaphore::new(max_total_bytes.min(Semaphore::MAX_PERMITS)));
        Self { max_bytes, timeout, budget }
    }

    /// The whole body, and its share of the memory budget.
    ///
    /// # Errors
    /// With the response, when the body is too long, too slow, breaks off, or there is no memory for it.
    pub(super) async fn read(&self, body: Body) -> Result<(Bytes, BodyMemory), Response> {
        match tokio::time::timeout(self.timeout, self.collect(body)).await {
            Ok(read) => read,
            Err(_) => {
                let why = format!("the body did not arrive within {} s", self.timeout.as_secs_f64());
                Err(error(StatusCode::REQUEST_TIMEOUT, &why))
            }
        }
    }

    async fn collect(&self, mut body: Body) -> Result<(Bytes, BodyMemory), Response> {
        let mut memory = BodyMemory::default();
        if body.size_hint().lower() > self.max_bytes as u64 {
            return Err(self.too_long());
        }
        let Some(first) = self.next(&mut body, 0, &mut memory).await? else {
            return Ok((Bytes::new(), memory));
        };
        let Some(second) = self.next(&mut body, first.len(), &mut memory).await? else {
            // Nearly every body arrives in one piece, which is then used without a copy.
            return Ok((first, memory));
        };
        let mut all = BytesMut::from(first);
        all.extend_from_slice(&second);
        while let Some(next) = self.next(&mut body, all.len(), &mut memory).await? {
            all.extend_from_slice(&next);
        }
        Ok((all.freeze(), memory))
    }

    /// The next piece of a body of which `before` bytes were read. Memory is taken from the budget as pieces arrive,
    /// not by the announced length.
    async fn next(
        &self,
        body: &mut Body,
        before: usize,
        memory: &mut BodyMemory,
    ) -> Result<Option<Bytes>, Response> {
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| error(StatusCode::BAD_REQUEST, "the body broke off"))?;
            let Ok(data) = frame.into_data() else { continue };
            if before + data.len() > self.max_bytes {
                return Err(self.too_long());
            }
            let bytes = u32::try_from(data.len()).unwrap_or(u32::MAX);
            let taken = Arc::clone(&self.budget).try_acquire_many_owned(bytes);
            memory.add(taken.map_err(|_| overloaded())?);
            return Ok(Some(data));
        }
        Ok(None)
    }

    fn too_long(&self) -> Response {
        let why = format!("the body must have at most {} bytes", self.max_bytes);
        error(StatusCode::PAYLOAD_TOO_LARGE, &why)
    }
}

/// A body's share of the memory budget, returned when dropped.
#[derive(Debug, Default)]
pub(super) struct BodyMemory {
    permit: Option<OwnedSemaphorePermit>,
}

impl BodyMemory {
    fn add(&mut self, more: OwnedSemaphorePermit) {
        match &mut self.permit {
            Some(permit) => permit.merge(more),
            None => self.permit = Some(more),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use http_body::Frame;

    use super::*;

    /// Pieces, then the end of the body or nothing more.
    struct Pieces {
        pieces: VecDeque<&'static [u8]>,
        ends: bool,
    }

    impl http_body::Body for Pieces {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _context: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            match self.pieces.pop_front() {
                Some(piece) => Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(piece))))),
                None if self.ends => Poll::Ready(None),
                None => Poll::Pending,
            }
        }
    }

    fn body(pieces: &[&'static [u8]], ends: bool) -> Body {
        Body::new(Pieces { pieces: pieces.iter().copied().collect(), ends })
    }

    async fn read(bounds: &BodyBounds, body: Body) -> Result<Bytes, u16> {
        bounds.read(body).await.map(|(bytes, _)| bytes).map_err(|refused| refused.status().as_u16())
    }

    #[tokio::test(start_paused = true)]
    async fn bodies_are_bounded_in_length_in_time_and_in_total() {
        let bounds = BodyBounds::new(BodyOptions {
            max_bytes: 8,
            max_total_bytes: 10,
            timeout: Duration::from_secs(3),
        });
        assert_eq!(read(&bounds, body(&[], true)).await, Ok(Bytes::new()));
        assert_eq!(read(&bounds, body(&[b"abc"], true)).await, Ok("abc".into()));
        assert_eq!(read(&bounds, body(&[b"abc", b"def", b"gh"], true)).await, Ok("abcdefgh".into()));
        assert_eq!(read(&bounds, body(&[b"abcdefgh", b"i"], true)).await, Err(413));
        assert_eq!(read(&bounds, body(&[b"abc"], false)).await, Err(408));
        let in_memory = bounds.read(body(&[b"abcd", b"efgh"], true)).await.unwrap();
        assert_eq!(read(&bounds, body(&[b"abc"], true)).await, Err(503));
        drop(in_memory);
        assert_eq!(read(&bounds, body(&[b"abc"], true)).await, Ok("abc".into()));
    }
}
