//! Refusals as gRPC statuses.

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use kit::auth::Denied;
use prost::Message;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::{Code, Status};

use crate::admission::{NotAdmitted, OVERLOADED};
use crate::refusal::Refusal;

/// The metadata key that marks refusals of this service; errors of tonic's framing do not have it.
pub(super) const SERVICE_REFUSAL_KEY: &str = "error-code";

pub(super) fn refused(code: Code, message: &str) -> Status {
    let mut metadata = MetadataMap::new();
    metadata.insert(SERVICE_REFUSAL_KEY, MetadataValue::from(code as i32));
    Status::with_metadata(code, message, metadata)
}

/// The response to a call that is refused because of overload.
pub fn refusal_for_overload() -> Response {
    refused(Code::ResourceExhausted, OVERLOADED).into_http::<Body>()
}

impl From<Refusal> for Status {
    fn from(refusal: Refusal) -> Self {
        let code = match &refusal {
            Refusal::Invalid(_) => Code::InvalidArgument,
            Refusal::NotFound(..) => Code::NotFound,
            Refusal::Forbidden(_) => Code::PermissionDenied,
            Refusal::Precondition(_) => Code::FailedPrecondition,
            Refusal::Full => Code::ResourceExhausted,
            Refusal::TooBroad => Code::DeadlineExceeded,
            Refusal::Unavailable => Code::Unavailable,
        };
        refused(code, &refusal.to_string())
    }
}

impl From<NotAdmitted> for Status {
    fn from(reason: NotAdmitted) -> Self {
        let code = match &reason {
            NotAdmitted::RateLimited(retry_after) => return rate_limited(&reason.to_string(), *retry_after),
            NotAdmitted::Denied(Denied::Unauthenticated(_)) => Code::Unauthenticated,
            NotAdmitted::Denied(Denied::Forbidden(_)) => Code::PermissionDenied,
            NotAdmitted::Denied(Denied::Unavailable(_)) | NotAdmitted::RateUnknown => Code::Unavailable,
            NotAdmitted::Overloaded => Code::ResourceExhausted,
        };
        refused(code, &reason.to_string())
    }
}

/// `google.rpc.Status`, the details of a refusal.
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

/// A refusal by the rate limiter, with the time until a retry as details and as pushback.
fn rate_limited(message: &str, retry_after: Duration) -> Status {
    let delay = prost_types::Duration {
        seconds: i64::try_from(retry_after.as_secs()).unwrap_or(i64::MAX),
        nanos: i32::try_from(retry_after.subsec_nanos()).unwrap_or_default(),
    };
    let info = prost_types::Any {
        type_url: "type.googleapis.com/google.rpc.RetryInfo".to_owned(),
        value: RetryInfo { retry_delay: Some(delay) }.encode_to_vec(),
    };
    let code = Code::ResourceExhausted;
    let details = Details { code: code as i32, message: message.to_owned(), details: vec![info] };
    let mut metadata = MetadataMap::new();
    metadata.insert(SERVICE_REFUSAL_KEY, MetadataValue::from(code as i32));
    let pushback = i64::try_from(retry_after.as_millis()).unwrap_or(i64::MAX);
    metadata.insert("grpc-retry-pushback-ms", MetadataValue::from(pushback));
    Status::with_details_and_metadata(code, message, Bytes::from(details.encode_to_vec()), metadata)
}
