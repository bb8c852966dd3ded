//! Bytes on their way to the socket.

/// Capacity that is kept once everything is sent, whatever was sent before.
const KEPT_BYTES: usize = 64 << 10;
/// Capacity that is kept at most, where requests need it again and again.
const MOST_KEPT_BYTES: usize = 1 << 20;
/// Sent bytes that may lie before the unsent ones until they are moved away.
const SLACK_BYTES: usize = 64 << 10;

/// A buffer that is filled at its end and sent from its front.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    bytes: Vec<u8>,
    sent: usize,
    /// The length of what was sent before the buffer was last empty.
    previous: usize,
}

impl Outgoing {
    #[inline]
    pub(crate) fn unsent(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.sent == self.bytes.len()
    }

    /// Drop `count` bytes from the front; more than there are counts as all.
    #[inline]
    pub(crate) fn advance(&mut self, count: usize) {
        self.sent = self.sent.saturating_add(count).min(self.bytes.len());
        if self.is_empty() {
            self.empty();
        } else if self.sent > SLACK_BYTES && self.sent > self.bytes.len() / 2 {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
    }

    /// Uploads of one size need the memory again and again. A rare large one must not keep it: there may be thousands of
    /// connections.
    fn empty(&mut self) {
        let length = std::mem::take(&mut self.sent);
        if length == 0 {
            return;
        }
        let kept = length.max(self.previous).clamp(KEPT_BYTES, MOST_KEPT_BYTES);
        self.previous = length;
        self.bytes.clear();
        if self.bytes.capacity() > 2 * kept {
            self.bytes.shrink_to(kept);
        }
    }

    /// The buffer to append to; only ever append.
    #[inline]
    pub(crate) fn tail(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_appended_comes_out_once_and_in_order() {
        let mut out = Outgoing::default();
        let all: Vec<u8> = (0..300_000u32).map(|n| n as u8).collect();
        let mut seen = Vec::new();
        for part in all.chunks(10_000) {
            out.tail().extend_from_slice(part);
            let count = out.unsent().len().min(9_000);
            seen.extend_from_slice(&out.unsent()[..count]);
            out.advance(count);
        }
        seen.extend_from_slice(out.unsent());
        out.advance(usize::MAX);
        assert!(out.is_empty() && seen == all);
    }

    #[test]
    fn memory_is_kept_for_uploads_of_one_size_and_given_back_after_a_rare_one() {
        let mut out = Outgoing::default();
        let mut send = |bytes: usize| {
            out.tail().resize(bytes, 0);
            out.advance(usize::MAX);
            out.bytes.capacity()
        };
        assert!(send(300_000) >= 300_000 && send(100) >= 300_000);
        assert!(send(300_000) >= 300_000, "every second request uploads");
        assert!(send(100) >= 300_000 && send(100) <= KEPT_BYTES);
        assert!(send(30 << 20) <= MOST_KEPT_BYTES);
    }
}
