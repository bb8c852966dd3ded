//! A blocking connection to a target, for probes before the load.

#[cfg_attr(not(feature = "full"), path = "exchange/without_tls.rs")]
mod tls;

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use engine::program::ClientConfig;
use workload::connection::Connecting;

use tls::TlsStream;

/// The address of a target, and the TLS settings if it uses TLS.
pub(super) struct Peer<'a> {
    /// Host name or address, without brackets.
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) tls: Option<Arc<ClientConfig>>,
    pub(super) connecting: &'a Connecting,
}

impl Peer<'_> {
    /// Connections to it agree to HTTP/2 only.
    pub(super) fn require_http2(&mut self) {
        if let Some(config) = &mut self.tls {
            tls::require_http2(config);
        }
    }
}

/// A connection that gives up after a while.
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<TlsStream>),
}

impl Stream {
    pub(super) fn connect(peer: &Peer<'_>, limit: Duration) -> anyhow::Result<Stream> {
        let stream = match &peer.connecting.unix {
            Some(path) => Stream::Unix(UnixStream::connect(path).with_context(|| path.clone())?),
            None => Stream::Tcp(connect(peer, limit)?),
        };
        stream.set_limit(limit)?;
        let Some(config) = &peer.tls else { return Ok(stream) };
        Ok(Stream::Tls(Box::new(tls::secured(config, &peer.host, stream)?)))
    }

    /// No read or write takes longer.
    pub(super) fn set_limit(&self, limit: Duration) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => {
                stream.set_read_timeout(Some(limit)).and_then(|()| stream.set_write_timeout(Some(limit)))
            }
            Stream::Unix(stream) => {
                stream.set_read_timeout(Some(limit)).and_then(|()| stream.set_write_timeout(Some(limit)))
            }
            Stream::Tls(stream) => stream.transport().set_limit(limit),
        }
    }
}

fn connect(peer: &Peer<'_>, limit: Duration) -> anyhow::Result<TcpStream> {
    let own = (peer.host.as_str(), peer.port);
    let (host, port) = match (&peer.connecting.proxy, &peer.connecting.connect_to) {
        (Some(proxy), _) => (proxy.host.as_str(), proxy.port),
        (None, Some((host, port))) => (host.as_str(), *port),
        (None, None) => own,
    };
    let addresses: Vec<SocketAddr> =
        (host, port).to_socket_addrs().with_context(|| format!("cannot find {host}:{port}"))?.collect();
    let connected = connect_to_any(&addresses, limit)
        .with_context(|| format!("nothing answers at {host}:{port}: start it, or check host and port"))?;
    let mut stream = connected.ok_or_else(|| anyhow!("{host} has no address"))?;
    if let Some(proxy) = &peer.connecting.proxy {
        stream.set_read_timeout(Some(limit))?;
        stream.write_all(proxy.tunnel_request(own.0, own.1).as_bytes())?;
        read_tunnel_response(&mut stream)?;
    }
    Ok(stream)
}

/// Wait until the proxy has made the tunnel. Byte by byte: what follows is not the proxy's.
fn read_tunnel_response(stream: &mut TcpStream) -> anyhow::Result<()> {
    const MAX_ANSWER_BYTES: usize = 16 * 1024;
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") && answer.len() < MAX_ANSWER_BYTES {
        let mut byte = [0];
        stream.read_exact(&mut byte).context("the proxy made no tunnel")?;
        answer.extend_from_slice(&byte);
    }
    let line = String::from_utf8_lossy(&answer).lines().next().unwrap_or_default().to_owned();
    match line.split(' ').nth(1) {
        Some(status) if status.len() == 3 && status.starts_with('2') => Ok(()),
        _ => Err(anyhow!("the proxy made no tunnel: it answered `{line}`")),
    }
}

/// Connect to the first address that accepts; the error is the last one's.
pub(super) fn connect_to_any(addresses: &[SocketAddr], limit: Duration) -> io::Result<Option<TcpStream>> {
    let mut failed = None;
    for address in addresses {
        match TcpStream::connect_timeout(address, limit) {
            Ok(stream) => return Ok(Some(stream)),
            Err(error) => failed = Some(error),
        }
    }
    failed.map_or(Ok(None), Err)
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.read(buffer),
            Stream::Unix(stream) => stream.read(buffer),
            Stream::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.write(bytes),
            Stream::Unix(stream) => stream.write(bytes),
            Stream::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.flush(),
            Stream::Unix(stream) => stream.flush(),
            Stream::Tls(stream) => stream.flush(),
        }
    }
}
