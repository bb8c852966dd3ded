//! Header blocks, decoded and checked; one that comes again is known from before.
//!
//! What a server answers differs mostly in the bodies: within a second even its `date` is the same, and so are
//! the bytes of its header blocks. The last head and the last trailers are therefore kept as they were decoded.
//! What they do to the dynamic table is done again each time: some servers insert every field of every response.

use super::hpack::{Decoder, Effects, Fit};
use crate::error::WireError;
use crate::headers::Headers;

/// A longer block is not kept: every connection keeps two.
const MAX_KEPT_BYTES: usize = 4 << 10;

/// The block of one kind that was decoded last: its fields, and what their check has said.
#[derive(Debug)]
pub(super) struct LastBlock<T> {
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
    pub(super) fn new() -> Self {
        LastBlock { known: None, bytes: Vec::new(), fields: Headers::new(), verdict: Ok(T::default()) }
    }

    /// Decode a block, unless it is the last one over again, and say what `check` makes of its fields. The outer
    /// error is the connection's, the inner one the stream's.
    pub(super) fn read(
        &mut self,
        block: &[u8],
        decoder: &mut Decoder,
        check: impl Fn(&Headers) -> Result<T, &'static str>,
    ) -> Result<Result<T, WireError>, WireError> {
        if let Some(known) = &self.known
            && known.holds(decoder)
            && self.bytes == block
        {
            decoder.insert(&self.fields, known.effects.inserts);
            return Ok(self.verdict);
        }
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

    /// The fields of the block that was read last.
    pub(super) fn fields(&self) -> &Headers {
        &self.fields
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// The first byte of the first value.
    fn first(fields: &Headers) -> Result<u8, &'static str> {
        fields.iter().next().and_then(|(_, value)| value.first().copied()).ok_or("no field")
    }

    fn read(last: &mut LastBlock<u8>, decoder: &mut Decoder, block: &[u8]) -> Result<u8, WireError> {
        last.read(block, decoder, first).expect("the block is sound")
    }

    #[test]
    fn a_block_that_comes_again_means_the_same() {
        let (mut last, mut decoder) = (LastBlock::new(), Decoder::new());
        // Literal, not indexed: a = 1, then a = 2.
        for (block, value) in
            [(b"\x00\x01a\x011", b'1'), (b"\x00\x01a\x011", b'1'), (b"\x00\x01a\x012", b'2')]
        {
            assert_eq!(read(&mut last, &mut decoder, block), Ok(value));
            assert_eq!(last.fields().len(), 1);
        }
        assert_eq!(read(&mut last, &mut decoder, b""), Err(WireError::Malformed("no field")));
        assert_eq!(read(&mut last, &mut decoder, b""), Err(WireError::Malformed("no field")));
    }

    #[test]
    fn the_same_bytes_mean_something_else_when_the_table_has_changed() {
        let (mut last, mut decoder) = (LastBlock::new(), Decoder::new());
        // Literal with indexing: each inserts an entry, and 62 names the newest.
        for value in *b"123" {
            assert_eq!(read(&mut last, &mut decoder, &[0x40, 1, b'a', 1, value]), Ok(value));
            assert_eq!(read(&mut last, &mut decoder, &[0x80 | 62]), Ok(value));
            assert_eq!(read(&mut last, &mut decoder, &[0x80 | 62]), Ok(value));
        }
        // An empty table: the index names nothing, which ends the connection.
        assert_eq!(read(&mut last, &mut decoder, &[0x20, 0x82]), Ok(b'G'));
        assert_eq!(last.read(&[0x80 | 62], &mut decoder, first), Err(WireError::HpackError));
    }

    proptest! {
        /// Blocks of few kinds, so that many come again, by turns through one memory and through none.
        #[test]
        fn nothing_is_different_from_decoding_every_block(kinds in vec(0..BLOCKS.len(), 1..60)) {
            let (mut last, mut decoder, mut plain) = (LastBlock::new(), Decoder::new(), Decoder::new());
            for kind in kinds {
                let mut fields = Headers::new();
                let fit = plain.decode(BLOCKS[kind], &mut fields);
                let verdict = last.read(BLOCKS[kind], &mut decoder, first);
                prop_assert_eq!(verdict.is_ok(), fit.is_ok());
                if verdict.is_err() {
                    break;
                }
                prop_assert!(last.fields().iter().eq(fields.iter()));
                prop_assert_eq!(decoder.state(), plain.state());
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
