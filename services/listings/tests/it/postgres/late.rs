//! A proxy that delays the responses of a server and can close its connections.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Dropping it closes all its connections.
pub(crate) struct SlowProxy {
    pub(crate) address: SocketAddr,
    delay_ms: Arc<AtomicU64>,
    _tasks: JoinSet<()>,
}

impl SlowProxy {
    /// A proxy to this server, without delay.
    pub(crate) async fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, delay_ms) = (listener.local_addr().unwrap(), Arc::<AtomicU64>::default());
        let delay = Arc::clone(&delay_ms);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                connections.spawn(forward(client, server, Arc::clone(&delay)));
            }
        });
        Self { address, delay_ms, _tasks: tasks }
    }

    /// Delays all further responses by this time.
    pub(crate) fn delay(&self, delay: Duration) {
        self.delay_ms.store(delay.as_millis() as u64, Ordering::Relaxed);
    }
}

async fn forward(client: TcpStream, server: SocketAddr, delay_ms: Arc<AtomicU64>) {
    let Ok(server) = TcpStream::connect(server).await else { return };
    let (mut from_client, to_client) = client.into_split();
    let (from_server, mut to_server) = server.into_split();
    tokio::select! {
        _ = copy(&mut from_client, &mut to_server) => {}
        () = copy_delayed(from_server, to_client, delay_ms) => {}
    }
}

async fn copy_delayed(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, delay_ms: Arc<AtomicU64>) {
    let mut bytes = vec![0; 65_536];
    loop {
        let Ok(count @ 1..) = from.read(&mut bytes).await else { return };
        tokio::time::sleep(Duration::from_millis(delay_ms.load(Ordering::Relaxed))).await;
        if to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}
