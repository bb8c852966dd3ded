//! Heads, trailers and message framing of gRPC responses.

use bytes::{BufMut, Bytes, BytesMut};
use h2::SendStream;
use h2::server::SendResponse;
use http::{HeaderMap, HeaderValue, Response};

/// A byte that marks compression, and four of the message's length.
pub(super) const PREFIX_BYTES: usize = 5;

pub(super) fn headers(respond: &mut SendResponse<Bytes>) -> Result<SendStream<Bytes>, h2::Error> {
    let mut response = Response::new(());
    response.headers_mut().insert("content-type", HeaderValue::from_static("application/grpc"));
    respond.send_response(response, false)
}

pub(super) fn trailers(code: u16, message: &str) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from(code));
    if !message.is_empty() {
        let message = HeaderValue::from_str(message).unwrap_or(HeaderValue::from_static("not ASCII"));
        trailers.insert("grpc-message", message);
    }
    trailers
}

pub(super) fn framed(message: &[u8]) -> Bytes {
    let mut bytes = BytesMut::with_capacity(message.len() + PREFIX_BYTES);
    bytes.put_u8(0);
    bytes.put_u32(u32::try_from(message.len()).expect("messages are bounded by MESSAGE_LIMIT"));
    bytes.put_slice(message);
    bytes.freeze()
}
