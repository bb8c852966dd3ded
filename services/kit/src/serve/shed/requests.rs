//! What a client sends on a connection of HTTP/2, frame by frame: passed on to the server, or refused unparsed.

use super::header_table::HeaderTable;
use crate::serve::frames::{
    CONNECTION, FrameHeader, HEADER_BYTES, PREFACE_BYTES, flag, keeps_table, kind, write_response,
    write_window_update,
};
use crate::serve::health_path::HEALTH_PATH_CODES;

/// Blocks of headers that are longer are parsed by the server.
const MAX_BLOCK_BYTES: usize = 4096;
/// Refused requests of a connection whose clients have not sent all of it yet; others are parsed by the server.
const MAX_UNFINISHED: usize = 256;

/// The part of the stream that comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Preface {
        left: usize,
    },
    Header,
    Payload {
        left: usize,
        is_passed: bool,
    },
    /// A block of headers that is passed on.
    PassedBlock {
        left: usize,
    },
    /// The block of headers of a request that may be refused.
    Block {
        frame: FrameHeader,
    },
}

/// Where the bytes of a client go.
#[derive(Debug)]
pub(super) struct Sorted<'a> {
    /// To the server.
    pub(super) passed: &'a mut Vec<u8>,
    /// Back to the client.
    pub(super) replies: &'a mut Vec<u8>,
    /// How many requests may still be passed on.
    pub(super) space: usize,
    /// The block of headers of a refusal.
    pub(super) refusal: &'a [u8],
}

/// The requests of one connection.
#[derive(Debug)]
pub(super) struct Requests {
    part: Part,
    header: [u8; HEADER_BYTES],
    header_len: usize,
    /// How much of that the server has already.
    header_passed: usize,
    /// What has come of the block of headers that comes.
    block: Vec<u8>,
    /// Whether the client may ask for the server's health without naming it again.
    may_refer_to_health: bool,
    pub(super) table: HeaderTable,
    /// The last stream that the client has opened, and the last one that the server knows.
    last: u32,
    last_passed: u32,
    /// Refused streams that the client has not ended.
    unfinished: Vec<u32>,
    /// Bytes of data that were dropped, for which the client has no window again yet.
    dropped: u32,
}

impl Default for Requests {
    fn default() -> Self {
        Self {
            part: Part::Preface { left: PREFACE_BYTES },
            header: [0; HEADER_BYTES],
            header_len: 0,
            header_passed: 0,
            block: Vec::new(),
            may_refer_to_health: false,
            table: HeaderTable::default(),
            last: 0,
            last_passed: 0,
            unfinished: Vec::new(),
            dropped: 0,
        }
    }
}

impl Requests {
    /// Whether nothing that comes has to be refused or dropped, unless the server falls behind.
    pub(super) fn all_pass(&self) -> bool {
        let is_whole = match self.part {
            Part::Header => self.header_len == self.header_passed,
            Part::Preface { .. } | Part::PassedBlock { .. } => true,
            Part::Payload { is_passed, .. } => is_passed,
            Part::Block { .. } => false,
        };
        is_whole && self.table.is_default() && self.unfinished.is_empty() && self.last == self.last_passed
    }

    /// Follows bytes that were passed on as they came.
    pub(super) fn passed(&mut self, mut input: &[u8]) {
        debug_assert!(self.all_pass(), "something has to be dropped");
        while !input.is_empty() {
            if let Part::Preface { left } | Part::Payload { left, .. } | Part::PassedBlock { left } =
                self.part
            {
                let (part, rest) = input.split_at(left.min(input.len()));
                self.advance(part);
                input = rest;
                continue;
            }
            if let Some(frame) = self.read_header(&mut input) {
                self.note_passed(&frame);
                if is_acknowledgement(&frame) {
                    self.table.acknowledged();
                }
                self.begin_passed(&frame);
                self.header_len = 0;
            }
            self.header_passed = self.header_len;
        }
    }

    /// Sorts bytes that came; returns how many requests were refused.
    pub(super) fn sort(&mut self, mut input: &[u8], sorted: &mut Sorted<'_>) -> u64 {
        let mut refused = 0;
        while !input.is_empty() {
            match self.part {
                Part::Preface { left } | Part::Payload { left, .. } | Part::PassedBlock { left } => {
                    let (part, rest) = input.split_at(left.min(input.len()));
                    if self.part.is_passed() {
                        sorted.passed.extend_from_slice(part);
                    }
                    self.advance(part);
                    input = rest;
                }
                Part::Block { frame } => {
                    let left = frame.length - self.block.len();
                    let (part, rest) = input.split_at(left.min(input.len()));
                    self.block.extend_from_slice(part);
                    input = rest;
                    if self.block.len() == frame.length {
                        refused += self.end_block(&frame, sorted);
                    }
                }
                Part::Header => {
                    if let Some(frame) = self.read_header(&mut input) {
                        self.begin(frame, sorted);
                    }
                }
            }
        }
        let dropped = std::mem::take(&mut self.dropped);
        if dropped > 0 {
            write_window_update(sorted.replies, dropped);
        }
        refused
    }

    fn advance(&mut self, bytes: &[u8]) {
        if let Part::PassedBlock { .. } = self.part {
            self.block.extend_from_slice(bytes);
        }
        if let Part::Preface { left } | Part::Payload { left, .. } | Part::PassedBlock { left } =
            &mut self.part
        {
            *left -= bytes.len();
            if *left == 0 {
                self.end_passed();
            }
        }
    }

    fn end_passed(&mut self) {
        if let Part::PassedBlock { .. } = self.part {
            self.may_refer_to_health = names_health(&self.block);
        }
        self.part = Part::Header;
    }

    /// A frame is passed on whose header was read.
    fn begin_passed(&mut self, frame: &FrameHeader) {
        self.part = payload(frame.length, true);
        if frame.kind != kind::HEADERS || self.may_refer_to_health {
            return;
        }
        if frame.is_continued() || frame.length > MAX_BLOCK_BYTES {
            self.may_refer_to_health = true;
        } else if frame.length > 0 {
            self.block.clear();
            self.part = Part::PassedBlock { left: frame.length };
        }
    }

    fn read_header(&mut self, input: &mut &[u8]) -> Option<FrameHeader> {
        let (part, rest) = input.split_at((HEADER_BYTES - self.header_len).min(input.len()));
        self.header[self.header_len..][..part.len()].copy_from_slice(part);
        self.header_len += part.len();
        *input = rest;
        (self.header_len == HEADER_BYTES).then(|| FrameHeader::read(self.header))
    }

    fn note_passed(&mut self, frame: &FrameHeader) {
        if frame.kind == kind::HEADERS && frame.stream > self.last_passed {
            self.last_passed = frame.stream;
            self.last = self.last.max(frame.stream);
        }
    }

    fn begin(&mut self, frame: FrameHeader, sorted: &mut Sorted<'_>) {
        if frame.kind == kind::HEADERS && frame.stream > self.last {
            self.last = frame.stream;
            if self.may_refuse(&frame, sorted) {
                self.block.clear();
                self.part = Part::Block { frame };
                return;
            }
            sorted.space = sorted.space.saturating_sub(1);
            return self.pass(&frame, sorted);
        }
        let is_dropped = if is_acknowledgement(&frame) {
            !self.table.acknowledged()
        } else {
            self.is_refused(frame.stream) && (frame.kind != kind::HEADERS || self.table.is_empty())
        };
        if !is_dropped {
            return self.pass(&frame, sorted);
        }
        if frame.kind == kind::DATA {
            self.dropped = self.dropped.saturating_add(frame.length as u32);
        }
        if frame.ends_stream() {
            self.unfinished.retain(|stream| *stream != frame.stream);
        }
        self.part = payload(frame.length, false);
        (self.header_len, self.header_passed) = (0, 0);
    }

    fn may_refuse(&self, frame: &FrameHeader, sorted: &Sorted<'_>) -> bool {
        sorted.space == 0
            && (self.table.is_empty() || !self.may_refer_to_health)
            && frame.has(flag::END_HEADERS)
            && (1..=MAX_BLOCK_BYTES).contains(&frame.length)
            && self.unfinished.len() < MAX_UNFINISHED
            && self.header_passed == 0
    }

    /// Whether the server does not know of this stream because it was refused.
    fn is_refused(&self, stream: u32) -> bool {
        let is_unknown = stream > self.last_passed && stream <= self.last;
        stream != CONNECTION && (is_unknown || self.unfinished.contains(&stream))
    }

    fn pass(&mut self, frame: &FrameHeader, sorted: &mut Sorted<'_>) {
        self.note_passed(frame);
        sorted.passed.extend_from_slice(&self.header[self.header_passed..]);
        (self.header_len, self.header_passed) = (0, 0);
        self.begin_passed(frame);
    }

    /// Whether no later block of headers can refer to this one.
    fn can_skip(&self, frame: &FrameHeader) -> bool {
        let is_plain = !frame.has(flag::PADDED) && !frame.has(flag::PRIORITY);
        self.table.is_empty() || is_plain && keeps_table(&self.block)
    }

    fn end_block(&mut self, frame: &FrameHeader, sorted: &mut Sorted<'_>) -> u64 {
        // Its health must be readable under any load.
        let is_refused = !names_health(&self.block) && self.can_skip(frame);
        if is_refused {
            write_response(sorted.replies, frame.stream, sorted.refusal);
            if !frame.ends_stream() {
                self.unfinished.push(frame.stream);
            }
        } else {
            self.may_refer_to_health |= names_health(&self.block);
            self.note_passed(frame);
            sorted.passed.extend_from_slice(&self.header);
            sorted.passed.extend_from_slice(&self.block);
        }
        self.part = Part::Header;
        (self.header_len, self.header_passed) = (0, 0);
        u64::from(is_refused)
    }
}

impl Part {
    fn is_passed(self) -> bool {
        matches!(
            self,
            Self::Preface { .. } | Self::PassedBlock { .. } | Self::Payload { is_passed: true, .. }
        )
    }
}

fn payload(left: usize, is_passed: bool) -> Part {
    if left == 0 { Part::Header } else { Part::Payload { left, is_passed } }
}

fn is_acknowledgement(frame: &FrameHeader) -> bool {
    frame.kind == kind::SETTINGS && frame.has(flag::ACK)
}

fn names_health(block: &[u8]) -> bool {
    HEALTH_PATH_CODES.iter().any(|path| block.windows(path.len()).any(|part| part == *path))
}
