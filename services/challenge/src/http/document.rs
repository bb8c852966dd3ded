//! `GET openapi.json` and `GET apidocs/`: what this API is, for programs and for people. The document is written by
//! hand; tests hold it against the routes and against real answers.

use super::{Api, json};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use std::sync::Arc;

const DOCUMENT: &str = include_str!("../../openapi.json");
const PAGE: &str = include_str!("../../apidocs.html");

/// The page runs its own script, asks this server for the document, and nothing else.
const PAGE_MAY: &str =
    "default-src 'none'; connect-src 'self'; script-src 'unsafe-inline'; style-src 'unsafe-inline'";

/// The document with the place at which this process serves it.
pub(super) fn placed_at(base_path: &str) -> Bytes {
    let url = if base_path.is_empty() { "/" } else { base_path };
    DOCUMENT.replacen(r#""url": "/challenge""#, &format!(r#""url": "{url}""#), 1).into()
}

pub(super) async fn document(State(api): State<Arc<Api>>) -> Response {
    json(api.document.clone())
}

pub(super) async fn page() -> Response {
    let headers =
        [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_SECURITY_POLICY, PAGE_MAY)];
    (headers, PAGE).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::routes::{self, Access};
    use crate::refusal::Code;
    use serde_json::{Value, json};
    use std::collections::BTreeSet;

    fn read(base_path: &str) -> Value {
        serde_json::from_slice(&placed_at(base_path)).unwrap()
    }

    #[test]
    fn it_says_where_it_is_served() {
        for (base_path, url) in [("/challenge", "/challenge"), ("/games/one", "/games/one"), ("", "/")] {
            assert_eq!(read(base_path)["servers"], json!([{ "url": url }]));
        }
    }

    #[test]
    fn it_describes_every_route_and_no_other_and_says_who_may_ask() {
        let document = read("");
        let paths = document["paths"].as_object().unwrap().iter();
        let described: BTreeSet<(String, String, bool)> = paths
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
        assert_eq!(described, routed);
    }

    #[test]
    fn it_names_every_error_code_and_no_other() {
        let document = read("");
        let named = document["components"]["schemas"]["Refusal"]["properties"]["errorCode"]["enum"].clone();
        let named: BTreeSet<String> = serde_json::from_value(named).unwrap();
        let known: BTreeSet<String> = Code::ALL.iter().map(|code| code.word().to_owned()).collect();
        assert_eq!(named, known);
    }

    /// Also those that no request from outside brings about at will.
    #[tokio::test]
    async fn every_refusal_has_the_described_members() {
        let document = read("");
        for code in Code::ALL {
            let refused = crate::http::error::answer(*code, "why");
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
    fn the_page_links_nowhere_else() {
        assert!(!PAGE.contains("http:") && !PAGE.contains("https:") && !PAGE.contains("//cdn"));
    }
}
