//! Bodies, within bounds: of each, of all together, and in time.

use super::answer::{error, overloaded};
use axum::body::Body;
use axum::http::StatusCode;
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use http_body::Body as _;
use http_body_util::BodyExt as _;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How bodies are read.
#[derive(Debug, Clone)]
pub struct BodyBounds {
    /// Bytes of one.
    most_bytes: usize,
    /// From a request's head to its body's end.
    within: Duration,
    /// Bytes that may be held of all of them.
    budget: Arc<Semaphore>,
}

impl BodyBounds {
    /// Of one, of all together, and how long one may take.
    #[must_use]
    pub fn new(most_bytes: usize, all_bytes: usize, within: Duration) -> Self {
        Self { most_bytes, within, budget: Arc::new(Semaphore::new(all_bytes.min(Semaphore::MAX_PERMITS))) }
    }

    /// The whole body, and what holds its place in memory.
    ///
    /// # Errors
    /// With the answer, when it is too long, too slow, breaks off, or there is no memory for it.
    pub(super) async fn read(&self, body: Body) -> Result<(Bytes, Held), Response> {
        match tokio::time::timeout(self.within, self.collect(body)).await {
            Ok(read) => read,
            Err(_) => {
                let why = format!("the body did not arrive within {} s", self.within.as_secs_f64());
                Err(error(StatusCode::REQUEST_TIMEOUT, &why))
            }
        }
    }

    async fn collect(&self, mut body: Body) -> Result<(Bytes, Held), Response> {
        let mut held = Held::default();
        if body.size_hint().lower() > self.most_bytes as u64 {
            return Err(self.too_long());
        }
        let Some(first) = self.next(&mut body, (0, &mut held)).await? else {
            return Ok((Bytes::new(), held));
        };
        let Some(second) = self.next(&mut body, (first.len(), &mut held)).await? else {
            // Nearly every body comes in one piece, which is then used where it lies.
            return Ok((first, held));
        };
        let mut all = BytesMut::from(first);
        all.extend_from_slice(&second);
        while let Some(next) = self.next(&mut body, (all.len(), &mut held)).await? {
            all.extend_from_slice(&next);
        }
        Ok((all.freeze(), held))
    }

    /// The next piece. Memory is taken as pieces arrive: who announces much and sends little holds little.
    async fn next(
        &self,
        body: &mut Body,
        (before, held): (usize, &mut Held),
    ) -> Result<Option<Bytes>, Response> {
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|_| error(StatusCode::BAD_REQUEST, "the body broke off"))?;
            let Ok(data) = frame.into_data() else { continue };
            if before + data.len() > self.most_bytes {
                return Err(self.too_long());
            }
            let bytes = u32::try_from(data.len()).unwrap_or(u32::MAX);
            let taken = Arc::clone(&self.budget).try_acquire_many_owned(bytes);
            held.add(taken.map_err(|_| overloaded())?);
            return Ok(Some(data));
        }
        Ok(None)
    }

    fn too_long(&self) -> Response {
        let why = format!("the body must have at most {} bytes", self.most_bytes);
        error(StatusCode::PAYLOAD_TOO_LARGE, &why)
    }
}

/// A body's place in memory, given back when dropped.
#[derive(Debug, Default)]
pub(super) struct Held {
    place: Option<OwnedSemaphorePermit>,
}

impl Held {
    fn add(&mut self, more: OwnedSemaphorePermit) {
        match &mut self.place {
            Some(place) => place.merge(more),
            None => self.place = Some(more),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body::Frame;
    use std::collections::VecDeque;
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    /// Pieces, then an end or silence.
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
    async fn bodies_are_bounded_in_length_in_time_and_all_together() {
        let bounds = BodyBounds::new(8, 10, Duration::from_secs(3));
        assert_eq!(read(&bounds, body(&[], true)).await, Ok(Bytes::new()));
        assert_eq!(read(&bounds, body(&[b"abc"], true)).await, Ok("abc".into()));
        assert_eq!(read(&bounds, body(&[b"abc", b"def", b"gh"], true)).await, Ok("abcdefgh".into()));
        assert_eq!(read(&bounds, body(&[b"abcdefgh", b"i"], true)).await, Err(413));
        assert_eq!(read(&bounds, body(&[b"abc"], false)).await, Err(408));
        let held = bounds.read(body(&[b"abcd", b"efgh"], true)).await.unwrap();
        assert_eq!(read(&bounds, body(&[b"abc"], true)).await, Err(503));
        drop(held);
        assert_eq!(read(&bounds, body(&[b"abc"], true)).await, Ok("abc".into()));
    }
}
