//! gRPC clients; and calls of any rpc by its path, with any bytes.

use std::net::SocketAddr;

use axum::body::Body;
use http_body_util::BodyExt;
use hyper::{HeaderMap, Request};
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

/// What a server answered to a call.
#[derive(Debug)]
pub struct Answer {
    /// As gRPC writes it; `0` once the response has a message.
    pub status: String,
    /// Headers and trailers.
    pub metadata: HeaderMap,
    pub message: Vec<u8>,
}

/// A message as it is sent.
pub fn framed(message: &[u8]) -> Vec<u8> {
    [&[0][..], &u32::try_from(message.len()).unwrap().to_be_bytes(), message].concat()
}

/// A call with any bytes as its body, until the first message of the response.
pub async fn call(
    address: SocketAddr,
    path: &str,
    headers: &[(&str, &str)],
    body: impl AsRef<[u8]>,
) -> Answer {
    let stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream));
    let (mut sender, connection) = handshake.await.unwrap();
    tokio::spawn(connection);
    let request = Request::post(format!("http://{address}{path}"));
    let request = request.header("content-type", "application/grpc").header("te", "trailers");
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    let request = request.body(Body::from(body.as_ref().to_vec())).unwrap();
    let (head, mut body) = sender.send_request(request).await.unwrap().into_parts();
    let (mut metadata, mut received) = (head.headers, Vec::new());
    while !is_whole(&received)
        && let Some(frame) = body.frame().await
    {
        match frame.unwrap().into_data() {
            Ok(data) => received.extend_from_slice(&data),
            Err(frame) => metadata.extend(frame.into_trailers().unwrap()),
        }
    }
    let status = metadata.get("grpc-status").map_or("0", |status| status.to_str().unwrap()).to_owned();
    Answer { status, metadata, message: received.split_off(received.len().min(5)) }
}

fn is_whole(received: &[u8]) -> bool {
    received
        .split_first_chunk::<5>()
        .is_some_and(|(&[_, length @ ..], message)| message.len() >= u32::from_be_bytes(length) as usize)
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
