//! Requests on their way out: header blocks, bodies within the peer's windows, resets.

use super::Connection;
use super::frame::{self, FrameHeader, HEADER_BYTES, MAX_31_BITS, flag, kind};
use super::hpack::Encoder;
use super::stream::{Ending, Progress, ResponseBody, Stream, Unsent};
use crate::decimal::Digits;
use crate::error::WireError;
use crate::event::{Request, Scheme, Token};
use crate::headers::Secrecy;

/// Indices of the static table (RFC 7541, appendix A).
const METHOD_GET: u8 = 2;
const METHOD_POST: u8 = 3;
const SCHEME_HTTP: u8 = 6;
const SCHEME_HTTPS: u8 = 7;

impl Connection {
    /// Open a stream. There is capacity, and the request has been checked.
    pub(super) fn send_request(&mut self, token: Token, request: &Request<'_>, ending: Ending) -> u32 {
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
        id
    }

    /// Append a further part of a request's body; what the windows do not let go is kept until they do.
    pub(super) fn send_part(&mut self, id: u32, part: &[u8]) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        stream.unsent.hold(part);
        self.queue(id);
        self.send_held();
    }

    /// No further part will come.
    pub(super) fn send_end(&mut self, id: u32) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        if std::mem::replace(&mut stream.ending, Ending::Known) == Ending::Open && stream.unsent.is_empty() {
            let header = FrameHeader { length: 0, kind: kind::DATA, flags: flag::END_STREAM, stream: id };
            stream.outgoing_bytes += self.out.append(id, |out| header.write(out));
        }
    }

    /// Put a stream that may send into the queue of those that do.
    fn queue(&mut self, id: u32) {
        if let Some(stream) = self.streams.get_mut(&id)
            && stream.may_send()
            && !stream.unsent.queued
        {
            stream.unsent.queued = true;
            self.ready.push_back(id);
        }
    }

    /// Append the frames of the head, and say how many bytes they are.
    fn send_head(&mut self, id: u32, request: &Request<'_>, ending: Ending) -> u64 {
        let Connection { out, encoder, peer, .. } = self;
        let ends = request.body.is_empty() && ending == Ending::Known;
        let end_stream = if ends { flag::END_STREAM } else { 0 };
        out.append(id, |out| {
            let start = out.len();
            out.extend_from_slice(&[0; HEADER_BYTES]);
            encode_head(encoder, out, request);
            frame_head(out, start, HeadFrames { id, end_stream, most: peer.max_frame_bytes as usize });
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
            let Some(mut stream) = self.streams.remove(&id) else { continue };
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
        let Some(stream) = self.streams.get_mut(&id) else { return Ok(()) };
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
        for (&id, stream) in &mut self.streams {
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
        let stream = self.streams.remove(&id)?;
        if stream.unsent.queued {
            self.ready.retain(|&queued| queued != id);
        }
        Some(stream)
    }
}

/// The frames of a header block.
struct HeadFrames {
    id: u32,
    end_stream: u8,
    /// The longest payload of a frame.
    most: usize,
}

/// Put the block that follows an empty frame header at `start` into one frame, or into several where it is too long.
fn frame_head(out: &mut Vec<u8>, start: usize, frames: HeadFrames) {
    let HeadFrames { id, end_stream, most } = frames;
    let block_start = start + HEADER_BYTES;
    let length = out.len() - block_start;
    if length <= most {
        let flags = flag::END_HEADERS | end_stream;
        let header = FrameHeader { length, kind: kind::HEADERS, flags, stream: id };
        out[start..block_start].copy_from_slice(&header.to_bytes());
        return;
    }
    let block = out.split_off(block_start);
    out.truncate(start);
    let parts = block.chunks(most);
    let last = parts.len() - 1;
    for (nth, part) in parts.enumerate() {
        let (kind, first_flags) =
            if nth == 0 { (kind::HEADERS, end_stream) } else { (kind::CONTINUATION, 0) };
        let flags = first_flags | if nth == last { flag::END_HEADERS } else { 0 };
        FrameHeader { length: part.len(), kind, flags, stream: id }.write(out);
        out.extend_from_slice(part);
    }
}

fn encode_head(encoder: &mut Encoder, out: &mut Vec<u8>, request: &Request<'_>) {
    encoder.begin(out);
    match request.method {
        b"GET" => Encoder::static_pair(out, METHOD_GET),
        b"POST" => Encoder::static_pair(out, METHOD_POST),
        other => encoder.field(out, b":method", other, Secrecy::Open),
    }
    let scheme = match request.scheme {
        Scheme::Http => SCHEME_HTTP,
        Scheme::Https => SCHEME_HTTPS,
    };
    Encoder::static_pair(out, scheme);
    encoder.field(out, b":authority", request.authority, Secrecy::Open);
    encoder.field(out, b":path", request.path, Secrecy::Open);
    let mut is_grpc = false;
    for (name, value, secrecy) in request.headers.iter_with_secrecy() {
        encoder.field(out, name, value, secrecy);
        is_grpc |= name.len() == 12 && name == b"content-type" && value.starts_with(b"application/grpc");
    }
    // gRPC frames its messages itself, and its clients send no length.
    if !request.body.is_empty() && !is_grpc {
        let length = Digits::of(request.body.len() as u64);
        encoder.field(out, b"content-length", length.as_bytes(), Secrecy::Open);
    }
}
