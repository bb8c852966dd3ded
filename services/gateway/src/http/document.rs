//! `GET /openapi.json`: the API's description. The document is written by hand; tests compare it with the routes and
//! with real responses.

use axum::http::StatusCode;
use axum::response::Response;

use super::response::json;

const DOCUMENT: &str = include_str!("../../openapi.json");

pub(super) async fn handle() -> Response {
    json(StatusCode::OK, DOCUMENT)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;
    use crate::http::routes;

    #[test]
    fn the_document_describes_every_route_and_no_other() {
        let document: Value = serde_json::from_str(DOCUMENT).unwrap();
        let paths = document["paths"].as_object().unwrap().iter();
        let described: BTreeSet<(String, String)> = paths
            .flat_map(|(path, methods)| {
                let methods = methods.as_object().unwrap().keys();
                methods.map(move |method| (path.clone(), method.to_uppercase()))
            })
            .collect();
        let routed: BTreeSet<(String, String)> = routes::all()
            .into_iter()
            .map(|route| (route.path.to_owned(), route.method.to_string()))
            .collect();
        assert_eq!(described, routed);
    }
}
