//! gRPC clients; and calls of any rpc by its path, for the tables of who may call what.

use std::net::SocketAddr;

use axum::body::Body;
use http_body_util::BodyExt;
use hyper::Request;
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use prost_types::FileDescriptorSet;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};

/// The paths of all rpcs that are described.
pub fn paths(descriptors: &[u8]) -> Vec<String> {
    let set = FileDescriptorSet::decode(descriptors).unwrap();
    let mut paths = Vec::new();
    for file in &set.file {
        for service in &file.service {
            let methods = service.method.iter().map(|method| method.name());
            paths.extend(methods.map(|method| format!("/{}.{}/{method}", file.package(), service.name())));
        }
    }
    paths
}

/// The rpcs of health and reflection, which every gRPC port has.
pub fn paths_of_every_port() -> Vec<String> {
    let reflection =
        [tonic_reflection::pb::v1::FILE_DESCRIPTOR_SET, tonic_reflection::pb::v1alpha::FILE_DESCRIPTOR_SET];
    [tonic_health::pb::FILE_DESCRIPTOR_SET].into_iter().chain(reflection).flat_map(paths).collect()
}

/// The status of a call with an empty message, as gRPC writes it; `0` once the response has a message.
pub async fn status(address: SocketAddr, path: &str, authorization: Option<&str>) -> String {
    let stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
    let (mut sender, connection) = handshake.await.unwrap();
    tokio::spawn(connection);
    let request = Request::post(format!("http://{address}{path}"));
    let mut request = request.header("content-type", "application/grpc").header("te", "trailers");
    if let Some(authorization) = authorization {
        request = request.header("authorization", authorization);
    }
    let mut response = sender.send_request(request.body(Body::from(vec![0; 5])).unwrap()).await.unwrap();
    let mut status = response.headers().get("grpc-status").cloned();
    if status.is_none() {
        let frame = response.body_mut().frame().await.unwrap().unwrap();
        status = frame.trailers_ref().map(|trailers| trailers["grpc-status"].clone());
    }
    status.map_or_else(|| "0".to_owned(), |status| status.to_str().unwrap().to_owned())
}

/// A channel to a gRPC port.
pub async fn connect(address: SocketAddr) -> Channel {
    Endpoint::new(format!("http://{address}")).unwrap().connect().await.unwrap()
}

/// A call with the header `authorization`, or without.
pub fn authorized<T>(message: T, authorization: Option<&str>) -> tonic::Request<T> {
    let mut request = tonic::Request::new(message);
    if let Some(value) = authorization {
        request.metadata_mut().insert("authorization", value.parse().unwrap());
    }
    request
}

/// The code that a call ended with.
pub fn code<T>(result: Result<T, Status>) -> Code {
    result.map_or_else(|status| status.code(), |_| Code::Ok)
}
