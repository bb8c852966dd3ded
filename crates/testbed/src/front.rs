//! TLS in front of a target: what comes out of it goes to a target in cleartext, which keeps its own log.

mod authority;
mod pieces;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use rustls::server::WebPkiClientVerifier;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::LocalSet;
use tokio_rustls::TlsAcceptor;

pub use authority::{Authority, Identity, Validity};
use pieces::Pieces;

/// How a front greets its clients.
#[derive(Debug, Clone, Default)]
enum Greeting {
    #[default]
    Handshake,
    /// It reads the first bytes and closes the connection.
    Close,
    /// It reads and never answers.
    Silence,
}

/// A TLS server in the making.
#[derive(Debug, Clone)]
pub struct Front {
    identity: Identity,
    clients: Option<CertificateDer<'static>>,
    /// The target of each protocol, in the order of the server's preference.
    protocols: Vec<(Vec<u8>, SocketAddr)>,
    greeting: Greeting,
    in_pieces: bool,
}

impl Front {
    /// A front that shows this identity.
    pub fn new(identity: Identity) -> Self {
        let greeting = Greeting::default();
        Front { identity, clients: None, protocols: Vec::new(), greeting, in_pieces: false }
    }

    /// Offers this protocol by ALPN (`h2`, `http/1.1`), served in cleartext at `target`. The first one also
    /// gets clients that name none.
    pub fn protocol(mut self, protocol: &str, target: SocketAddr) -> Self {
        self.protocols.push((protocol.as_bytes().to_vec(), target));
        self
    }

    /// Requires client certificates from this authority.
    pub fn asks_clients(self, authority: &Authority) -> Self {
        Front { clients: Some(authority.der()), ..self }
    }

    /// Closes connections instead of a handshake.
    pub fn closes(self) -> Self {
        Front { greeting: Greeting::Close, ..self }
    }

    /// Never answers a handshake.
    pub fn is_silent(self) -> Self {
        Front { greeting: Greeting::Silence, ..self }
    }

    /// Writes single bytes.
    pub fn in_pieces(self) -> Self {
        Front { in_pieces: true, ..self }
    }

    /// Starts it on a free port of 127.0.0.1.
    ///
    /// # Errors
    /// When no port or no thread can be had.
    pub fn start(self) -> io::Result<RunningFront> {
        let config = Arc::new(self.config().map_err(io::Error::other)?);
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let addr = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (wake, woken) = watch::channel(());
        let counts = Arc::new(Counts::default());
        let served = Served { front: Arc::new(self), config, counts: counts.clone() };
        let thread = thread::Builder::new().name("testbed-tls".to_owned()).spawn(move || {
            LocalSet::new().block_on(&runtime, accept(listener, served, woken));
        })?;
        Ok(RunningFront { addr, counts, wake, thread: Some(thread) })
    }

    fn config(&self) -> Result<ServerConfig, rustls::Error> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ServerConfig::builder_with_provider(provider.clone());
        let builder = builder.with_safe_default_protocol_versions()?;
        let builder = match &self.clients {
            None => builder.with_no_client_auth(),
            Some(authority) => {
                let mut roots = rustls::RootCertStore::empty();
                roots.add(authority.clone())?;
                let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider).build();
                builder
                    .with_client_cert_verifier(verifier.map_err(|e| rustls::Error::General(e.to_string()))?)
            }
        };
        let Identity { chain, key, .. } = self.identity.clone();
        let mut config = builder.with_single_cert(chain, key.into())?;
        config.alpn_protocols = self.protocols.iter().map(|(name, _)| name.clone()).collect();
        Ok(config)
    }
}

#[derive(Debug, Default)]
struct Counts {
    handshakes: AtomicU64,
    resumed: AtomicU64,
}

/// A front that runs until it is dropped.
#[derive(Debug)]
pub struct RunningFront {
    addr: SocketAddr,
    counts: Arc<Counts>,
    wake: watch::Sender<()>,
    thread: Option<JoinHandle<()>>,
}

impl RunningFront {
    /// The address it listens on.
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Handshakes that were completed so far.
    pub fn handshakes(&self) -> u64 {
        self.counts.handshakes.load(Ordering::Relaxed)
    }

    /// Those of them that resumed an earlier session.
    pub fn resumed(&self) -> u64 {
        self.counts.resumed.load(Ordering::Relaxed)
    }
}

impl Drop for RunningFront {
    fn drop(&mut self) {
        // The task may have ended already; there is nothing to wake then.
        let _ = self.wake.send(());
        if let Some(thread) = self.thread.take() {
            // A front that panicked has shown its message already.
            let _ = thread.join();
        }
    }
}

#[derive(Debug, Clone)]
struct Served {
    front: Arc<Front>,
    config: Arc<ServerConfig>,
    counts: Arc<Counts>,
}

async fn accept(listener: std::net::TcpListener, served: Served, mut woken: watch::Receiver<()>) {
    let listener = TcpListener::from_std(listener).expect("a listener in the runtime that was made for it");
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                // A connection that broke before it was accepted is its client's matter.
                if let Ok((stream, _)) = accepted {
                    tokio::task::spawn_local(served.clone().serve(stream));
                }
            }
            _ = woken.changed() => return,
        }
    }
}

impl Served {
    /// Serves one connection to its end. What breaks it is the client's to notice.
    async fn serve(self, stream: TcpStream) {
        let _ = stream.set_nodelay(true);
        match self.front.greeting {
            Greeting::Handshake => {}
            Greeting::Close => return drop(read_some(&stream).await),
            Greeting::Silence => loop {
                if read_some(&stream).await.is_err() {
                    return;
                }
            },
        }
        let stream = Pieces { stream, in_pieces: self.front.in_pieces };
        let Ok(mut inside) = TlsAcceptor::from(self.config).accept(stream).await else { return };
        self.counts.handshakes.fetch_add(1, Ordering::Relaxed);
        let session = inside.get_ref().1;
        if session.handshake_kind() == Some(rustls::HandshakeKind::Resumed) {
            self.counts.resumed.fetch_add(1, Ordering::Relaxed);
        }
        let agreed = session.alpn_protocol().map(<[u8]>::to_vec);
        let protocols = &self.front.protocols;
        let chosen = protocols.iter().find(|(name, _)| agreed.as_ref() == Some(name)).or(protocols.first());
        let Some((_, target)) = chosen else { return };
        let Ok(mut outside) = TcpStream::connect(target).await else { return };
        let _ = outside.set_nodelay(true);
        let _ = tokio::io::copy_bidirectional(&mut inside, &mut outside).await;
    }
}

/// Reads what is there; an error at the end.
async fn read_some(stream: &TcpStream) -> io::Result<()> {
    stream.readable().await?;
    match stream.try_read(&mut [0; 4096]) {
        Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
        Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
        _ => Ok(()),
    }
}
