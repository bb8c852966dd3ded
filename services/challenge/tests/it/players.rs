//! The players' API over HTTP.

use std::collections::HashSet;

use challenge::role::Role;
use hyper::{Method, StatusCode};
use serde_json::json;
use tokio::io::AsyncReadExt;

use crate::support::Server;

const LIST: &str = "/challenge/v1/challenges";

#[tokio::test]
async fn initialize_assigns_and_counts_the_defaults_once() {
    let server = Server::start().await;
    let ann = server.player("ann");
    let first = ann.initialize().await;
    assert_eq!((&first["newAssignments"], &first["totalActive"]), (&json!(10), &json!(10)));
    let goal = &first["assignedGoals"][0];
    assert_eq!(goal["goalId"], "goal-001-01");
    assert_eq!(goal["expiresAt"], "");
    assert_eq!(goal["progress"], 0);
    assert!(goal["assignedAt"].as_str().unwrap().ends_with('Z'), "UTC with time zone: {goal}");
    let again = ann.initialize().await;
    assert_eq!((&again["newAssignments"], &again["totalActive"]), (&json!(0), &json!(10)));
}

#[tokio::test]
async fn two_hundred_simultaneous_first_calls_assign_once_and_count_once() {
    let server = Server::start().await;
    let calls: Vec<_> = (0..200).map(|_| server.player("ann")).collect();
    let calls = calls.into_iter().map(|player| tokio::spawn(async move { player.initialize().await }));
    let mut counted = 0;
    for call in calls.collect::<Vec<_>>() {
        counted += call.await.unwrap()["newAssignments"].as_i64().unwrap();
    }
    assert_eq!(counted, 10);
    assert_eq!(server.count("SELECT count(*) FROM user_goal_progress"), 10);
}

#[tokio::test]
async fn new_defaults_reach_existing_users() {
    let server = Server::start().await;
    server.player("ann").initialize().await;
    let database = server.stop().await;
    let more = challenge::catalog::CatalogSize { challenges: 10, goals: 50, defaults: 20 };
    let path = database.path().join("more.json");
    std::fs::write(&path, challenge::catalog::generate(more)).unwrap();
    let server = Server::start_in(database, &[("CHALLENGE_CONFIG_PATH", path.to_str().unwrap())]).await;
    let synced = server.player("ann").initialize().await;
    assert_eq!((&synced["newAssignments"], &synced["totalActive"]), (&json!(10), &json!(20)));
}

#[tokio::test]
async fn a_user_whose_first_write_is_set_active_has_the_defaults_too() {
    let server = Server::start().await;
    let ann = server.player("ann");
    ann.set_active("goal-001-07", r#"{"isActive":true}"#).await;
    let (_, active) = ann.get("/challenge/v1/challenges?active_only=true").await;
    let shown: usize =
        active["challenges"].as_array().unwrap().iter().map(|c| c["goals"].as_array().unwrap().len()).sum();
    assert_eq!(shown, 11);
}

#[tokio::test]
async fn active_only_hides_goals_that_are_not_active_and_the_plain_list_shows_all() {
    let server = Server::start().await;
    let ann = server.player("ann");
    let ids = |list: &serde_json::Value| -> Vec<(String, bool)> {
        let challenges = list["challenges"].as_array().unwrap().clone();
        let goals = challenges.into_iter().flat_map(|c| c["goals"].as_array().unwrap().clone());
        goals.map(|g| (g["goalId"].as_str().unwrap().to_owned(), g["isActive"] == true)).collect()
    };
    let (_, before) = ann.get(LIST).await;
    assert_eq!(ids(&before).len(), 500);
    assert!(ids(&before).iter().all(|(_, is_active)| !is_active), "reading assigns nothing");
    ann.initialize().await;
    ann.set_active("goal-002-01", r#"{"isActive":false}"#).await;
    let (_, active) = ann.get("/challenge/v1/challenges?active_only=true").await;
    assert_eq!(active["challenges"].as_array().unwrap().len(), 10);
    assert_eq!(ids(&active).len(), 9);
    assert!(ids(&active).iter().all(|(_, is_active)| *is_active));
    let (_, all) = ann.get("/challenge/v1/challenges?active_only=1").await;
    let unique: HashSet<_> = ids(&all).into_iter().collect();
    assert_eq!(unique.len(), 500);
}

#[tokio::test]
async fn set_active_accepts_both_spellings_and_ignores_unknown_members() {
    let server = Server::start().await;
    let ann = server.player("ann");
    for (body, is_active, message) in [
        (r#"{"isActive":true}"#, true, "Goal activated successfully"),
        (r#"{"is_active":false,"unknown":[1]}"#, false, "Goal deactivated successfully"),
        (r#"{"is_active":true}"#, true, "Goal activated successfully"),
        ("", false, "Goal deactivated successfully"),
        ("{}", false, "Goal deactivated successfully"),
    ] {
        let (status, answer) = ann.set_active("goal-001-02", body).await;
        assert_eq!(status, StatusCode::OK, "{body}");
        assert_eq!(answer["isActive"], is_active, "{body}");
        assert_eq!(answer["message"], message, "{body}");
        assert_eq!(ann.goal("goal-001-02").await["isActive"], is_active, "the next read shows it: {body}");
    }
    let large = format!(r#"{{"x":"{}"}}"#, "y".repeat(20_000));
    for (body, code) in [
        ("{", "INVALID_REQUEST"),
        (r#"{"isActive":"yes"}"#, "INVALID_REQUEST"),
        ("[]x", "INVALID_REQUEST"),
        (large.as_str(), "REQUEST_TOO_LARGE"),
    ] {
        let (status, answer) = ann.set_active("goal-001-02", body).await;
        assert!(status.is_client_error(), "{body}");
        assert_eq!(answer["errorCode"], code);
    }
}

#[tokio::test]
async fn simultaneous_set_active_on_a_new_row_never_fails() {
    let server = Server::start().await;
    let calls: Vec<_> = (0..50)
        .map(|_| server.player("ann"))
        .map(|ann| tokio::spawn(async move { ann.set_active("goal-001-09", r#"{"isActive":true}"#).await }))
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap().0, StatusCode::OK);
    }
}

#[tokio::test]
async fn unknown_challenges_and_goals_are_404_everywhere() {
    let server = Server::start().await;
    let ann = server.player("ann");
    for (path, code) in [
        ("nope/goals/goal-001-01", "CHALLENGE_NOT_FOUND"),
        ("challenge-001/goals/nope", "GOAL_NOT_FOUND"),
        ("challenge-002/goals/goal-001-01", "GOAL_NOT_FOUND"),
    ] {
        for (method, verb) in [(Method::PUT, "active"), (Method::POST, "claim")] {
            let (status, answer) = ann.send(method, &format!("{LIST}/{path}/{verb}"), "{}").await;
            assert_eq!(
                (status, &answer["errorCode"]),
                (StatusCode::NOT_FOUND, &json!(code)),
                "{path} {verb}"
            );
            assert_eq!(answer["code"], 5);
        }
    }
    let (status, answer) = ann.get("/challenge/v2").await;
    assert_eq!((status, &answer["errorCode"]), (StatusCode::NOT_FOUND, &json!("NOT_FOUND")));
    let (status, _) = ann.send(Method::DELETE, LIST, "").await;
    assert_eq!(status, StatusCode::METHOD_NOT_ALLOWED);
}

#[tokio::test]
async fn there_is_no_default_user() {
    let server = Server::start().await;
    for user in ["", &"x".repeat(101)] {
        let anonymous = server.player(user);
        let (status, answer) = anonymous.get(LIST).await;
        assert_eq!((status, &answer["errorCode"]), (StatusCode::UNAUTHORIZED, &json!("UNAUTHENTICATED")));
        assert_eq!(anonymous.set_active("goal-001-01", "{}").await.0, StatusCode::UNAUTHORIZED);
        assert_eq!(anonymous.claim("goal-001-01").await.0, StatusCode::UNAUTHORIZED);
        let (status, _) = anonymous.send(Method::POST, "/challenge/v1/challenges/initialize", "{}").await;
        assert_eq!(status, StatusCode::UNAUTHORIZED);
    }
    assert_eq!(server.count("SELECT count(*) FROM user_goal_progress"), 0);
}

#[tokio::test]
async fn health_needs_no_identity_and_the_admin_port_answers() {
    let server = Server::start().await;
    assert_eq!(
        server.player("").get("/challenge/healthz").await,
        (StatusCode::OK, json!({"status": "healthy"}))
    );
    let admin = server.admin();
    assert_eq!(admin.get("/healthz").await.0, StatusCode::OK);
    for path in ["/readyz", "/ready"] {
        assert_eq!(admin.get(path).await, (StatusCode::OK, json!({"status": "ready"})));
    }
}

/// A limit of one request, delayed by the batching delay: the others are refused at once.
#[tokio::test]
async fn above_the_limit_requests_are_refused_with_retry_after() {
    let server = Server::start_with(&[("HTTP_MAX_IN_FLIGHT", "1"), ("COMMIT_LINGER_MS", "50")]).await;
    let calls: Vec<_> = (0..20)
        .map(|_| server.player("ann"))
        .map(|ann| tokio::spawn(async move { ann.set_active("goal-001-09", r#"{"isActive":true}"#).await }))
        .collect();
    let mut refused = 0;
    for call in calls {
        let (status, answer) = call.await.unwrap();
        if status != StatusCode::OK {
            assert_eq!(
                (status, &answer["errorCode"]),
                (StatusCode::SERVICE_UNAVAILABLE, &json!("OVERLOADED"))
            );
            refused += 1;
        }
    }
    assert!((1..20).contains(&refused), "{refused} of 20");
}

#[tokio::test]
async fn the_base_path_can_be_any_path_or_the_root() {
    for (base, path) in [("/games/one/", "/games/one/healthz"), ("/", "/healthz")] {
        let server = Server::start_with(&[("BASE_PATH", base)]).await;
        assert_eq!(server.player("").get(path).await.0, StatusCode::OK, "{base}");
    }
}

#[tokio::test]
async fn the_error_for_a_port_in_use_names_it() {
    let server = Server::start().await;
    let taken = server.running.addresses.http.unwrap().port().to_string();
    let settings = crate::database::settings(&server.database, &[("HTTP_PORT", &taken)]);
    let refused = challenge::server::start(&settings, Role::All).await.err().unwrap().to_string();
    assert!(
        refused.starts_with(&format!("cannot listen on 127.0.0.1:{taken} for HTTP (HTTP_PORT)")),
        "{refused}"
    );
}

/// With an hour to drain, an idle connection that stayed open would block this test.
#[tokio::test]
async fn shutdown_closes_every_connection_and_writes_all_data() {
    let server = Server::start_with(&[("DRAIN_TIMEOUT_S", "3600")]).await;
    let addresses = server.running.addresses;
    server.player("ann").initialize().await;
    let mut idle = Vec::new();
    let ports = [addresses.http, addresses.grpc, addresses.events, Some(addresses.admin)];
    for address in ports.map(Option::unwrap) {
        idle.push(tokio::net::TcpStream::connect(address).await.unwrap());
    }
    let database = server.stop().await;
    for mut connection in idle {
        let _closed_or_reset = connection.read_to_end(&mut Vec::new()).await;
    }
    assert_eq!(database.count("SELECT count(*) FROM user_goal_progress"), 10);
}
