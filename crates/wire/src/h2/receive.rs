//! Frames coming in.

mod answer;
mod control;

use super::Connection;
use super::frame::{FrameHeader, HEADER_BYTES, MAX_RECEIVED_PAYLOAD, flag, kind};
use crate::error::WireError;
use crate::event::Events;

/// The longest header block taken, over all its frames.
const MAX_BLOCK_BYTES: usize = 64 << 10;
/// The most frames a header block may come in.
const MAX_BLOCK_FRAMES: u32 = 64;
/// The most replies (to PING and SETTINGS) that may wait to be sent.
const MAX_WAITING_REPLIES: u32 = 10_000;
/// The most DATA frames in a row that carry nothing.
const MAX_EMPTY_DATA: u32 = 1_000;

/// What has arrived of something incomplete, and the counts against floods.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    /// The first part of a frame that the input cut.
    partial: Vec<u8>,
    /// A header block whose frames are still coming.
    block: Option<Block>,
    block_bytes: Vec<u8>,
    /// Bytes received since the connection's window was last given back.
    unreturned_bytes: u32,
    waiting_replies: u32,
    empty_data: u32,
    /// Whether the peer's first settings have arrived.
    greeted: bool,
    /// The streams from this one on were opened with the peer's first settings known.
    first_after_settings: u32,
}

#[derive(Debug, Clone, Copy)]
struct Block {
    stream: u32,
    /// The flags of the frame that began it.
    flags: u8,
    frames: u32,
}

impl Incoming {
    /// Everything is sent, so no reply waits.
    pub(super) fn forgive_replies(&mut self) {
        self.waiting_replies = 0;
    }

    pub(super) fn is_inside_frame(&self) -> bool {
        !self.partial.is_empty() || self.block.is_some()
    }

    /// How many bytes of an incomplete frame of this stream have arrived.
    pub(super) fn partial_bytes_of(&self, id: u32) -> u64 {
        let is_own = |header: FrameHeader| header.stream == id && header.is_of_request();
        if FrameHeader::read(&self.partial).is_some_and(is_own) { self.partial.len() as u64 } else { 0 }
    }

    #[cfg(test)]
    pub(super) fn held_bytes(&self) -> usize {
        self.partial.capacity() + self.block_bytes.capacity()
    }

    /// What can be said against a frame before its payload has arrived.
    fn check_header(&self, header: &FrameHeader) -> Result<(), WireError> {
        if !self.greeted && (header.kind != kind::SETTINGS || header.has(flag::ACK)) {
            return Err(WireError::NotHttp2);
        }
        if header.length > MAX_RECEIVED_PAYLOAD {
            return Err(WireError::FrameSize);
        }
        match self.block {
            Some(block) if header.kind != kind::CONTINUATION || header.stream != block.stream => {
                Err(WireError::Malformed("a header block interrupted"))
            }
            _ => Ok(()),
        }
    }

    fn count_reply(&mut self) -> Result<(), WireError> {
        self.waiting_replies += 1;
        if self.waiting_replies > MAX_WAITING_REPLIES {
            return Err(WireError::Flood("frames that ask for a reply"));
        }
        Ok(())
    }
}

impl Connection {
    pub(super) fn read(&mut self, mut input: &[u8], events: &mut dyn Events) -> Result<(), WireError> {
        while !input.is_empty() {
            if !self.incoming.partial.is_empty() {
                input = self.read_cut_frame(input, events)?;
                continue;
            }
            let Some(header) = FrameHeader::read(input) else {
                self.incoming.partial.extend_from_slice(input);
                return Ok(());
            };
            self.incoming.check_header(&header)?;
            let end = HEADER_BYTES + header.length;
            let Some(frame) = input.get(..end) else {
                self.incoming.partial.extend_from_slice(input);
                return Ok(());
            };
            self.on_frame(&header, &frame[HEADER_BYTES..], events)?;
            input = &input[end..];
        }
        Ok(())
    }

    /// Gather up to the end of the frame's header or of the frame, whichever is next, and say what is left
    /// of the input.
    fn read_cut_frame<'a>(
        &mut self,
        input: &'a [u8],
        events: &mut dyn Events,
    ) -> Result<&'a [u8], WireError> {
        let partial = &mut self.incoming.partial;
        let needed = FrameHeader::read(partial).map_or(HEADER_BYTES, |h| HEADER_BYTES + h.length);
        let taken = input.len().min(needed - partial.len());
        partial.extend_from_slice(&input[..taken]);
        let rest = &input[taken..];
        let Some(header) = FrameHeader::read(partial) else { return Ok(rest) };
        self.incoming.check_header(&header)?;
        if self.incoming.partial.len() < HEADER_BYTES + header.length {
            return Ok(rest);
        }
        let mut frame = std::mem::take(&mut self.incoming.partial);
        let result = self.on_frame(&header, &frame[HEADER_BYTES..], events);
        frame.clear();
        self.incoming.partial = frame;
        result.map(|()| rest)
    }

    fn on_frame(
        &mut self,
        header: &FrameHeader,
        payload: &[u8],
        events: &mut dyn Events,
    ) -> Result<(), WireError> {
        match header.kind {
            kind::DATA => self.on_data(header, payload, events),
            kind::HEADERS => self.on_headers(header, payload, events),
            kind::CONTINUATION => self.on_continuation(header, payload, events),
            kind::WINDOW_UPDATE => self.on_window_update(header, payload, events),
            kind::SETTINGS => self.on_settings(header, payload),
            kind::PING => self.on_ping(header, payload),
            kind::RST_STREAM => self.on_reset(header, payload, events),
            kind::GOAWAY => self.on_goaway(header, payload, events),
            kind::PUSH_PROMISE => Err(WireError::Malformed("a push that was forbidden")),
            kind::PRIORITY if payload.len() != 5 => Err(WireError::FrameSize),
            // Priorities, and kinds of frames that only extensions know.
            _ => Ok(()),
        }
    }

    /// Frames for a stream may come while it is open or when it is gone, but not before it is opened, and
    /// only we open streams.
    fn check_known(&self, id: u32) -> Result<(), WireError> {
        if id % 2 == 1 && id < self.next_id {
            Ok(())
        } else {
            Err(WireError::Malformed("a frame on a stream that was never opened"))
        }
    }
}
