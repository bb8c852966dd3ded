//! A body that grows while it is received.

use std::alloc::{Layout, handle_alloc_error};
use std::fmt;
use std::ops::Deref;

use memmap2::MmapMut;

use crate::body_budget::UNCOUNTED_BYTES;

/// Longer bodies have pages of their own. An allocator keeps the blocks that a body outgrows, for others; of long bodies those come to
/// as much again as the bodies themselves.
const MOST_ON_HEAP: usize = 512 << 10;

/// Bytes that grow at their end.
#[derive(Default)]
pub struct Body {
    /// All of a short body.
    short: Vec<u8>,
    /// All of a long one.
    long: Option<Box<LongBody>>,
}

/// Bytes in pages that return to the system when it is dropped or grows.
struct LongBody {
    pages: MmapMut,
    length: usize,
}

impl LongBody {
    fn with_capacity(capacity: usize) -> LongBody {
        let Ok(pages) = MmapMut::map_anon(capacity) else {
            handle_alloc_error(Layout::array::<u8>(capacity).unwrap_or(Layout::new::<u8>()))
        };
        LongBody { pages, length: 0 }
    }

    fn extend(&mut self, bytes: &[u8]) {
        let end = self.length + bytes.len();
        self.pages[self.length..end].copy_from_slice(bytes);
        self.length = end;
    }
}

impl Body {
    /// How many bytes it has space for.
    pub(crate) fn capacity(&self) -> usize {
        self.long.as_ref().map_or(self.short.capacity(), |long| long.pages.len())
    }

    /// Add `bytes` at the end. Where that needs more space, it gets space for `most` bytes at the most.
    #[inline]
    pub(crate) fn extend(&mut self, bytes: &[u8], most: usize) {
        if self.long.is_none() && bytes.len() <= self.short.capacity() - self.short.len() {
            return self.short.extend_from_slice(bytes);
        }
        self.extend_beyond(bytes, most);
    }

    #[inline(never)]
    fn extend_beyond(&mut self, bytes: &[u8], most: usize) {
        let length = self.len() + bytes.len();
        if length > self.capacity() {
            self.grow(length.next_power_of_two().min(most).max(length));
        }
        match &mut self.long {
            Some(long) => long.extend(bytes),
            None => self.short.extend_from_slice(bytes),
        }
    }

    fn grow(&mut self, capacity: usize) {
        if capacity <= MOST_ON_HEAP {
            return self.short.reserve_exact(capacity - self.short.len());
        }
        let mut longer = LongBody::with_capacity(capacity);
        longer.extend(self);
        (self.short, self.long) = (Vec::new(), Some(Box::new(longer)));
    }

    /// Forget the bytes, and keep the space of a short body.
    pub(crate) fn clear(&mut self) {
        if self.long.is_some() {
            self.long = None;
        }
        self.short.clear();
    }

    /// Keep the first bytes alone, as many as are kept without asking the budget, and no more space than that.
    #[inline]
    pub(crate) fn shorten(&mut self) {
        if self.long.is_some() || self.short.capacity() > UNCOUNTED_BYTES {
            self.shorten_long();
        }
    }

    #[inline(never)]
    fn shorten_long(&mut self) {
        if let Some(long) = self.long.take() {
            self.short = long.pages[..long.length.min(UNCOUNTED_BYTES)].to_vec();
        }
        self.short.truncate(UNCOUNTED_BYTES);
        self.short.shrink_to(UNCOUNTED_BYTES);
    }
}

impl Deref for Body {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.long {
            None => &self.short,
            Some(long) => &long.pages[..long.length],
        }
    }
}

impl From<Vec<u8>> for Body {
    fn from(short: Vec<u8>) -> Body {
        Body { short, long: None }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deref().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_what_was_added_to_it_whatever_its_length() {
        const MOST: usize = 3 << 20;
        let part: Vec<u8> = (0..=250).cycle().take(100_003).collect();
        let (mut body, mut expected) = (Body::default(), Vec::new());
        for _ in 0..30 {
            body.extend(&part, MOST);
            expected.extend_from_slice(&part);
            assert!(*body == *expected, "{}", expected.len());
            assert!((expected.len()..=MOST).contains(&body.capacity()), "{}", body.capacity());
        }
        assert_eq!((body.short.capacity(), body.capacity()), (0, MOST));
        body.shorten();
        assert!(*body == expected[..UNCOUNTED_BYTES] && body.capacity() == UNCOUNTED_BYTES);
        body.clear();
        assert!(body.is_empty() && body.capacity() == UNCOUNTED_BYTES);
        body.extend(&expected, MOST);
        body.clear();
        body.extend(b"short", MOST);
        assert!(*body == *b"short" && body.capacity() <= UNCOUNTED_BYTES);
    }
}
