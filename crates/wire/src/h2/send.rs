//! Requests on their way out: header blocks, bodies within the peer's windows, resets.

use super::Connection;
use super::frame::{self, FrameHeader, MAX_31_BITS, flag, kind};
use super::stream::{Ending, Progress, ResponseBody, Stream, Unsent};
use crate::Connection as _;
use crate::error::{StartError, WireError};
use crate::event::{Request, Token};

impl Connection {
    /// Open a stream, if there is capacity and the request can be sent.
    pub(super) fn send_request(
        &mut self,
        token: Token,
        request: &Request<'_>,
        ending: Ending,
    ) -> Result<u32, StartError> {
        if self.capacity() == 0 {
            return Err(StartError::NotReady);
        }
        self.request_block.encode(request, &mut self.encoder)?;
        let id = self.next_id;
        self.next_id += 2;
        let head_bytes = self.send_head(id, request, ending);
        let mut stream = Stream {
            token,
            body: if request.method == b"HEAD" { ResponseBody::Impossible } else { ResponseBody::Possible },
            progress: Progress::AwaitsHead,
            interim: 0,
            outgoing_bytes: head_bytes,
            incoming_bytes: 0,
            content_length: None,
            received_bytes: 0,
            unreturned_bytes: 0,
            send_window: i64::from(self.peer.initial_window),
            unsent: Unsent::default(),
            ending,
        };
        let mut rest = request.body;
        while !rest.is_empty() {
            let count = self.send_data(id, &mut stream, rest);
            if count == 0 {
                stream.unsent.hold(rest);
                stream.unsent.queued = stream.may_send();
                break;
            }
            rest = &rest[count..];
        }
        if stream.unsent.queued {
            self.ready.push_back(id);
        }
        self.streams.insert(id, stream);
        Ok(id)
    }

    /// Append a further part of a request's body; what the windows do not let go is kept until they do.
    pub(super) fn send_part(&mut self, id: u32, part: &[u8]) {
        let Some(stream) = self.streams.get_mut(id) else { return };
        stream.unsent.hold(part);
        self.queue(id);
        self.send_held();
    }

    /// No further part will come.
    pub(super) fn send_end(&mut self, id: u32) {
        let Some(stream) = self.streams.get_mut(id) else { return };
        if std::mem::replace(&mut stream.ending, Ending::Known) == Ending::Open && stream.unsent.is_empty() {
            let header = FrameHeader { length: 0, kind: kind::DATA, flags: flag::END_STREAM, stream: id };
            stream.outgoing_bytes += self.out.append(id, |out| header.write(out));
        }
    }

    /// Put a stream that may send into the queue of those that do.
    fn queue(&mut self, id: u32) {
        if let Some(stream) = self.streams.get_mut(id)
            && stream.may_send()
            && !stream.unsent.queued
        {
            stream.unsent.queued = true;
            self.ready.push_back(id);
        }
    }

    /// Append the frames of the encoded head, and say how many bytes they are.
    fn send_head(&mut self, id: u32, request: &Request<'_>, ending: Ending) -> u64 {
        let ends = request.body.is_empty() && ending == Ending::Known;
        let end_stream = if ends { flag::END_STREAM } else { 0 };
        let (block, most) = (self.request_block.bytes(), self.peer.max_frame_bytes as usize);
        self.out.append(id, |out| {
            let (mut kind, mut flags, mut rest) = (kind::HEADERS, end_stream, block);
            while rest.len() > most {
                let part = rest.split_off(..most).unwrap_or_default();
                FrameHeader { length: most, kind, flags, stream: id }.write(out);
                out.extend_from_slice(part);
                (kind, flags) = (kind::CONTINUATION, 0);
            }
            FrameHeader { length: rest.len(), kind, flags: flags | flag::END_HEADERS, stream: id }.write(out);
            out.extend_from_slice(rest);
        })
    }

    /// Append one DATA frame with as much of `rest` as the windows let go, and say how much that was.
    fn send_data(&mut self, id: u32, stream: &mut Stream, rest: &[u8]) -> usize {
        let window = self.send_window.min(stream.send_window).min(i64::from(self.peer.max_frame_bytes));
        let count = usize::try_from(window).unwrap_or(0).min(rest.len());
        if count == 0 {
            return 0;
        }
        let ends = count == rest.len() && stream.ending == Ending::Known;
        let flags = if ends { flag::END_STREAM } else { 0 };
        stream.outgoing_bytes += self.out.append(id, |out| {
            FrameHeader { length: count, kind: kind::DATA, flags, stream: id }.write(out);
            out.extend_from_slice(&rest[..count]);
        });
        self.send_window -= count as i64;
        stream.send_window -= count as i64;
        count
    }

    /// Send what the windows let go, a frame from each stream in turn.
    pub(super) fn send_held(&mut self) {
        while self.send_window > 0
            && let Some(id) = self.ready.pop_front()
        {
            let Some(mut stream) = self.streams.remove(id) else { continue };
            let mut unsent = std::mem::take(&mut stream.unsent);
            unsent.advance(self.send_data(id, &mut stream, unsent.rest()));
            stream.unsent = unsent;
            stream.unsent.queued = stream.may_send();
            if stream.unsent.queued {
                self.ready.push_back(id);
            }
            self.streams.insert(id, stream);
        }
    }

    /// The peer lets us send `bytes` more on one stream. An overflow is an error of that stream.
    pub(super) fn widen_stream(&mut self, id: u32, bytes: u32) -> Result<(), WireError> {
        let Some(stream) = self.streams.get_mut(id) else { return Ok(()) };
        stream.send_window += i64::from(bytes);
        if stream.send_window > i64::from(MAX_31_BITS) {
            return Err(WireError::FlowControl);
        }
        self.queue(id);
        self.send_held();
        Ok(())
    }

    /// The peer's initial window changed: so do the windows of all open streams, by as much.
    pub(super) fn shift_windows(&mut self, by: i64) -> Result<(), WireError> {
        if by == 0 {
            return Ok(());
        }
        for (id, stream) in self.streams.iter_mut() {
            stream.send_window += by;
            if stream.send_window > i64::from(MAX_31_BITS) {
                return Err(WireError::FlowControl);
            }
            if stream.may_send() && !stream.unsent.queued {
                stream.unsent.queued = true;
                self.ready.push_back(id);
            }
        }
        self.send_held();
        Ok(())
    }

    /// Append a RST_STREAM.
    pub(super) fn reset(&mut self, id: u32, code: u32) {
        self.out.append(id, |out| frame::write_number(out, kind::RST_STREAM, id, code));
    }

    /// Forget a stream, and what it still had to send.
    pub(super) fn remove(&mut self, id: u32) -> Option<Stream> {
        let stream = self.streams.remove(id)?;
        if stream.unsent.queued {
            self.ready.retain(|&queued| queued != id);
        }
        Some(stream)
    }
}
