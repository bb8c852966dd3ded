//! A connection's bytes, and whether the client still waits for a response.

use std::io::{self, IoSlice};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;

/// A connection that the protocol reads and writes while its state can be queried. Clones share it; as all of them
/// belong to one task, the lock is never contended.
#[derive(Debug, Clone)]
pub(super) struct SharedStream(Arc<Mutex<TcpStream>>);

impl SharedStream {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self(Arc::new(Mutex::new(stream)))
    }

    /// Whether the client has closed its sending side. A client that does so before it is answered has nearly always
    /// given up.
    pub(super) fn is_read_closed(&self) -> bool {
        is_read_closed(&self.lock())
    }

    /// The connection itself; `None` while another clone exists.
    pub(super) fn into_inner(self) -> Option<TcpStream> {
        Some(Arc::into_inner(self.0)?.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn lock(&self) -> MutexGuard<'_, TcpStream> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// As far as the runtime knows by now; makes no system call.
pub(super) fn is_read_closed(stream: &TcpStream) -> bool {
    let ready = pin!(stream.ready(Interest::READABLE));
    let polled = ready.poll(&mut Context::from_waker(Waker::noop()));
    matches!(polled, Poll::Ready(Ok(ready)) if ready.is_read_closed())
}

impl AsyncRead for SharedStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.lock()).poll_read(context, into)
    }
}

impl AsyncWrite for SharedStream {
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
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_client_that_closes_after_its_request_is_seen_as_closed() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let mut stream = SharedStream::new(listener.accept().await.unwrap().0);
        client.write_all(b"request").await.unwrap();
        stream.read_exact(&mut [0; 2]).await.unwrap();
        assert!(!stream.is_read_closed());
        drop(client);
        // The unread bytes are still there; the end of the stream is seen independently of them.
        while !stream.is_read_closed() {
            tokio::task::yield_now().await;
        }
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).await.unwrap();
        assert_eq!(rest, b"quest");
        assert!(stream.clone().into_inner().is_none());
        assert!(stream.into_inner().is_some());
    }
}
