//! Bytes on their way to the socket.

/// Capacity that is kept once everything is sent, and sent bytes that may lie before the unsent ones until they are moved
/// away. There may be thousands of connections: a rare large upload must not pin its memory on each.
const SLACK_BYTES: usize = 64 << 10;

/// A buffer that is filled at its end and sent from its front.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    bytes: Vec<u8>,
    sent: usize,
}

impl Outgoing {
    pub(crate) fn unsent(&self) -> &[u8] {
        &self.bytes[self.sent..]
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sent == self.bytes.len()
    }

    /// Drop `count` bytes from the front; more than there are counts as all.
    pub(crate) fn advance(&mut self, count: usize) {
        self.sent = self.sent.saturating_add(count).min(self.bytes.len());
        if self.is_empty() {
            self.bytes.clear();
            self.sent = 0;
            if self.bytes.capacity() > SLACK_BYTES {
                self.bytes.shrink_to(SLACK_BYTES);
            }
        } else if self.sent > SLACK_BYTES && self.sent > self.bytes.len() / 2 {
            self.bytes.drain(..self.sent);
            self.sent = 0;
        }
    }

    /// The buffer to append to; only ever append.
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
        assert!(out.bytes.capacity() <= SLACK_BYTES, "the memory of a long body is given back");
    }
}
