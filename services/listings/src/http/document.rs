//! The API's OpenAPI document. Tests compare it with the routes, the messages of the interface, and real responses.

use axum::http::header;
use axum::response::IntoResponse;

pub(super) const PATH: &str = "/api/v1/listings/openapi.json";

const DOCUMENT: &str = include_str!("../../openapi.json");

pub(super) async fn document() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT)
}
