//! Messages that are compressed by themselves (RFC 7692, section 7).

use flate2::{Compress, Decompress, FlushCompress, FlushDecompress, Status};

use super::WebSocketError;

/// What is left out at the end of each message, and is to be added before it is read.
const TAIL: [u8; 4] = [0, 0, 0xff, 0xff];
/// Memory is taken in such steps.
const STEP_BYTES: usize = 8 << 10;

/// Decompresses messages.
#[derive(Debug)]
pub(super) struct Inflater(Decompress);

impl Default for Inflater {
    fn default() -> Inflater {
        Inflater(Decompress::new(false))
    }
}

impl Inflater {
    /// A message, of at most so many bytes.
    pub(super) fn inflate(&mut self, message: &[u8], most_bytes: usize) -> Result<Vec<u8>, WebSocketError> {
        self.0.reset(false);
        let mut out = Vec::new();
        for mut input in [message, &TAIL] {
            loop {
                if out.len() > most_bytes {
                    return Err(WebSocketError::TooLong);
                }
                if out.capacity() == out.len() {
                    out.reserve(out.len().clamp(STEP_BYTES, most_bytes.max(STEP_BYTES)));
                }
                let (read, written) = (self.0.total_in(), self.0.total_out());
                let status = self.0.decompress_vec(input, &mut out, FlushDecompress::Sync);
                let status = status.map_err(|_| WebSocketError::Corrupt)?;
                let read = (self.0.total_in() - read) as usize;
                input = &input[read..];
                // A sender may end the stream itself, and begin another one in the same message.
                if status == Status::StreamEnd {
                    self.0.reset(false);
                } else if read == 0 && self.0.total_out() == written && out.capacity() > out.len() {
                    break;
                }
                if input.is_empty() && out.capacity() > out.len() {
                    break;
                }
            }
            if !input.is_empty() {
                return Err(WebSocketError::Corrupt);
            }
        }
        if out.len() > most_bytes { Err(WebSocketError::TooLong) } else { Ok(out) }
    }
}

/// Compresses messages.
#[derive(Debug)]
pub(super) struct Deflater(Compress);

impl Default for Deflater {
    fn default() -> Deflater {
        Deflater(Compress::new(flate2::Compression::fast(), false))
    }
}

impl Deflater {
    pub(super) fn deflate(&mut self, mut message: &[u8]) -> Vec<u8> {
        self.0.reset();
        let mut out = Vec::with_capacity(message.len() / 2 + 64);
        loop {
            let read = self.0.total_in();
            // It fails only where the stream is over, which a flush does not end.
            let _ = self.0.compress_vec(message, &mut out, FlushCompress::Sync);
            message = &message[(self.0.total_in() - read) as usize..];
            if message.is_empty() && out.len() < out.capacity() {
                break;
            }
            out.reserve(STEP_BYTES);
        }
        if out.ends_with(&TAIL) {
            out.truncate(out.len() - TAIL.len());
        }
        out
    }
}
