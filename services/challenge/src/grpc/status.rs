//! Refusals over gRPC: the code, the message, and in the metadata the name that HTTP responses have as `errorCode`.

use axum::body::Body;
use axum::http::Response;
use tonic::Status;
use tonic::metadata::{MetadataMap, MetadataValue};

use crate::operations::Refusal;
use crate::refusal::Code;

/// The metadata key of the name that distinguishes refusals with the same code.
pub(super) const ERROR_CODE: &str = "error-code";

pub(super) fn refusal(code: Code, message: &str) -> Status {
    let mut metadata = MetadataMap::new();
    metadata.insert(ERROR_CODE, MetadataValue::from_static(code.name()));
    Status::with_metadata(code.grpc().into(), message, metadata)
}

/// The same as a whole response, for refusals before any rpc is reached.
pub(super) fn refusal_response(code: Code, message: &str) -> Response<Body> {
    refusal(code, message).into_http()
}

impl From<Refusal> for Status {
    fn from(refused: Refusal) -> Self {
        refusal(Code::from(&refused), &refused.to_string())
    }
}
