//! The five-byte prefix around each message, written and read.

/// The longest response message taken unless the caller says otherwise.
pub const MAX_MESSAGE_BYTES: usize = 16 << 20;
const PREFIX_BYTES: usize = 5;
/// Capacity that a deframer keeps between calls.
const KEEP_BYTES: usize = 64 << 10;

/// Append `message` with its prefix: uncompressed flag and length, big-endian.
///
/// # Panics
/// When the message is 4 GiB or longer, which no request of a load generator is.
pub fn frame_message(out: &mut Vec<u8>, message: &[u8]) {
    out.reserve(PREFIX_BYTES + message.len());
    let start = begin_message(out);
    out.extend_from_slice(message);
    end_message(out, start);
}

/// Append the prefix of a message that will be encoded in place after it; [`end_message`] fills it in.
pub fn begin_message(out: &mut Vec<u8>) -> usize {
    out.extend_from_slice(&[0; PREFIX_BYTES]);
    out.len()
}

/// Fill in the prefix of the message that begins at `start`, as [`begin_message`] returned it, and ends with
/// `out`.
///
/// # Panics
/// When the message is 4 GiB or longer, which no request of a load generator is.
pub fn end_message(out: &mut [u8], start: usize) {
    let length = u32::try_from(out.len() - start).expect("a message's length fits the prefix");
    out[start - 4..start].copy_from_slice(&length.to_be_bytes());
}

/// Say in the prefix of the message that begins at `start` that it is compressed.
pub fn mark_compressed(out: &mut [u8], start: usize) {
    out[start - PREFIX_BYTES] = 1;
}

/// A message with its prefix, as it came.
#[derive(Debug, Clone, Copy)]
pub struct Framed<'a> {
    bytes: &'a [u8],
    /// With the bytes that a deframer did not keep.
    length: usize,
}

impl<'a> Framed<'a> {
    /// The one message that `body` consists of.
    ///
    /// # Errors
    /// [`MessageError`] when the body is none or more than that one message.
    pub fn single(body: &'a [u8]) -> Result<Framed<'a>, MessageError> {
        let first = Framed::first(body)?;
        if first.length < body.len() { Err(MessageError::Surplus) } else { Ok(first) }
    }

    /// The first message of `body`.
    ///
    /// # Errors
    /// [`MessageError`] when it does not begin with a whole message.
    pub fn first(body: &'a [u8]) -> Result<Framed<'a>, MessageError> {
        let prefix = body.first_chunk::<PREFIX_BYTES>().ok_or(MessageError::Truncated)?;
        let claimed = read_prefix(prefix)? as usize;
        body.get(..PREFIX_BYTES + claimed).map(Framed::whole).ok_or(MessageError::Truncated)
    }

    fn whole(bytes: &'a [u8]) -> Framed<'a> {
        Framed { bytes, length: bytes.len() }
    }

    /// With its prefix; from a [`Deframer`] only as much as that keeps.
    pub fn bytes(self) -> &'a [u8] {
        self.bytes
    }

    /// How many bytes it has in all, with its prefix.
    pub fn length(self) -> usize {
        self.length
    }

    /// Whether it was compressed, in the way that the header `grpc-encoding` says.
    pub fn is_compressed(self) -> bool {
        self.bytes[0] == 1
    }

    /// Without its prefix, compressed or not.
    pub fn payload(self) -> &'a [u8] {
        &self.bytes[PREFIX_BYTES..]
    }

    /// Without its prefix.
    ///
    /// # Errors
    /// [`MessageError::Compressed`] when it is.
    pub fn message(self) -> Result<&'a [u8], MessageError> {
        if self.is_compressed() { Err(MessageError::Compressed) } else { Ok(self.payload()) }
    }
}

/// The one message, not compressed, that a whole response body of a unary call consists of.
///
/// # Errors
/// [`MessageError`] when the body is none or more than that one message.
pub fn single_message(body: &[u8]) -> Result<&[u8], MessageError> {
    Framed::single(body)?.message()
}

fn read_prefix(prefix: &[u8; PREFIX_BYTES]) -> Result<u32, MessageError> {
    let [flag, length @ ..] = *prefix;
    match flag {
        0 | 1 => Ok(u32::from_be_bytes(length)),
        _ => Err(MessageError::Prefix),
    }
}

/// Why a response body is not a sequence of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// The flag asks for a decompression that was not offered.
    #[error("the response message is compressed, which was not asked for")]
    Compressed,
    /// The flag is neither 0 nor 1.
    #[error("the response message's prefix is not gRPC")]
    Prefix,
    /// Longer than the deframer's limit.
    #[error("the response message is too long: {0} bytes")]
    TooLong(u32),
    /// The body ended inside a message.
    #[error("the response ended inside a message")]
    Truncated,
    /// A unary response of more than one message.
    #[error("the response continues after its message")]
    Surplus,
}

/// Takes a response body in pieces and yields its messages. Reusable: a message that lies whole in one
/// piece is passed on without a copy.
#[derive(Debug)]
pub struct Deframer {
    limit_bytes: usize,
    /// What has arrived of the message in progress, prefix included, as far as it is kept.
    gathered: Vec<u8>,
    /// How much of it was not kept.
    skipped: usize,
    keep_bytes: usize,
    messages: u64,
}

impl Default for Deframer {
    fn default() -> Self {
        Deframer::new(MAX_MESSAGE_BYTES)
    }
}

impl Deframer {
    /// Messages above `limit_bytes` are an error.
    pub fn new(limit_bytes: usize) -> Self {
        Deframer { limit_bytes, gathered: Vec::new(), skipped: 0, keep_bytes: usize::MAX, messages: 0 }
    }

    /// Of a message that comes in several pieces keep so many bytes from now on, with its prefix.
    pub fn keep_at_most(&mut self, bytes: usize) {
        self.keep_bytes = bytes;
    }

    /// How many bytes of a message in progress are kept.
    pub fn kept_bytes(&self) -> usize {
        self.gathered.len()
    }

    /// Take a piece of the body; `on_message` gets each message that it completes. After an error the
    /// deframer must be `clear`ed.
    pub fn push(
        &mut self,
        mut piece: &[u8],
        mut on_message: impl FnMut(Framed<'_>),
    ) -> Result<(), MessageError> {
        while !piece.is_empty() {
            if self.gathered.is_empty()
                && let Some(length) = self.message_length(piece)?
                && let Some(framed) = piece.get(..PREFIX_BYTES + length)
            {
                self.messages += 1;
                on_message(Framed::whole(framed));
                piece = &piece[PREFIX_BYTES + length..];
                continue;
            }
            piece = self.gather(piece, &mut on_message)?;
        }
        Ok(())
    }

    /// Gather up to the end of the prefix or of the message, whichever is next. Memory grows with what has
    /// arrived, never with what the prefix claims.
    fn gather<'a>(
        &mut self,
        piece: &'a [u8],
        on_message: &mut impl FnMut(Framed<'_>),
    ) -> Result<&'a [u8], MessageError> {
        let needed = match self.message_length(&self.gathered)? {
            None => PREFIX_BYTES,
            Some(length) => PREFIX_BYTES + length,
        };
        let taken = piece.len().min(needed - self.gathered.len() - self.skipped);
        let space = self.keep_bytes.max(PREFIX_BYTES).saturating_sub(self.gathered.len());
        // What comes after bytes that were not kept is not kept either.
        let kept = if self.skipped > 0 { 0 } else { taken.min(space) };
        self.gathered.extend_from_slice(&piece[..kept]);
        self.skipped += taken - kept;
        let Some(length) = self.message_length(&self.gathered)? else { return Ok(&piece[taken..]) };
        let length = PREFIX_BYTES + length;
        if self.gathered.len() + self.skipped == length {
            self.messages += 1;
            on_message(Framed { bytes: &self.gathered, length });
            self.gathered.clear();
            self.skipped = 0;
        }
        Ok(&piece[taken..])
    }

    /// From a prefix; `None` while that is incomplete.
    fn message_length(&self, framed: &[u8]) -> Result<Option<usize>, MessageError> {
        let Some(prefix) = framed.first_chunk::<PREFIX_BYTES>() else { return Ok(None) };
        let claimed = read_prefix(prefix)?;
        match usize::try_from(claimed) {
            Ok(length) if length <= self.limit_bytes => Ok(Some(length)),
            _ => Err(MessageError::TooLong(claimed)),
        }
    }

    /// The body is complete: how many messages it held (a unary response holds one).
    pub fn finish(&self) -> Result<u64, MessageError> {
        if self.gathered.is_empty() { Ok(self.messages) } else { Err(MessageError::Truncated) }
    }

    /// Ready for the next response; the memory is kept.
    pub fn clear(&mut self) {
        self.gathered.clear();
        self.gathered.shrink_to(KEEP_BYTES);
        self.skipped = 0;
        self.keep_bytes = usize::MAX;
        self.messages = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &[u8], expect: Result<&[&str], MessageError>) {
        for size in [1, 2, 4, 5, 6, 7, 1000] {
            let mut deframer = Deframer::new(10);
            let mut seen = Vec::new();
            let mut result = Ok(0);
            for piece in body.chunks(size) {
                let take = |m: Framed<'_>| seen.push(String::from_utf8(m.payload().to_vec()).unwrap());
                let push = deframer.push(piece, take);
                result = result.and(push.map(|()| 0));
            }
            let result = result.and(deframer.finish()).map(|_| &seen[..]);
            assert_eq!(result.map(|s| s.iter().map(String::as_str).collect()), expect.map(<[_]>::to_vec));
        }
    }

    #[test]
    fn messages_survive_framing_in_any_pieces() {
        let mut body = Vec::new();
        for message in ["hello", "", "0123456789"] {
            frame_message(&mut body, message.as_bytes());
        }
        check(&body, Ok(&["hello", "", "0123456789"]));
        check(b"", Ok(&[]));
    }

    #[test]
    fn of_a_long_message_no_more_is_kept_than_asked_for() {
        let mut body = Vec::new();
        for message in ["0123456789", "hi"] {
            frame_message(&mut body, message.as_bytes());
        }
        for size in [1, 4, 6, 7, 14] {
            let mut deframer = Deframer::new(10);
            deframer.keep_at_most(7);
            let mut seen = Vec::new();
            for piece in body.chunks(size) {
                deframer.push(piece, |m| seen.push((m.payload().to_vec(), m.length()))).unwrap();
                assert!(deframer.kept_bytes() <= 7);
            }
            assert_eq!(seen, [(b"01".to_vec(), 15), (b"hi".to_vec(), 7)], "pieces of {size}");
            assert_eq!(deframer.finish(), Ok(2));
        }
    }

    #[test]
    fn a_unary_body_is_one_message() {
        let mut body = Vec::new();
        frame_message(&mut body, b"hello");
        assert_eq!(body, b"\0\0\0\0\x05hello");
        assert_eq!(single_message(&body), Ok(&b"hello"[..]));
        assert_eq!(single_message(&body[..9]), Err(MessageError::Truncated));
        assert_eq!(single_message(b""), Err(MessageError::Truncated));
        assert_eq!(single_message(b"\x01\0\0\0\0"), Err(MessageError::Compressed));
        assert_eq!(single_message(b"<html>"), Err(MessageError::Prefix));
        frame_message(&mut body, b"");
        assert_eq!(single_message(&body), Err(MessageError::Surplus));
        assert_eq!(Framed::first(&body).unwrap().payload(), b"hello");
        mark_compressed(&mut body, 5);
        assert!(Framed::first(&body).unwrap().is_compressed());
    }

    #[test]
    fn what_is_no_message_is_an_error() {
        check(b"\0\0\0\0\x02a", Err(MessageError::Truncated));
        check(b"\0\0\0", Err(MessageError::Truncated));
        check(b"\0\0\0\0\x0b", Err(MessageError::TooLong(11)));
        check(b"\0\xff\xff\xff\xff", Err(MessageError::TooLong(u32::MAX)));
        check(b"<html>", Err(MessageError::Prefix));
    }
}
