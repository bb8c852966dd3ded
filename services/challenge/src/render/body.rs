//! A response body of known length made of shared slices.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// Above this many slices, one copy costs less than passing them to the kernel one by one.
const MAX_SLICES: usize = 64;

/// Slices in order. Empty ones are left out.
#[derive(Debug, Default)]
pub struct Chunks {
    slices: std::vec::IntoIter<Bytes>,
    left_bytes: u64,
}

impl Chunks {
    pub(super) fn new(slices: Vec<Bytes>) -> Self {
        let total: usize = slices.iter().map(Bytes::len).sum();
        let slices = if slices.len() > MAX_SLICES {
            let mut joined = Vec::with_capacity(total);
            slices.iter().for_each(|slice| joined.extend_from_slice(slice));
            vec![Bytes::from(joined)]
        } else {
            slices
        };
        Self { slices: slices.into_iter(), left_bytes: total as u64 }
    }

    /// The whole body as one text, for tests and for transports without slices.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.slices.flat_map(Bytes::into_iter).collect()
    }
}

impl Body for Chunks {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = self.slices.find(|slice| !slice.is_empty());
        self.left_bytes -= next.as_ref().map_or(0, |slice| slice.len() as u64);
        Poll::Ready(next.map(|slice| Ok(Frame::data(slice))))
    }

    fn is_end_stream(&self) -> bool {
        self.left_bytes == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left_bytes)
    }
}
