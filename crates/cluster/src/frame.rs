//! How messages are delimited: their length in four bytes, the highest first, one byte for their kind, then so many bytes
//! less one.

use serde::Deserialize;

use crate::ClusterError;

/// The version of the protocol. Both sides have the same one, or nothing is offered.
pub const PROTOCOL: u16 = 8;
/// The longest frame of a peer that has not proved who it is.
pub const MOST_OF_STRANGERS: usize = 4 * 1024;
/// The longest frame.
pub const MOST_BYTES: usize = 64 << 20;

/// What a frame contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub enum FrameKind {
    /// A message in JSON: [`crate::message`].
    Message,
    /// A part of a second of one loop: [`crate::tick`].
    Tick,
    /// Samples and notices of the worker's observers.
    Observed,
    /// The next bytes of a file.
    FilePart,
    /// The coordinator asks for the worker's clock.
    Ping,
    /// The worker's clock.
    Pong,
    /// A value that the run's setup extracted.
    SetupVariable,
    /// A part of a second of the run's setup.
    SetupTick,
}

impl FrameKind {
    fn from_byte(byte: u8) -> Option<FrameKind> {
        postcard::from_bytes(&[byte]).ok()
    }
}

/// One message as it was received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// What it contains.
    pub kind: FrameKind,
    pub content: Vec<u8>,
}

/// Append a frame, whose content `write` appends.
///
/// # Errors
/// [`ClusterError::Malformed`] when it is longer than a frame may be; nothing is then appended.
pub fn append(
    to: &mut Vec<u8>,
    kind: FrameKind,
    write: impl FnOnce(&mut Vec<u8>),
) -> Result<(), ClusterError> {
    let begin = to.len();
    to.extend_from_slice(&[0, 0, 0, 0, kind as u8]);
    write(to);
    let length = to.len() - begin - 4;
    if length > MOST_BYTES {
        to.truncate(begin);
        return Err(ClusterError::malformed(format!("a message of {length} bytes is too long to be sent")));
    }
    to[begin..begin + 4].copy_from_slice(&(length as u32).to_be_bytes());
    Ok(())
}

/// Received bytes, of which frames are taken.
#[derive(Debug)]
pub struct FrameReader {
    bytes: Vec<u8>,
    /// How many of them were taken.
    taken: usize,
    most: usize,
}

impl FrameReader {
    /// Of a peer whose frames are at most so long.
    pub fn new(most: usize) -> FrameReader {
        FrameReader { bytes: Vec::new(), taken: 0, most }
    }

    /// From now on frames may be so long.
    pub fn allow(&mut self, most: usize) {
        self.most = most;
    }

    /// Add what was received.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.taken > 0 {
            self.bytes.drain(..self.taken);
            self.taken = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next frame, if all of it is there.
    ///
    /// # Errors
    /// [`ClusterError::Malformed`] when what follows is not a frame of this protocol.
    pub fn take(&mut self) -> Result<Option<Frame>, ClusterError> {
        let rest = &self.bytes[self.taken..];
        if is_tls(rest) {
            return Err(ClusterError::KeysThereOnly);
        }
        if rest.starts_with(b"HTTP") {
            return Err(ClusterError::HttpServer);
        }
        if HTTP_METHODS.iter().any(|method| rest.starts_with(*method)) {
            return Err(ClusterError::HttpClient);
        }
        let Some((length, rest)) = rest.split_first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_be_bytes(*length) as usize;
        if length == 0 || length > self.most {
            return Err(ClusterError::malformed(format!("a message cannot be {length} bytes long")));
        }
        // The kind is checked before the content is waited for.
        let Some(kind) = rest.first() else { return Ok(None) };
        let kind = FrameKind::from_byte(*kind)
            .ok_or_else(|| ClusterError::malformed(format!("there is no message of kind {kind}")))?;
        let Some(content) = rest.get(1..length) else { return Ok(None) };
        let content = content.to_vec();
        self.taken += 4 + length;
        Ok(Some(Frame { kind, content }))
    }

    /// Whether a whole frame waits to be taken, or something that is none.
    pub fn has_frame(&self) -> bool {
        let rest = &self.bytes[self.taken..];
        let length = rest.first_chunk::<4>().map(|length| u32::from_be_bytes(*length) as usize);
        length.is_some_and(|length| length == 0 || length > self.most || rest.len() >= 4 + length)
    }

    /// Whether a frame has begun that is not complete.
    pub fn is_in_mid_message(&self) -> bool {
        self.bytes.len() > self.taken
    }
}

/// What requests of HTTP begin with. As a length it is more than any frame has.
const HTTP_METHODS: [&[u8; 4]; 7] = [b"GET ", b"HEAD", b"POST", b"PUT ", b"DELE", b"OPTI", b"PRI "];

/// Whether these are the first bytes of a record of TLS with a handshake or an alert. As a length they are more than any frame has.
fn is_tls(bytes: &[u8]) -> bool {
    matches!(bytes, [0x15 | 0x16, 0x03, ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_is_named() {
        let taken = |bytes: &[u8]| {
            let mut reader = FrameReader::new(MOST_OF_STRANGERS);
            reader.push(bytes);
            reader.take().unwrap_err()
        };
        assert!(matches!(taken(b"HTTP/1.1 400 Bad Request\r\n"), ClusterError::HttpServer));
        assert!(matches!(taken(b"GET / HTTP/1.1\r\n"), ClusterError::HttpClient));
        assert!(matches!(taken(b"XXXX"), ClusterError::Malformed(_)));
    }

    fn sample() -> Vec<u8> {
        let mut bytes = Vec::new();
        append(&mut bytes, FrameKind::Ping, |to| to.extend_from_slice(b"12345678")).unwrap();
        append(&mut bytes, FrameKind::Message, |to| to.extend_from_slice(b"{}")).unwrap();
        bytes
    }

    #[test]
    fn frames_are_the_same_wherever_the_stream_is_cut() {
        let bytes = sample();
        for cut in 0..bytes.len() {
            let mut reader = FrameReader::new(100);
            let mut kinds = Vec::new();
            for part in [&bytes[..cut], &bytes[cut..]] {
                reader.push(part);
                while let Some(frame) = reader.take().unwrap() {
                    kinds.push((frame.kind, frame.content.len()));
                }
            }
            assert_eq!(kinds, [(FrameKind::Ping, 8), (FrameKind::Message, 2)]);
            assert!(!reader.is_in_mid_message());
        }
    }

    #[test]
    fn a_request_of_another_protocol_is_refused_before_it_is_complete() {
        let mut reader = FrameReader::new(MOST_OF_STRANGERS);
        reader.push(b"GET / HTTP/1.1\r\n");
        assert!(reader.take().is_err());
        let mut reader = FrameReader::new(MOST_OF_STRANGERS);
        reader.push(&[0, 0, 0, 2, 99]);
        assert!(reader.take().is_err());
    }
}
