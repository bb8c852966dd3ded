//! An open stream.

use super::frame::{FrameHeader, HEADER_BYTES};
use crate::event::{OpenRequest, Token};

/// One request and its response.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) token: Token,
    /// Whether the response can have a body at all: not to `HEAD`.
    pub(super) body: ResponseBody,
    /// Whether the final head has arrived.
    pub(super) progress: Progress,
    /// How many interim responses came before it.
    pub(super) interim: u8,
    /// Bytes of its frames that were put into the output, sent or not.
    pub(super) outgoing_bytes: u64,
    /// Bytes of its frames that were received.
    pub(super) incoming_bytes: u64,
    pub(super) content_length: Option<u64>,
    pub(super) received_bytes: u64,
    /// Bytes received since the window was last given back.
    pub(super) unreturned_bytes: u32,
    /// What the peer lets us send; below zero after it shrank its initial window.
    pub(super) send_window: i64,
    pub(super) unsent: Unsent,
    /// Whether what is unsent is all that there will be.
    pub(super) ending: Ending,
}

/// What comes after the part of a request's body that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// The end of the stream.
    Known,
    /// Perhaps more.
    Open,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResponseBody {
    Possible,
    Impossible,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    AwaitsHead,
    HasHead,
}

/// The part of a request's body that the windows hold back.
#[derive(Debug, Default)]
pub(super) struct Unsent {
    bytes: Vec<u8>,
    from: usize,
    /// Whether the stream is in the queue of those that may send.
    pub(super) queued: bool,
}

impl Unsent {
    pub(super) fn hold(&mut self, rest: &[u8]) {
        // What was sent is moved out of the way before it is more than what was not.
        if self.from > self.bytes.len() / 2 {
            self.bytes.drain(..self.from);
            self.from = 0;
        }
        self.bytes.extend_from_slice(rest);
    }

    pub(super) fn rest(&self) -> &[u8] {
        &self.bytes[self.from..]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.from == self.bytes.len()
    }

    pub(super) fn advance(&mut self, count: usize) {
        self.from += count;
    }
}

impl Stream {
    /// Its request, refused by the peer; one that the peer has begun to answer cannot be refused any more.
    pub(super) fn refused(&self, request: OpenRequest) -> OpenRequest {
        match self.progress {
            Progress::AwaitsHead => request.refused(),
            Progress::HasHead => request,
        }
    }

    /// Count a frame that was received.
    pub(super) fn count(&mut self, header: &FrameHeader) {
        self.incoming_bytes += (HEADER_BYTES + header.length) as u64;
    }

    /// Whether it could send if the connection's window let it.
    pub(super) fn may_send(&self) -> bool {
        !self.unsent.is_empty() && self.send_window > 0
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A stream without anything sent or received.
    pub(in crate::h2) fn stream(token: Token) -> Stream {
        Stream {
            token,
            body: ResponseBody::Possible,
            progress: Progress::AwaitsHead,
            interim: 0,
            outgoing_bytes: 0,
            incoming_bytes: 0,
            content_length: None,
            received_bytes: 0,
            unreturned_bytes: 0,
            send_window: 0,
            unsent: Unsent::default(),
            ending: Ending::Known,
        }
    }

    #[test]
    fn what_was_sent_of_a_body_is_not_kept_while_more_is_added() {
        let (mut unsent, mut sent) = (Unsent::default(), Vec::new());
        for part in 0..1_000u32 {
            unsent.hold(&part.to_be_bytes());
            if part > 2 {
                sent.extend_from_slice(&unsent.rest()[..4]);
                unsent.advance(4);
            }
            assert!(unsent.bytes.len() <= 3 * 4 * 3, "{}", unsent.bytes.len());
        }
        let expected: Vec<u8> = (0..997u32).flat_map(u32::to_be_bytes).collect();
        assert_eq!(sent, expected);
    }
}
