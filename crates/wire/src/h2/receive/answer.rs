//! Responses: header blocks, data, and the ends of streams.

use super::{Block, Incoming, MAX_BLOCK_BYTES, MAX_BLOCK_FRAMES, MAX_EMPTY_DATA};
use crate::error::WireError;
use crate::event::{Event, Events, MAX_INTERIM, OpenRequest, ResponseHead};
use crate::h2::Connection;
use crate::h2::frame::{self, FrameHeader, code, flag, kind};
use crate::h2::output::CONNECTION;
use crate::h2::response::Head;
use crate::h2::settings::{CONNECTION_WINDOW, STREAM_WINDOW};
use crate::h2::stream::{Ending, Progress, ResponseBody};

impl Connection {
    pub(super) fn on_headers(
        &mut self,
        header: &FrameHeader,
        payload: &[u8],
        events: &mut dyn Events,
    ) -> Result<(), WireError> {
        self.check_known(header.stream)?;
        let mut fragment = frame::without_padding(header, payload)?;
        if header.has(flag::PRIORITY) {
            fragment = fragment.get(5..).ok_or(WireError::FrameSize)?;
        }
        if header.has(flag::END_HEADERS) {
            return self.on_block(header, fragment, events);
        }
        self.count(header);
        self.incoming.block = Some(Block { stream: header.stream, flags: header.flags, frames: 1 });
        self.incoming.block_bytes.clear();
        self.incoming.block_bytes.extend_from_slice(fragment);
        Ok(())
    }

    pub(super) fn on_continuation(
        &mut self,
        header: &FrameHeader,
        payload: &[u8],
        events: &mut dyn Events,
    ) -> Result<(), WireError> {
        let Incoming { block: Some(block), block_bytes, .. } = &mut self.incoming else {
            return Err(WireError::Malformed("a continuation of nothing"));
        };
        block.frames += 1;
        if block.frames > MAX_BLOCK_FRAMES {
            return Err(WireError::Flood("continuations of a header block"));
        }
        if block_bytes.len() + payload.len() > MAX_BLOCK_BYTES {
            return Err(WireError::HeadTooLarge);
        }
        block_bytes.extend_from_slice(payload);
        if !header.has(flag::END_HEADERS) {
            self.count(header);
            return Ok(());
        }
        let whole = FrameHeader { flags: block.flags, ..*header };
        self.incoming.block = None;
        let bytes = std::mem::take(&mut self.incoming.block_bytes);
        let result = self.on_block(&whole, &bytes, events);
        self.incoming.block_bytes = bytes;
        result
    }

    /// Count a frame for its stream, where nothing else is done with that.
    pub(super) fn count(&mut self, header: &FrameHeader) {
        if let Some(stream) = self.streams.get_mut(header.stream) {
            stream.count(header);
        }
    }

    /// A whole header block. It is decoded even for a stream that is gone, because later blocks build on it.
    fn on_block(
        &mut self,
        header: &FrameHeader,
        block: &[u8],
        events: &mut dyn Events,
    ) -> Result<(), WireError> {
        let stream = self.streams.get_mut(header.stream);
        let progress = stream.map(|stream| {
            stream.count(header);
            stream.progress
        });
        let result = match progress {
            Some(Progress::AwaitsHead) => {
                let head = self.blocks.read_head(block)?;
                head.and_then(|head| self.on_head(header, head, events))
            }
            Some(Progress::HasHead) => {
                let trailers = self.blocks.read_trailers(block)?;
                self.on_trailers(header, trailers, events)
            }
            None => return self.blocks.read_trailers(block).map(drop),
        };
        self.fail_stream_on_error(header.stream, result, events);
        Ok(())
    }

    /// An error is the stream's, here and below.
    fn on_head(
        &mut self,
        header: &FrameHeader,
        head: Head,
        events: &mut dyn Events,
    ) -> Result<(), WireError> {
        let ends = header.has(flag::END_STREAM);
        if head.status < 200 {
            if ends || head.status == 101 {
                return Err(WireError::Malformed("an interim response that cannot be one"));
            }
            let Some(stream) = self.streams.get_mut(header.stream) else { return Ok(()) };
            stream.interim += 1;
            return match stream.interim > MAX_INTERIM {
                true => Err(WireError::Malformed("too many interim responses")),
                false => Ok(()),
            };
        }
        let Some(stream) = self.streams.get_mut(header.stream) else { return Ok(()) };
        stream.progress = Progress::HasHead;
        if stream.body == ResponseBody::Possible && head.status != 304 {
            stream.content_length = head.content_length;
        }
        let token = stream.token;
        if ends && stream.content_length.is_some_and(|length| length > 0) {
            return Err(WireError::BodyLength);
        }
        let headers = self.blocks.head().view_from(1);
        events.event(Event::Head {
            token,
            head: ResponseHead { status: head.status, headers, deviations: head.deviations },
        });
        if ends {
            if headers.get(b"grpc-status").is_some() {
                events.event(Event::Trailers { token, headers });
            }
            self.finish(header.stream, events);
        }
        Ok(())
    }

    fn on_trailers(
        &mut self,
        header: &FrameHeader,
        trailers: Result<(), WireError>,
        events: &mut dyn Events,
    ) -> Result<(), WireError> {
        if !header.has(flag::END_STREAM) {
            return Err(WireError::Malformed("a second response head"));
        }
        trailers?;
        let Some(stream) = self.streams.get(header.stream) else { return Ok(()) };
        if stream.content_length.is_some_and(|length| length != stream.received_bytes) {
            return Err(WireError::BodyLength);
        }
        events.event(Event::Trailers { token: stream.token, headers: self.blocks.trailers().view() });
        self.finish(header.stream, events);
        Ok(())
    }

    pub(super) fn on_data(
        &mut self,
        header: &FrameHeader,
        payload: &[u8],
        events: &mut dyn Events,
    ) -> Result<(), WireError> {
        self.check_known(header.stream)?;
        self.take_connection_window(payload.len())?;
        let data = frame::without_padding(header, payload)?;
        self.incoming.empty_data += 1;
        if !data.is_empty() || header.has(flag::END_STREAM) {
            self.incoming.empty_data = 0;
        }
        if self.incoming.empty_data > MAX_EMPTY_DATA {
            return Err(WireError::Flood("empty DATA frames"));
        }
        let result = self.on_stream_data(header, data, events);
        self.fail_stream_on_error(header.stream, result, events);
        Ok(())
    }

    fn on_stream_data(
        &mut self,
        header: &FrameHeader,
        data: &[u8],
        events: &mut dyn Events,
    ) -> Result<(), WireError> {
        let Some(stream) = self.streams.get_mut(header.stream) else { return Ok(()) };
        stream.count(header);
        if stream.progress == Progress::AwaitsHead {
            return Err(WireError::Malformed("a body before its head"));
        }
        stream.unreturned_bytes += header.length as u32;
        if stream.unreturned_bytes > STREAM_WINDOW {
            return Err(WireError::FlowControl);
        }
        stream.received_bytes += data.len() as u64;
        let (received, ends) = (stream.received_bytes, header.has(flag::END_STREAM));
        if stream.content_length.is_some_and(|length| received > length || (ends && received < length)) {
            return Err(WireError::BodyLength);
        }
        if stream.body == ResponseBody::Impossible && received > 0 {
            return Err(WireError::Malformed("a body in answer to HEAD"));
        }
        let token = stream.token;
        if !ends && stream.unreturned_bytes >= STREAM_WINDOW / 2 {
            let returned = std::mem::take(&mut stream.unreturned_bytes);
            self.out.append(CONNECTION, |out| {
                frame::write_number(out, kind::WINDOW_UPDATE, header.stream, returned);
            });
        }
        if !data.is_empty() {
            events.event(Event::Body { token, chunk: data });
        }
        if ends {
            self.finish(header.stream, events);
        }
        Ok(())
    }

    /// Count received bytes, padding included, against the connection's window, and give it back by halves.
    fn take_connection_window(&mut self, bytes: usize) -> Result<(), WireError> {
        let unreturned = &mut self.incoming.unreturned_bytes;
        *unreturned += bytes as u32;
        if *unreturned > CONNECTION_WINDOW {
            return Err(WireError::FlowControl);
        }
        if *unreturned >= CONNECTION_WINDOW / 2 {
            let returned = std::mem::take(unreturned);
            self.out.append(CONNECTION, |out| frame::write_number(out, kind::WINDOW_UPDATE, 0, returned));
        }
        Ok(())
    }

    /// The response is complete. If the request is not, the peer does not need the rest.
    pub(super) fn finish(&mut self, id: u32, events: &mut dyn Events) {
        let Some(stream) = self.remove(id) else { return };
        let OpenRequest { token, bytes, .. } = self.request_of(id, &stream);
        if !stream.unsent.is_empty() || stream.ending == Ending::Open {
            self.reset(id, code::CANCEL);
        }
        events.event(Event::Done { token, bytes });
    }

    pub(super) fn fail_stream_on_error(
        &mut self,
        id: u32,
        result: Result<(), WireError>,
        events: &mut dyn Events,
    ) {
        if let Err(error) = result
            && let Some(stream) = self.remove(id)
        {
            let request = self.request_of(id, &stream);
            self.reset(id, frame::code_of(&error));
            events.event(Event::Failed { request, error });
        }
    }
}
