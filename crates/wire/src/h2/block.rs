//! Header blocks, decoded and checked; one that comes again is known from before.
//!
//! What a server answers differs mostly in the bodies: within a second even its `date` is the same, and so are
//! the bytes of its header blocks. The last head and the last trailers are therefore kept as they were decoded.
//! Some servers insert every field of every response into the dynamic table. What a known block inserts is only noted,
//! and inserted before a block is decoded that may refer to it.

use super::hpack::{Decoder, Effects, Fit};
use super::response::{self, Head};
use crate::error::WireError;
use crate::headers::Headers;

/// A longer block is not kept: every connection keeps two.
const MAX_KEPT_BYTES: usize = 4 << 10;
/// A table of 4096 bytes holds no more entries, hence nothing of what blocks before the last so many have inserted.
const MAX_TABLE_ENTRIES: usize = 128;

/// The kinds of blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockKind {
    Head,
    Trailers,
}

/// The header blocks that one connection receives.
#[derive(Debug)]
pub(super) struct ResponseBlocks {
    decoder: Decoder,
    head: LastBlock<Head>,
    trailers: LastBlock<()>,
    /// Blocks that came again and whose insertions are still to be made.
    owed: Vec<BlockKind>,
}

impl ResponseBlocks {
    pub(super) fn new() -> Self {
        ResponseBlocks {
            decoder: Decoder::new(),
            head: LastBlock::new(),
            trailers: LastBlock::new(),
            owed: Vec::new(),
        }
    }

    /// Read the block of a response head. The outer error is the connection's, the inner one the stream's.
    pub(super) fn read_head(&mut self, block: &[u8]) -> Result<Result<Head, WireError>, WireError> {
        if let Some(verdict) = self.head.again(block, &mut self.decoder) {
            self.owe(BlockKind::Head, self.head.inserts());
            return Ok(verdict);
        }
        self.insert_owed();
        self.head.decode(block, &mut self.decoder, response::head)
    }

    /// The same for trailers.
    pub(super) fn read_trailers(&mut self, block: &[u8]) -> Result<Result<(), WireError>, WireError> {
        if let Some(verdict) = self.trailers.again(block, &mut self.decoder) {
            self.owe(BlockKind::Trailers, self.trailers.inserts());
            return Ok(verdict);
        }
        self.insert_owed();
        self.trailers.decode(block, &mut self.decoder, response::trailers)
    }

    /// The fields of the head that was read last, its status first.
    pub(super) fn head(&self) -> &Headers {
        &self.head.fields
    }

    /// The fields of the trailers that were read last.
    pub(super) fn trailers(&self) -> &Headers {
        &self.trailers.fields
    }

    fn owe(&mut self, kind: BlockKind, inserts: u128) {
        if inserts == 0 {
            return;
        }
        if self.owed.len() == 2 * MAX_TABLE_ENTRIES {
            self.owed.drain(..MAX_TABLE_ENTRIES);
        }
        self.owed.push(kind);
    }

    /// Make the insertions that are owed.
    fn insert_owed(&mut self) {
        let first = self.owed.len().saturating_sub(MAX_TABLE_ENTRIES);
        for kind in self.owed.drain(..).skip(first) {
            let (fields, inserts) = match kind {
                BlockKind::Head => (&self.head.fields, self.head.inserts()),
                BlockKind::Trailers => (&self.trailers.fields, self.trailers.inserts()),
            };
            self.decoder.insert(fields, inserts);
        }
    }
}

/// The block of one kind that was decoded last: its fields, and what their check has said.
#[derive(Debug)]
struct LastBlock<T> {
    /// How its bytes are to be understood; none of a block that is not kept.
    known: Option<KnownBlock>,
    bytes: Vec<u8>,
    fields: Headers,
    verdict: Result<T, WireError>,
}

/// What a block that is kept has to do with the dynamic table.
#[derive(Debug, Clone, Copy)]
struct KnownBlock {
    /// The state in which it came.
    state: u64,
    effects: Effects,
}

impl KnownBlock {
    /// Whether the block means the same now.
    fn holds(&self, decoder: &Decoder) -> bool {
        !self.effects.reads || self.state == decoder.state()
    }
}

impl<T: Copy + Default> LastBlock<T> {
    fn new() -> Self {
        LastBlock { known: None, bytes: Vec::new(), fields: Headers::new(), verdict: Ok(T::default()) }
    }

    /// What was said of the last block, if this is the same one over again.
    fn again(&self, block: &[u8], decoder: &mut Decoder) -> Option<Result<T, WireError>> {
        let known = self.known.filter(|known| known.holds(decoder) && self.bytes == block)?;
        decoder.will_insert(known.effects.inserts);
        Some(self.verdict)
    }

    /// Which fields of the last block are inserted by it.
    fn inserts(&self) -> u128 {
        self.known.map_or(0, |known| known.effects.inserts)
    }

    /// Decode another block, and say what `check` makes of its fields.
    fn decode(
        &mut self,
        block: &[u8],
        decoder: &mut Decoder,
        check: impl Fn(&Headers) -> Result<T, &'static str>,
    ) -> Result<Result<T, WireError>, WireError> {
        let state = decoder.state();
        self.known = None;
        self.fields.clear();
        let fit = decoder.decode(block, &mut self.fields)?;
        self.verdict = match fit {
            Fit::Whole => check(&self.fields).map_err(WireError::Malformed),
            Fit::Cut => Err(WireError::HeadTooLarge),
        };
        if fit == Fit::Whole {
            self.keep(block, KnownBlock { state, effects: decoder.effects() });
        }
        Ok(self.verdict)
    }

    fn keep(&mut self, block: &[u8], known: KnownBlock) {
        let Effects { reads, resizes, inserts } = known.effects;
        // What it reads would be gone from its place after what it inserts.
        if resizes || (reads && inserts != 0) || block.len() > MAX_KEPT_BYTES {
            return;
        }
        self.bytes.clear();
        self.bytes.extend_from_slice(block);
        self.known = Some(known);
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    fn statuses<const N: usize>(blocks: &mut ResponseBlocks, received: [&[u8]; N]) -> [Option<u16>; N] {
        received.map(|block| {
            let verdict = blocks.read_head(block).expect("the block is sound");
            verdict.ok().map(|head| head.status)
        })
    }

    #[test]
    fn a_block_that_comes_again_means_the_same() {
        let mut blocks = ResponseBlocks::new();
        // 200, 204, and a literal that is not indexed.
        let received: [&[u8]; 5] = [b"\x88", b"\x88", b"\x89", b"\x88\x00\x01a\x011", b"\x88\x00\x01a\x011"];
        assert_eq!(statuses(&mut blocks, received), [200, 200, 204, 200, 200].map(Some));
        assert_eq!(blocks.head().len(), 2);
        assert_eq!(statuses(&mut blocks, [b"", b""]), [None, None]);
    }

    #[test]
    fn the_same_bytes_mean_something_else_when_the_table_has_changed() {
        let mut blocks = ResponseBlocks::new();
        // The status as a literal with indexing: each inserts an entry, and 62 names the newest.
        for digit in *b"234" {
            let literal = [0x48, 3, digit, b'0', b'0'];
            let expected = u16::from(digit - b'0') * 100;
            let received: [&[u8]; 4] = [&literal, &literal, &[0x80 | 62], &[0x80 | 62]];
            assert_eq!(statuses(&mut blocks, received), [Some(expected); 4]);
        }
        // An empty table: the index names nothing, which ends the connection.
        assert_eq!(statuses(&mut blocks, [&[0x20, 0x88]]), [Some(200)]);
        assert!(blocks.read_head(&[0x80 | 62]).is_err());
    }

    proptest! {
        /// Heads and trailers of few kinds, so that many come again, by turns through one memory and through none; then
        /// every entry of the table.
        #[test]
        fn nothing_is_different_from_decoding_every_block(
            received in vec((0..BLOCKS.len(), 0..BLOCKS.len(), 1..200usize), 1..8)
        ) {
            let (mut blocks, mut plain) = (ResponseBlocks::new(), Decoder::new());
            let entries = (0..130u8).map(|age| if age < 65 { vec![0x80 | (62 + age)] } else { vec![0xff, age - 65] });
            let pairs = received.iter().flat_map(|(head, trailers, times)| {
                std::iter::repeat_n([BLOCKS[*head].to_vec(), BLOCKS[*trailers].to_vec()], *times)
            });
            for (nth, block) in pairs.flatten().chain(entries).enumerate() {
                let mut fields = Headers::new();
                let fit = plain.decode(&block, &mut fields);
                let is_head = nth % 2 == 0;
                let is_sound = match is_head {
                    true => blocks.read_head(&block).is_ok(),
                    false => blocks.read_trailers(&block).is_ok(),
                };
                prop_assert_eq!(is_sound, fit.is_ok());
                if !is_sound {
                    return Ok(());
                }
                let read = if is_head { blocks.head() } else { blocks.trailers() };
                prop_assert!(read.iter().eq(fields.iter()));
                prop_assert_eq!(blocks.decoder.state(), plain.state());
            }
        }
    }

    /// Literals that are and are not indexed, references to the static table and to entries of the dynamic one, by
    /// value and by name, both at once, and a resized table.
    const BLOCKS: [&[u8]; 9] = [
        b"\x00\x01a\x011",
        b"\x40\x01a\x012\x40\x01b\x013",
        b"\x40\x01c\x014\x88",
        b"\x88",
        b"\xbe",
        b"\xbf\x88",
        b"\x0f\x2f\x015",
        b"\x7e\x016\xbe",
        b"\x3f\x21\x88",
    ];
}
