//! Refusals over gRPC: the code, the message, and in the metadata the word that HTTP answers carry as `errorCode`.

use crate::operations::Refusal;
use crate::refusal::Code;
use axum::body::Body;
use axum::http::Response;
use tonic::Status;
use tonic::metadata::{MetadataMap, MetadataValue};

/// The metadata key of the word that tells refusals of one code apart.
pub(super) const ERROR_CODE: &str = "error-code";

pub(super) fn refused(code: Code, message: &str) -> Status {
    let mut metadata = MetadataMap::new();
    metadata.insert(ERROR_CODE, MetadataValue::from_static(code.word()));
    Status::with_metadata(code.grpc().into(), message, metadata)
}

/// The same as a whole answer, for those who refuse before any rpc is reached.
pub(super) fn answer(code: Code, message: &str) -> Response<Body> {
    refused(code, message).into_http()
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        refused(Code::from(&refusal), &refusal.to_string())
    }
}
