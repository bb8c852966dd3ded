//! Frames that carry no response: windows, settings, pings, resets, farewells.

use crate::error::WireError;
use crate::event::{Event, Events};
use crate::h2::Connection;
use crate::h2::frame::{self, FrameHeader, MAX_31_BITS, code, flag, kind};
use crate::h2::output::CONNECTION;

impl Connection {
    pub(super) fn on_window_update(
        &mut self,
        header: &FrameHeader,
        payload: &[u8],
        events: &mut dyn Events,
    ) -> Result<(), WireError> {
        let bytes = frame::read_number(payload)? & MAX_31_BITS;
        if header.stream == 0 {
            if bytes == 0 {
                return Err(WireError::Malformed("a window update of nothing"));
            }
            self.send_window += i64::from(bytes);
            if self.send_window > i64::from(MAX_31_BITS) {
                return Err(WireError::FlowControl);
            }
            self.send_held();
            return Ok(());
        }
        self.check_known(header.stream)?;
        let result = match bytes {
            0 => Err(WireError::Malformed("a window update of nothing")),
            _ => self.widen_stream(header.stream, bytes),
        };
        self.fail_stream_on_error(header.stream, result, events);
        Ok(())
    }

    pub(super) fn on_settings(&mut self, header: &FrameHeader, payload: &[u8]) -> Result<(), WireError> {
        check_connection_frame(header)?;
        if header.has(flag::ACK) {
            return if payload.is_empty() { Ok(()) } else { Err(WireError::FrameSize) };
        }
        let before = self.peer;
        self.peer = before.changed_by(payload)?;
        if !std::mem::replace(&mut self.incoming.greeted, true) {
            self.incoming.first_after_settings = self.next_id;
        }
        if self.peer.header_table_bytes != before.header_table_bytes {
            self.encoder.allow_table(self.peer.header_table_bytes as usize);
        }
        self.incoming.count_reply()?;
        let ack = FrameHeader { length: 0, kind: kind::SETTINGS, flags: flag::ACK, stream: 0 };
        self.out.append(CONNECTION, |out| ack.write(out));
        self.shift_windows(i64::from(self.peer.initial_window) - i64::from(before.initial_window))
    }

    pub(super) fn on_ping(&mut self, header: &FrameHeader, payload: &[u8]) -> Result<(), WireError> {
        check_connection_frame(header)?;
        if payload.len() != 8 {
            return Err(WireError::FrameSize);
        }
        if header.has(flag::ACK) {
            return Ok(());
        }
        self.incoming.count_reply()?;
        self.out.append(CONNECTION, |out| {
            FrameHeader { length: 8, kind: kind::PING, flags: flag::ACK, stream: 0 }.write(out);
            out.extend_from_slice(payload);
        });
        Ok(())
    }

    pub(super) fn on_reset(
        &mut self,
        header: &FrameHeader,
        payload: &[u8],
        events: &mut dyn Events,
    ) -> Result<(), WireError> {
        self.check_known(header.stream)?;
        let code = frame::read_number(payload)?;
        let Some(mut stream) = self.remove(header.stream) else { return Ok(()) };
        stream.count(header);
        let request = self.request_of(header.stream, &stream);
        events.event(match code {
            code::REFUSED_STREAM => {
                let is_early = header.stream < self.incoming.first_after_settings;
                let error = match is_early && header.stream / 2 >= self.peer.max_concurrent_streams {
                    true => WireError::RefusedBeforeSettings,
                    false => WireError::RefusedStream,
                };
                Event::Failed { request: stream.refused(request), error }
            }
            other => Event::Failed { request, error: WireError::StreamReset(other) },
        });
        Ok(())
    }

    pub(super) fn on_goaway(
        &mut self,
        header: &FrameHeader,
        payload: &[u8],
        events: &mut dyn Events,
    ) -> Result<(), WireError> {
        check_connection_frame(header)?;
        let (words, _) = payload.as_chunks::<4>();
        let [last, code, ..] = *words else { return Err(WireError::FrameSize) };
        let (last, code) = (u32::from_be_bytes(last) & MAX_31_BITS, u32::from_be_bytes(code));
        self.going_away = Some((last, code));
        let mut beyond: Vec<u32> = self.streams.iter().map(|(id, _)| id).filter(|&id| id > last).collect();
        beyond.sort_unstable();
        for id in beyond {
            let Some(stream) = self.remove(id) else { continue };
            let request = stream.refused(self.request_of(id, &stream));
            events.event(Event::Failed { request, error: WireError::GoAway(code) });
        }
        Ok(())
    }
}

fn check_connection_frame(header: &FrameHeader) -> Result<(), WireError> {
    if header.stream == 0 { Ok(()) } else { Err(WireError::Malformed("a connection frame on a stream")) }
}
