//! Something between a client and a server that passes on late what the server answers, and can be cut.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Ends with every connection through it when it is dropped.
pub(crate) struct Late {
    pub(crate) address: SocketAddr,
    by_ms: Arc<AtomicU64>,
    _passing: JoinSet<()>,
}

impl Late {
    /// To this server, at first without any delay.
    pub(crate) async fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, by_ms) = (listener.local_addr().unwrap(), Arc::<AtomicU64>::default());
        let delay = Arc::clone(&by_ms);
        let mut passing = JoinSet::new();
        passing.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                connections.spawn(pass(client, server, Arc::clone(&delay)));
            }
        });
        Self { address, by_ms, _passing: passing }
    }

    /// From now on each answer comes so much later.
    pub(crate) fn delay(&self, by: Duration) {
        self.by_ms.store(by.as_millis() as u64, Ordering::Relaxed);
    }
}

async fn pass(client: TcpStream, server: SocketAddr, by_ms: Arc<AtomicU64>) {
    let Ok(server) = TcpStream::connect(server).await else { return };
    let (mut asks, answered) = client.into_split();
    let (answers, mut asked) = server.into_split();
    tokio::select! {
        _ = copy(&mut asks, &mut asked) => {}
        () = hold_up(answers, answered, by_ms) => {}
    }
}

async fn hold_up(mut answers: OwnedReadHalf, mut answered: OwnedWriteHalf, by_ms: Arc<AtomicU64>) {
    let mut bytes = vec![0; 65_536];
    loop {
        let Ok(count @ 1..) = answers.read(&mut bytes).await else { return };
        tokio::time::sleep(Duration::from_millis(by_ms.load(Ordering::Relaxed))).await;
        if answered.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}
