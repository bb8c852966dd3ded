//! The outer message as a sequence of records: a key, then a number or bytes.

use prost::encoding::{WireType, decode_key, decode_varint};

use crate::error::ReadError;

/// One field of the outer message.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece<'a> {
    /// Its number in `profile.proto`.
    pub(super) field: u32,
    /// The byte at which it begins.
    pub(super) at: usize,
    pub(super) body: Body<'a>,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Body<'a> {
    Number(u64),
    Bytes(&'a [u8]),
    /// Of a kind that this format does not use.
    Fixed,
}

/// Iterates over the records; ends after the first error.
pub(super) struct Pieces<'a> {
    whole: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Pieces<'a> {
    pub(super) fn of(whole: &'a [u8]) -> Self {
        Pieces { whole, rest: whole }
    }

    fn piece(&mut self) -> Result<Piece<'a>, &'static str> {
        let at = self.whole.len() - self.rest.len();
        let (field, kind) = decode_key(&mut self.rest).map_err(|_| "this is not the beginning of a field")?;
        let body = match kind {
            WireType::Varint => {
                Body::Number(decode_varint(&mut self.rest).map_err(|_| "a number is cut off or too long")?)
            }
            WireType::LengthDelimited => {
                let length = decode_varint(&mut self.rest).map_err(|_| "a length is cut off or too long")?;
                Body::Bytes(self.take(length)?)
            }
            WireType::SixtyFourBit => self.take(8).map(|_| Body::Fixed)?,
            WireType::ThirtyTwoBit => self.take(4).map(|_| Body::Fixed)?,
            WireType::StartGroup | WireType::EndGroup => {
                return Err("a group, which this format does not use");
            }
        };
        Ok(Piece { field, at, body })
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], &'static str> {
        let split = usize::try_from(length).ok().and_then(|length| self.rest.split_at_checked(length));
        let (bytes, rest) = split.ok_or("a field is longer than the rest: the file is cut off")?;
        self.rest = rest;
        Ok(bytes)
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Result<Piece<'a>, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let at = self.whole.len() - self.rest.len();
        Some(self.piece().map_err(|why| {
            self.rest = &[];
            ReadError::Broken { at, why }
        }))
    }
}
