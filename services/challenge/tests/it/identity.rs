//! Authentication is required on every route that is not public.

use challenge::http::routes::{Access, all};
use hyper::StatusCode;
use serde_json::json;

use crate::support::Server;

#[tokio::test]
async fn every_route_except_the_public_ones_requires_authentication() {
    let server = Server::start().await;
    let anonymous = server.player("");
    let mut public = Vec::new();
    for route in all() {
        let path = route.path.replace("{challenge_id}", "challenge-001").replace("{goal_id}", "goal-001-01");
        let (status, answer) =
            anonymous.send(route.method.clone(), &format!("/challenge{path}"), r#"{"isActive":true}"#).await;
        match route.access {
            Access::Public => public.push(route.path),
            Access::Player => {
                assert_eq!(status, StatusCode::UNAUTHORIZED, "{} {path}: {answer}", route.method);
                assert_eq!((&answer["errorCode"], &answer["code"]), (&json!("UNAUTHENTICATED"), &json!(16)));
            }
        }
    }
    assert_eq!(public, ["/healthz", "/openapi.json", "/apidocs/"], "every public route is listed here");
}
