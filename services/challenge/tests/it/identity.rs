//! Who is served: nobody whom the service does not know, on any route.

use crate::support::Server;
use challenge::http::routes::{Access, all};
use hyper::StatusCode;
use serde_json::json;

#[tokio::test]
async fn every_route_but_the_public_ones_needs_to_know_who_asks() {
    let server = Server::start().await;
    let nobody = server.player("");
    let mut public = Vec::new();
    for route in all() {
        let path = route.path.replace("{challenge_id}", "challenge-001").replace("{goal_id}", "goal-001-01");
        let (status, answer) =
            nobody.send(route.method.clone(), &format!("/challenge{path}"), r#"{"isActive":true}"#).await;
        match route.access {
            Access::Public => public.push(route.path),
            Access::Player => {
                assert_eq!(status, StatusCode::UNAUTHORIZED, "{} {path}: {answer}", route.method);
                assert_eq!((&answer["errorCode"], &answer["code"]), (&json!("UNAUTHENTICATED"), &json!(16)));
            }
        }
    }
    assert_eq!(public, ["/healthz", "/openapi.json", "/apidocs/"], "what is public is named here, too");
}
