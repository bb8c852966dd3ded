//! A connection's bytes, and whether the other end still waits for an answer.

use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

/// A connection that the protocol reads and writes, and that can be looked at meanwhile. Clones share it; as all of
/// them belong to one task, nobody ever waits for the lock.
#[derive(Debug, Clone)]
pub(super) struct Wire(Arc<Mutex<TcpStream>>);

impl Wire {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self(Arc::new(Mutex::new(stream)))
    }

    /// Whether the other end has said that it will send no more. A client that does so before it is answered has
    /// nearly always given up.
    pub(super) fn has_left(&self) -> bool {
        has_left(&self.lock())
    }

    /// The connection itself, once nobody else has a part in it.
    pub(super) fn into_inner(self) -> Option<TcpStream> {
        Some(Arc::into_inner(self.0)?.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn lock(&self) -> MutexGuard<'_, TcpStream> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// As far as was heard until now; asks nobody.
pub(super) fn has_left(stream: &TcpStream) -> bool {
    let ready = pin!(stream.ready(Interest::READABLE));
    let told = ready.poll(&mut Context::from_waker(Waker::noop()));
    matches!(told, Poll::Ready(Ok(ready)) if ready.is_read_closed())
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.lock()).poll_read(context, into)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.lock()).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.lock()).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.lock()).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.lock()).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    #[tokio::test]
    async fn who_goes_after_a_request_is_seen_to_have_left() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let mut wire = Wire::new(listener.accept().await.unwrap().0);
        client.write_all(b"asked").await.unwrap();
        wire.read_exact(&mut [0; 2]).await.unwrap();
        assert!(!wire.has_left());
        drop(client);
        // The rest is still there; that nothing follows it is heard of beside that.
        while !wire.has_left() {
            tokio::task::yield_now().await;
        }
        let mut rest = Vec::new();
        wire.read_to_end(&mut rest).await.unwrap();
        assert_eq!(rest, b"ked");
        assert!(wire.clone().into_inner().is_none());
        assert!(wire.into_inner().is_some());
    }
}
