//! Refusals as gRPC words them.

use crate::operations::Refusal;
use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use kit::auth::Denied;
use prost::Message;
use std::time::Duration;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::{Code, Status};

/// The metadata key that tells refusals of ours from those of the framing below.
pub(super) const OURS: &str = "error-code";

/// Said when there is no room.
const NO_ROOM: &str = "too many requests at once; try again";

pub(super) fn refused(code: Code, message: &str) -> Status {
    let mut metadata = MetadataMap::new();
    metadata.insert(OURS, MetadataValue::from(code as i32));
    Status::with_metadata(code, message, metadata)
}

/// The whole answer to who is refused because there is too much to do.
pub fn refusal_for_overload() -> Response {
    refused(Code::ResourceExhausted, NO_ROOM).into_http::<Body>()
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        let code = match &refusal {
            Refusal::Invalid(_) => Code::InvalidArgument,
            Refusal::NotFound(..) => Code::NotFound,
            Refusal::Forbidden(_) => Code::PermissionDenied,
            Refusal::Precondition(_) => Code::FailedPrecondition,
            Refusal::Full => Code::ResourceExhausted,
            Refusal::Unavailable => Code::Unavailable,
        };
        refused(code, &refusal.to_string())
    }
}

pub(super) fn denied(denied: Denied) -> Status {
    let code = match denied {
        Denied::Unauthenticated(_) => Code::Unauthenticated,
        Denied::Forbidden(_) => Code::PermissionDenied,
        Denied::Unavailable(_) => Code::Unavailable,
    };
    refused(code, &denied.to_string())
}

/// `google.rpc.Status`, as clients read the details of a refusal.
#[derive(Clone, PartialEq, Message)]
struct Details {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<prost_types::Any>,
}

/// `google.rpc.RetryInfo`.
#[derive(Clone, PartialEq, Message)]
struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    retry_delay: Option<prost_types::Duration>,
}

/// To who has called too often: when calling again makes sense, as details and as pushback.
pub(super) fn too_often(message: &str, again_in: Duration) -> Status {
    let delay = prost_types::Duration {
        seconds: i64::try_from(again_in.as_secs()).unwrap_or(i64::MAX),
        nanos: i32::try_from(again_in.subsec_nanos()).unwrap_or_default(),
    };
    let info = prost_types::Any {
        type_url: "type.googleapis.com/google.rpc.RetryInfo".to_owned(),
        value: RetryInfo { retry_delay: Some(delay) }.encode_to_vec(),
    };
    let code = Code::ResourceExhausted;
    let details = Details { code: code as i32, message: message.to_owned(), details: vec![info] };
    let mut metadata = MetadataMap::new();
    metadata.insert(OURS, MetadataValue::from(code as i32));
    let pushback = i64::try_from(again_in.as_millis()).unwrap_or(i64::MAX);
    metadata.insert("grpc-retry-pushback-ms", MetadataValue::from(pushback));
    Status::with_details_and_metadata(code, message, Bytes::from(details.encode_to_vec()), metadata)
}
