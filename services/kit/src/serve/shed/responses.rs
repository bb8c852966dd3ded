//! What the server sends on a connection of HTTP/2, as far as it must be known where other frames fit in between.

use crate::serve::frames::{FrameHeader, HEADER_BYTES, flag, kind};

/// Follows the frames that are written.
#[derive(Debug, Default)]
pub(super) struct Responses {
    header: [u8; HEADER_BYTES],
    header_len: usize,
    payload_left: usize,
    is_block_open: bool,
    /// Settings that were written.
    settings: usize,
}

impl Responses {
    /// Whether another frame may be written now.
    pub(super) fn is_between_frames(&self) -> bool {
        self.header_len == 0 && self.payload_left == 0 && !self.is_block_open
    }

    /// How many frames with settings were written since this was last called.
    pub(super) fn take_settings(&mut self) -> usize {
        std::mem::take(&mut self.settings)
    }

    pub(super) fn written(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.payload_left > 0 {
                let count = self.payload_left.min(bytes.len());
                self.payload_left -= count;
                bytes = &bytes[count..];
                continue;
            }
            let count = (HEADER_BYTES - self.header_len).min(bytes.len());
            self.header[self.header_len..][..count].copy_from_slice(&bytes[..count]);
            self.header_len += count;
            bytes = &bytes[count..];
            if self.header_len == HEADER_BYTES {
                self.header_len = 0;
                self.begin(FrameHeader::read(self.header));
            }
        }
    }

    fn begin(&mut self, frame: FrameHeader) {
        self.payload_left = frame.length;
        self.is_block_open = frame.is_continued();
        self.settings += usize::from(frame.kind == kind::SETTINGS && !frame.has(flag::ACK));
    }
}
