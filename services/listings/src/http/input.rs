//! What a request contains: the ids in its path, and a message of the interface in its query or, as JSON, in its body.

use axum::body::{Body, to_bytes};
use axum::extract::{Query, RawPathParams};
use axum::http::{Method, Request, Uri};
use bytes::Bytes;
use serde::de::DeserializeOwned;

use super::failure::{BODY_TIMEOUT, Failure};
use crate::methods::MAX_REQUEST_BYTES;
use crate::refusal::Refusal;

/// The ids in a path, in their order.
pub(super) type Ids = [i64; 2];

/// A request after its caller was admitted.
pub(super) struct Input {
    pub(super) ids: Ids,
    message: MessageSource,
}

enum MessageSource {
    Query(Uri),
    Body(Bytes),
}

fn invalid(why: String) -> Failure {
    Refusal::Invalid(why).into()
}

pub(super) fn not_utf8() -> Failure {
    invalid("the path is not UTF-8".to_owned())
}

pub(super) fn ids(parameters: &RawPathParams) -> Result<Ids, Failure> {
    let mut ids = Ids::default();
    for (id, (name, text)) in ids.iter_mut().zip(parameters) {
        *id = text.parse().map_err(|_| invalid(format!("{name}: must be a whole number above 0")))?;
    }
    Ok(ids)
}

impl Input {
    /// Reads the body, if the method has one.
    pub(super) async fn read(ids: Ids, request: Request<Body>) -> Result<Self, Failure> {
        let has_body = [Method::POST, Method::PATCH].contains(request.method());
        if !has_body {
            return Ok(Self { ids, message: MessageSource::Query(request.uri().clone()) });
        }
        let arrived =
            tokio::time::timeout(BODY_TIMEOUT, to_bytes(request.into_body(), MAX_REQUEST_BYTES)).await;
        let bytes = arrived.map_err(|_| Failure::TooSlow)?.map_err(|_| Failure::TooLarge)?;
        Ok(Self { ids, message: MessageSource::Body(bytes) })
    }

    /// The message; members that it does not have are ignored.
    pub(super) fn message<M: DeserializeOwned>(&self) -> Result<M, Failure> {
        match &self.message {
            MessageSource::Query(uri) => {
                let query = Query::<M>::try_from_uri(uri);
                query.map(|Query(message)| message).map_err(|error| invalid(error.body_text()))
            }
            MessageSource::Body(bytes) => object(bytes),
        }
    }
}

/// The object in a body; an empty body is an empty object.
fn object<M: DeserializeOwned>(bytes: &[u8]) -> Result<M, Failure> {
    let invalid = |why: String| invalid(format!("the body cannot be used: {why}"));
    let text = std::str::from_utf8(bytes).map_err(|error| invalid(error.to_string()))?.trim_ascii_start();
    let text = if text.is_empty() { "{}" } else { text };
    // Without this check, an array of the members' values would be accepted as an object.
    if !text.starts_with('{') {
        return Err(invalid("it must be an object".to_owned()));
    }
    serde_json::from_str(text).map_err(|error| invalid(error.to_string()))
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;
    use axum::response::IntoResponse as _;

    use super::*;
    use crate::proto::{CreateListingRequest, ListListingsRequest};

    fn read(query: &str) -> Result<ListListingsRequest, Failure> {
        let uri = format!("/api/v1/listings?{query}").parse().unwrap();
        Input { ids: Ids::default(), message: MessageSource::Query(uri) }.message()
    }

    #[test]
    fn filters_are_read_from_the_query() {
        let message = read("user_id=7&min_price=1.5&status=sold&limit=3&x=1").unwrap();
        let expect = ListListingsRequest {
            user_id: Some(7),
            min_price: Some(1.5),
            status: Some("sold".to_owned()),
            limit: 3,
            ..ListListingsRequest::default()
        };
        assert_eq!(message, expect);
        for query in ["limit=x", "limit=1&limit=2", "user_id=99999999999999999999", "min_price=cheap"] {
            let error = read(query).unwrap_err().to_string();
            assert!(error.contains(query.split('=').next().unwrap()), "{query}: {error}");
        }
    }

    #[test]
    fn bodies_that_are_no_object_of_the_message_are_refused() {
        let read = |text: &str| object::<CreateListingRequest>(text.as_bytes());
        assert_eq!(read(r#"{"price": 5, "other": 1}"#).unwrap().price, 5.0);
        assert_eq!(read("").unwrap(), CreateListingRequest::default());
        for text in
            ["[7]", "7", "{", r#"{"price": "5"}"#, r#"{"user_id": 1.5}"#, r#"{"title": "a", "title": "b"}"#]
        {
            let error = read(text).unwrap_err().to_string();
            assert!(error.starts_with("the body cannot be used: "), "{text}: {error}");
        }
        assert!(object::<CreateListingRequest>(b"{\"x\": \"\xff\"}").is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_that_never_arrives_is_refused_and_so_is_one_that_is_too_large() {
        let never = tonic::codegen::tokio_stream::pending::<Result<Bytes, std::io::Error>>();
        let large = Body::from(vec![b' '; MAX_REQUEST_BYTES + 1]);
        for (body, expect) in
            [(Body::from_stream(never), StatusCode::REQUEST_TIMEOUT), (large, StatusCode::PAYLOAD_TOO_LARGE)]
        {
            let request = Request::post("/").body(body).unwrap();
            let refused = Input::read(Ids::default(), request).await.map(drop).unwrap_err();
            assert_eq!(refused.into_response().status(), expect);
        }
    }
}
