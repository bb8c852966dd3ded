//! Requests whose bytes may not have been written to the socket yet.

use std::collections::VecDeque;

use crate::operation::OperationToken;

/// A request, and how many bytes the protocol of its connection hands on until the request's last one.
#[derive(Debug)]
struct UnsentRequest {
    token: OperationToken,
    end: u64,
}

/// Started requests of a connection, each until its own bytes are written, whatever follows them. Bytes of a body that the
/// peer's HTTP/2 windows hold back are not among them.
#[derive(Debug, Default)]
pub(super) struct UnsentRequests {
    requests: VecDeque<UnsentRequest>,
    /// How many of them, from the first on, were there at the last write.
    begun: usize,
    /// How many bytes the protocol has handed on, to the socket or to TLS.
    handed_on: u64,
    /// How many of them the socket has taken.
    written: u64,
}

impl UnsentRequests {
    /// A request was started; this many bytes of the protocol, up to the request's last, are still to be handed on.
    pub(super) fn push(&mut self, token: OperationToken, outgoing: usize) {
        self.requests.push_back(UnsentRequest { token, end: self.handed_on + outgoing as u64 });
    }

    /// Requests that were started since this was last called.
    pub(super) fn take_started(&mut self) -> impl Iterator<Item = OperationToken> {
        let first = std::mem::replace(&mut self.begun, self.requests.len());
        self.requests.range(first..).map(|request| request.token)
    }

    pub(super) fn hand_on(&mut self, bytes: usize) {
        self.handed_on += bytes as u64;
    }

    /// The socket has taken all that was handed on.
    pub(super) fn note_written(&mut self) {
        self.written = self.handed_on;
    }

    /// Take the first request, if all of its bytes are written.
    pub(super) fn next_written(&mut self) -> Option<OperationToken> {
        let written = self.requests.pop_front_if(|request| request.end <= self.written)?;
        self.begun = self.begun.saturating_sub(1);
        Some(written.token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_written_when_its_own_bytes_are() {
        let mut unsent = UnsentRequests::default();
        let [a, b, c] = [1, 2, 3].map(OperationToken);
        unsent.push(a, 10);
        assert!(unsent.take_started().eq([a]));
        unsent.push(b, 15);
        assert!(unsent.take_started().eq([b]));
        unsent.hand_on(12);
        assert_eq!(unsent.next_written(), None);
        unsent.note_written();
        assert_eq!((unsent.next_written(), unsent.next_written()), (Some(a), None));
        unsent.push(c, 3 + 100);
        assert!(unsent.take_started().eq([c]));
        unsent.hand_on(3);
        unsent.note_written();
        assert_eq!((unsent.next_written(), unsent.next_written()), (Some(b), None));
        unsent.hand_on(100);
        unsent.note_written();
        assert_eq!((unsent.next_written(), unsent.next_written()), (Some(c), None));
    }
}
