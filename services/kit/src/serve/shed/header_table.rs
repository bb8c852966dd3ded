//! How many bytes of headers the client may refer back to: none while requests are refused unparsed, because a block of
//! headers that is skipped must not be referred to by a later one.

use std::collections::VecDeque;

use crate::serve::frames::write_header_table_size;

/// The size that HTTP/2 begins with, which the server does not change.
const DEFAULT_BYTES: u32 = 4096;

/// Who has sent settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sender {
    Server,
    /// With this size of the table.
    Shedding(u32),
}

/// The size of the table that the client's blocks of headers refer to.
#[derive(Debug)]
pub(super) struct HeaderTable {
    /// Settings that the client has not acknowledged yet, in the order in which they were sent.
    unacknowledged: VecDeque<Sender>,
    has_greeted: bool,
    bytes: u32,
}

impl Default for HeaderTable {
    fn default() -> Self {
        Self { unacknowledged: VecDeque::new(), has_greeted: false, bytes: DEFAULT_BYTES }
    }
}

impl HeaderTable {
    /// Whether no block of headers refers to an earlier one.
    pub(super) fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Whether the client may refer back as always.
    pub(super) fn is_default(&self) -> bool {
        self.bytes == DEFAULT_BYTES && !self.unacknowledged.iter().any(|sender| *sender != Sender::Server)
    }

    /// The server has sent so many frames with settings.
    pub(super) fn server_sent(&mut self, settings: usize) {
        self.has_greeted |= settings > 0;
        self.unacknowledged.extend(std::iter::repeat_n(Sender::Server, settings));
    }

    /// Asks the client for the size that is wanted. One request at a time: a client that does not acknowledge is not asked
    /// again.
    pub(super) fn request(&mut self, is_empty: bool, out: &mut Vec<u8>) {
        let bytes = if is_empty { 0 } else { DEFAULT_BYTES };
        if self.bytes != bytes && self.has_greeted && self.unacknowledged.is_empty() {
            write_header_table_size(out, bytes);
            self.unacknowledged.push_back(Sender::Shedding(bytes));
        }
    }

    /// The client has acknowledged the first settings that it had not yet. Whether the server has sent them.
    pub(super) fn acknowledged(&mut self) -> bool {
        match self.unacknowledged.pop_front() {
            Some(Sender::Shedding(bytes)) => {
                self.bytes = bytes;
                false
            }
            // The server treats an acknowledgement of nothing as the error that it is.
            Some(Sender::Server) | None => true,
        }
    }
}
