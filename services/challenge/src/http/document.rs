//! `GET openapi.json` and `GET apidocs/`: the API's documentation for programs and for people. The document is written
//! by hand; tests compare it with the routes and with real responses.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;

use super::{Api, json};

const DOCUMENT: &str = include_str!("../../openapi.json");
const PAGE: &str = include_str!("../../apidocs.html");

/// The page runs its own script, requests the document from this server, and loads nothing else.
const PAGE_POLICY: &str =
    "default-src 'none'; connect-src 'self'; script-src 'unsafe-inline'; style-src 'unsafe-inline'";

/// The document with the URL at which this process serves the API.
pub(super) fn at(base_path: &str) -> Bytes {
    let url = if base_path.is_empty() { "/" } else { base_path };
    DOCUMENT.replacen(r#""url": "/challenge""#, &format!(r#""url": "{url}""#), 1).into()
}

pub(super) async fn document(State(api): State<Arc<Api>>) -> Response {
    json(api.document.clone())
}

pub(super) async fn page() -> Response {
    let headers =
        [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_SECURITY_POLICY, PAGE_POLICY)];
    (headers, PAGE).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::collections::BTreeSet;

    use serde_json::{Value, json};

    use crate::http::routes::{self, Access};
    use crate::refusal::Code;

    fn read(base_path: &str) -> Value {
        serde_json::from_slice(&at(base_path)).unwrap()
    }

    #[test]
    fn the_document_contains_the_url_of_the_server() {
        for (base_path, url) in [("/challenge", "/challenge"), ("/games/one", "/games/one"), ("", "/")] {
            assert_eq!(read(base_path)["servers"], json!([{ "url": url }]));
        }
    }

    #[test]
    fn the_document_has_every_route_with_its_access_and_no_other() {
        let document = read("");
        let paths = document["paths"].as_object().unwrap().iter();
        let documented: BTreeSet<(String, String, bool)> = paths
            .flat_map(|(path, methods)| {
                methods.as_object().unwrap().iter().map(move |(method, operation)| {
                    let is_public = operation.get("security") == Some(&json!([]));
                    (path.clone(), method.to_uppercase(), is_public)
                })
            })
            .collect();
        let routed: BTreeSet<(String, String, bool)> = routes::all()
            .into_iter()
            .map(|route| (route.path.to_owned(), route.method.to_string(), route.access == Access::Public))
            .collect();
        assert_eq!(documented, routed);
    }

    #[test]
    fn the_document_has_every_error_code_and_no_other() {
        let document = read("");
        let named = document["components"]["schemas"]["Refusal"]["properties"]["errorCode"]["enum"].clone();
        let named: BTreeSet<String> = serde_json::from_value(named).unwrap();
        let existing: BTreeSet<String> = Code::ALL.iter().map(|code| code.name().to_owned()).collect();
        assert_eq!(named, existing);
    }

    /// Including those that no request can trigger deterministically.
    #[tokio::test]
    async fn every_refusal_has_the_documented_members() {
        let document = read("");
        for code in Code::ALL {
            let refused = crate::http::error::refusal_response(*code, "why");
            let body = axum::body::to_bytes(refused.into_body(), 1024).await.unwrap();
            let body: Value = serde_json::from_slice(&body).unwrap();
            let members: Vec<&String> = body.as_object().unwrap().keys().collect();
            let required = &document["components"]["schemas"]["Refusal"]["required"];
            let mut required: Vec<String> = serde_json::from_value(required.clone()).unwrap();
            required.sort_unstable();
            assert_eq!(members, required.iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_page_has_no_external_links() {
        assert!(!PAGE.contains("http:") && !PAGE.contains("https:") && !PAGE.contains("//cdn"));
    }
}
