//! A gRPC server that shares no code with ours: tonic's, with its health and reflection services.

use std::net::SocketAddr;

use tokio::runtime::Runtime;
use tonic::codec::CompressionEncoding;
use tonic::service::Routes;
use tonic::transport::Server;
use tonic::transport::server::TcpIncoming;
use tonic_reflection::server::Builder;

/// Which reflection it offers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reflects {
    V1,
    V1Alpha,
    Nothing,
}

/// Serves until it is dropped.
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    /// The server's tasks end with it.
    _runtime: Runtime,
}

/// Health, which says SERVING, and reflection.
pub(crate) fn start(reflects: Reflects) -> Peer {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (address, serving) = runtime.block_on(async {
        let incoming = TcpIncoming::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = incoming.local_addr().unwrap();
        let (_, health) = tonic_health::server::health_reporter();
        let health = health.accept_compressed(CompressionEncoding::Gzip);
        let mut routes = Routes::new(health.send_compressed(CompressionEncoding::Gzip));
        let described = || {
            let health = tonic_health::pb::FILE_DESCRIPTOR_SET;
            Builder::configure().register_encoded_file_descriptor_set(health)
        };
        match reflects {
            Reflects::V1 => routes = routes.add_service(described().build_v1().unwrap()),
            Reflects::V1Alpha => routes = routes.add_service(described().build_v1alpha().unwrap()),
            Reflects::Nothing => {}
        }
        (address, Server::builder().add_routes(routes).serve_with_incoming(incoming))
    });
    runtime.spawn(serving);
    Peer { address, _runtime: runtime }
}
