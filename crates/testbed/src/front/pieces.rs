//! A stream that can write byte by byte.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// A stream, and whether each write takes one byte only.
pub(super) struct Pieces {
    pub(super) stream: TcpStream,
    pub(super) in_pieces: bool,
}

impl AsyncRead for Pieces {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Pieces {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let count = if self.in_pieces { bytes.len().min(1) } else { bytes.len() };
        Pin::new(&mut self.stream).poll_write(cx, &bytes[..count])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.in_pieces {
            let first = parts.iter().find(|part| !part.is_empty()).map_or(&[][..], |part| part);
            return self.poll_write(cx, first);
        }
        Pin::new(&mut self.stream).poll_write_vectored(cx, parts)
    }

    /// What is said last, and in one go, must not be cut by a server that closes after it.
    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
