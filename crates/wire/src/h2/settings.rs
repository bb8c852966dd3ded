//! The SETTINGS of each side (RFC 9113, section 6.5).

use super::frame::{FrameHeader, MAX_31_BITS, PREFACE, kind, write_number};
use crate::error::WireError;

/// How much of a response's body the peer may send ahead. Nothing is kept here, so a large window costs no
/// memory, and the peer never waits for us.
pub(super) const STREAM_WINDOW: u32 = 8 << 20;
/// The same for the whole connection.
pub(super) const CONNECTION_WINDOW: u32 = 64 << 20;
/// What both windows and the peer's start with, unless settings say otherwise.
const INITIAL_WINDOW: u32 = 65_535;

const ENABLE_PUSH: u16 = 2;
const MAX_CONCURRENT_STREAMS: u16 = 3;
const INITIAL_WINDOW_SIZE: u16 = 4;
const MAX_FRAME_SIZE: u16 = 5;
const HEADER_TABLE_SIZE: u16 = 1;

/// The peer's settings as far as they concern a client.
#[derive(Debug, Clone, Copy)]
pub(super) struct PeerSettings {
    pub(super) header_table_bytes: u32,
    pub(super) max_concurrent_streams: u32,
    pub(super) initial_window: u32,
    pub(super) max_frame_bytes: u32,
}

impl PeerSettings {
    /// What holds until the peer's settings arrive. The standard bounds concurrency then by nothing, and
    /// recommends that peers allow no less than we send.
    pub(super) const BEFORE_ANY: PeerSettings = PeerSettings {
        header_table_bytes: 4096,
        max_concurrent_streams: super::MAX_OPEN_REQUESTS,
        initial_window: INITIAL_WINDOW,
        max_frame_bytes: 16 << 10,
    };

    /// These settings changed by a frame's payload; the last of several values counts.
    pub(super) fn changed_by(mut self, payload: &[u8]) -> Result<Self, WireError> {
        let (settings, rest) = payload.as_chunks::<6>();
        if !rest.is_empty() {
            return Err(WireError::FrameSize);
        }
        for &[i0, i1, v0, v1, v2, v3] in settings {
            self.set(u16::from_be_bytes([i0, i1]), u32::from_be_bytes([v0, v1, v2, v3]))?;
        }
        Ok(self)
    }

    fn set(&mut self, identifier: u16, value: u32) -> Result<(), WireError> {
        match identifier {
            HEADER_TABLE_SIZE => self.header_table_bytes = value,
            ENABLE_PUSH if value != 0 => {
                return Err(WireError::Malformed("a server that enables push"));
            }
            MAX_CONCURRENT_STREAMS => self.max_concurrent_streams = value,
            INITIAL_WINDOW_SIZE if value > MAX_31_BITS => return Err(WireError::FlowControl),
            INITIAL_WINDOW_SIZE => self.initial_window = value,
            MAX_FRAME_SIZE if !(16 << 10..1 << 24).contains(&value) => {
                return Err(WireError::Malformed("a maximum frame size out of its range"));
            }
            MAX_FRAME_SIZE => self.max_frame_bytes = value,
            _ => {}
        }
        Ok(())
    }
}

/// Append what a connection begins with: preface, our settings, and the wide connection window.
pub(super) fn write_opening(out: &mut Vec<u8>) {
    out.extend_from_slice(PREFACE);
    let ours = [(ENABLE_PUSH, 0), (INITIAL_WINDOW_SIZE, STREAM_WINDOW)];
    FrameHeader { length: 6 * ours.len(), kind: kind::SETTINGS, flags: 0, stream: 0 }.write(out);
    for (identifier, value) in ours {
        out.extend_from_slice(&identifier.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }
    write_number(out, kind::WINDOW_UPDATE, 0, CONNECTION_WINDOW - INITIAL_WINDOW);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(settings: &[(u16, u32)]) -> Result<PeerSettings, WireError> {
        let bytes: Vec<u8> =
            settings.iter().flat_map(|(i, v)| [&i.to_be_bytes()[..], &v.to_be_bytes()].concat()).collect();
        PeerSettings::BEFORE_ANY.changed_by(&bytes)
    }

    #[test]
    fn settings_are_taken_or_refused() {
        let changed = check(&[(3, 7), (4, 10), (4, 20), (5, 20_000), (1, 0), (99, 5), (2, 0)]).unwrap();
        let PeerSettings { header_table_bytes, max_concurrent_streams, initial_window, max_frame_bytes } =
            changed;
        assert_eq!(
            (header_table_bytes, max_concurrent_streams, initial_window, max_frame_bytes),
            (0, 7, 20, 20_000)
        );
        for wrong in [(2, 1), (4, 1 << 31), (5, 100), (5, 1 << 24)] {
            assert!(check(&[wrong]).is_err(), "{wrong:?}");
        }
        assert!(PeerSettings::BEFORE_ANY.changed_by(&[0; 5]).is_err());
    }
}
