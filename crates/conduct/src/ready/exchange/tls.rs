//! Blocking connections under TLS.

use std::io::{self, Read, Write};
use std::sync::Arc;

use engine::program::{ClientConfig, NOT_TLS};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

use super::Stream;

/// A connection under TLS.
pub(in crate::ready) struct TlsStream(StreamOwned<ClientConnection, Stream>);

/// Connections of this configuration agree to HTTP/2 only.
pub(super) fn require_http2(config: &mut Arc<ClientConfig>) {
    Arc::make_mut(config).alpn_protocols = vec![b"h2".to_vec()];
}

/// The connection under TLS, to a peer of this name.
pub(super) fn secured(config: &Arc<ClientConfig>, host: &str, stream: Stream) -> anyhow::Result<TlsStream> {
    let session = ClientConnection::new(config.clone(), ServerName::try_from(host.to_owned())?)?;
    Ok(TlsStream(StreamOwned::new(session, stream)))
}

impl TlsStream {
    /// The connection below.
    pub(super) fn transport(&self) -> &Stream {
        &self.0.sock
    }
}

/// The error, in words that say what to do where the peer does not speak TLS.
fn in_words(error: io::Error) -> io::Error {
    let of_tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match of_tls {
        Some(rustls::Error::InvalidMessage(_)) => io::Error::other(NOT_TLS),
        _ => error,
    }
}

impl Read for TlsStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(in_words)
    }
}

impl Write for TlsStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(in_words)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
