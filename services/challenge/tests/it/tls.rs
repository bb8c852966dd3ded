//! TLS in front of a port, with a certificate that only the tests' own authority signed.

use std::net::SocketAddr;
use std::sync::Arc;

use testkit::tls::folder;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A port on `localhost` that decrypts and forwards to `behind`.
pub(crate) async fn in_front_of(behind: SocketAddr) -> u16 {
    let certificate = CertificateDer::from_pem_file(folder().join("localhost.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(folder().join("localhost.key")).unwrap();
    let config = ServerConfig::builder().with_no_client_auth().with_single_cert(vec![certificate], key);
    let acceptor = TlsAcceptor::from(Arc::new(config.unwrap()));
    let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = socket.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = socket.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                // A client that does not trust the certificate ends the handshake.
                let Ok(mut clear) = acceptor.accept(stream).await else { return };
                let mut inner = TcpStream::connect(behind).await.unwrap();
                let _either_ended = tokio::io::copy_bidirectional(&mut clear, &mut inner).await;
            });
        }
    });
    port
}
