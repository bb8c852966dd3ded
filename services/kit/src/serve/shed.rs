//! Refuses requests of HTTP/2 before anything of them is parsed, while the process is behind.
//!
//! A refusal by the server costs a third of what a request costs: the headers are decoded, a stream is kept, a response is
//! encoded. Ten times as many requests as a process can serve would take all of its time. Here a refused request costs
//! the look at two frames' headers: its frames are dropped, and a response that was encoded beforehand is written.
//!
//! Blocks of headers refer back to earlier ones, so none may be skipped that a later one can refer to. Most can be: they
//! only refer to what the first ones of their connection contain. For the others the client is asked, while the process
//! is behind, to refer to none (SETTINGS_HEADER_TABLE_SIZE of 0); until it has acknowledged that, the server refuses.
//!
//! A connection some of whose requests were refused is not read again for a moment: to read and write costs more than to
//! refuse, and so it is done for many requests at once. Where many connections have such requests, most wait for a turn.

mod header_table;
mod requests;
mod responses;
#[cfg(test)]
mod tests;

use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

use super::Gate;
use crate::backlog::{Read, TurnState};
use requests::{Requests, Sorted};
use responses::Responses;

/// Bytes that are read at once while the process is behind.
const READ_BYTES: usize = 32 * 1024;
/// Bytes for the client above which nothing more is read from it.
const MAX_REPLY_BYTES: usize = 64 * 1024;
/// Reads in a row without a byte for the server, after which other connections get their turn.
const MAX_READS: usize = 4;

/// A connection of HTTP/2 whose surplus requests are refused.
pub(super) struct Shedding<S = TcpStream> {
    stream: S,
    gate: Gate,
    requests: Requests,
    responses: Responses,
    /// Frames for the server.
    passed: Vec<u8>,
    /// How much of them it has.
    taken: usize,
    /// Frames for the client.
    replies: Vec<u8>,
    /// How much of them is written.
    sent: usize,
    /// Until it ends, nothing is read.
    pause: Option<Pin<Box<Sleep>>>,
    turn_state: TurnState,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Shedding<S> {
    pub(super) fn new(stream: S, gate: Gate) -> Self {
        Self {
            stream,
            gate,
            requests: Requests::default(),
            responses: Responses::default(),
            passed: Vec::new(),
            taken: 0,
            replies: Vec::new(),
            sent: 0,
            pause: None,
            turn_state: TurnState::default(),
        }
    }

    /// Hands on what was read for the server; false if that is nothing.
    fn hand_on(&mut self, buffer: &mut ReadBuf<'_>) -> bool {
        let rest = &self.passed[self.taken..];
        let count = rest.len().min(buffer.remaining());
        buffer.put_slice(&rest[..count]);
        self.taken += count;
        if self.taken == self.passed.len() {
            self.passed.clear();
            self.taken = 0;
        }
        count > 0
    }

    /// Writes the frames for the client, if they fit in now.
    fn poll_reply(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.sent < self.replies.len() && self.responses.is_between_frames() {
            let rest = &self.replies[self.sent..];
            self.sent += ready!(Pin::new(&mut self.stream).poll_write(context, rest))?;
        }
        if self.sent == self.replies.len() {
            self.replies.clear();
            self.sent = 0;
        }
        Poll::Ready(Ok(()))
    }

    /// Reads what has come, and sorts it; false at the end of the stream.
    fn poll_sort(&mut self, context: &mut Context<'_>, space: usize) -> Poll<io::Result<bool>> {
        let mut bytes = [MaybeUninit::uninit(); READ_BYTES];
        let mut input = ReadBuf::uninit(&mut bytes);
        let polled = Pin::new(&mut self.stream).poll_read(context, &mut input);
        if polled.is_pending() && self.turn_state.is_waiting() {
            // Nothing has come in its pause: it does not need a turn.
            self.turn_state = TurnState::default();
        }
        ready!(polled)?;
        let (passed, replies, refusal) = (&mut self.passed, &mut self.replies, self.gate.refusal_block());
        let mut sorted = Sorted { passed, replies, space, refusal };
        let refused = self.requests.sort(input.filled(), &mut sorted);
        let read = Read { passed: (space - sorted.space) as u64, refused, is_all: input.remaining() > 0 };
        self.pause = self.gate.after_read(&mut self.turn_state, read).map(|pause| Box::pin(sleep(pause)));
        Poll::Ready(Ok(!input.filled().is_empty()))
    }

    fn wrote(&mut self, bytes: &[u8]) {
        self.responses.written(bytes);
        let settings = self.responses.take_settings();
        self.requests.table.server_sent(settings);
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Shedding<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        for _ in 0..MAX_READS {
            if this.hand_on(buffer) {
                return Poll::Ready(Ok(()));
            }
            if let Some(pause) = &mut this.pause {
                ready!(pause.as_mut().poll(context));
                this.pause = None;
            }
            let space = this.gate.space().map(|space| if this.turn_state.is_waiting() { 0 } else { space });
            if space.is_none() && this.requests.all_pass() {
                this.turn_state = TurnState::default();
                let before = buffer.filled().len();
                ready!(Pin::new(&mut this.stream).poll_read(context, buffer))?;
                this.requests.passed(&buffer.filled()[before..]);
                return Poll::Ready(Ok(()));
            }
            this.requests.table.request(space.is_some(), &mut this.replies);
            ready!(this.poll_reply(context))?;
            if this.replies.len() > MAX_REPLY_BYTES {
                return Poll::Pending;
            }
            if !ready!(this.poll_sort(context, space.unwrap_or(usize::MAX)))? {
                return Poll::Ready(Ok(()));
            }
            let _later = this.poll_reply(context)?;
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Shedding<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.poll_reply(context))?;
        let count = ready!(Pin::new(&mut this.stream).poll_write_vectored(context, parts))?;
        let mut left = count;
        for part in parts {
            let written = left.min(part.len());
            this.wrote(&part[..written]);
            left -= written;
        }
        Poll::Ready(Ok(count))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_reply(context))?;
        Pin::new(&mut this.stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_reply(context))?;
        Pin::new(&mut this.stream).poll_shutdown(context)
    }
}
