//! The event services for publishers, over gRPC.

use challenge::proto::account::UserLoggedIn;
use challenge::proto::statistic::{StatItem, StatItemUpdated};
use prost::Message;
use serde_json::json;
use testkit::data::{StoreKind, TestDatabase};
use testkit::grpc::connect;
use tonic::Code;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use crate::support::{Server, statistic};

/// The goal that a login moves, one of the defaults.
const LOGIN_GOAL: &str = "goal-010-01";
/// The goal that counts `enemy_kills`, one of the defaults.
const KILLS_GOAL: &str = "goal-001-01";
/// The goal that counts the increase of `enemy_kills`, one of the defaults.
const RELATIVE_KILLS_GOAL: &str = "goal-009-01";

#[tokio::test]
async fn events_of_a_user_without_rows_create_the_defaults_and_count() {
    let server = Server::start().await;
    let mut publisher = server.publisher().await;
    publisher.update_statistic("ann", "enemy_kills", 7.0).await.unwrap();
    publisher.log_in("ann", "1").await.unwrap();
    let ann = server.player("ann");
    assert_eq!(ann.goal(KILLS_GOAL).await["progress"], 7);
    assert_eq!(ann.goal(LOGIN_GOAL).await["status"], "completed");
    let initialized = ann.initialize().await;
    assert_eq!((&initialized["newAssignments"], &initialized["totalActive"]), (&json!(0), &json!(10)));
}

#[tokio::test]
async fn an_event_delivered_again_counts_once_even_after_a_restart() {
    let server = Server::start().await;
    let mut publisher = server.publisher().await;
    for id in ["1", "2", "1", "2", "3"] {
        publisher.log_in("ann", id).await.unwrap();
    }
    publisher.log_in("bob", "1").await.unwrap();
    assert_eq!(server.player("ann").goal(LOGIN_GOAL).await["progress"], 3);
    let server = Server::start_in(server.stop().await, &[]).await;
    let mut publisher = server.publisher().await;
    publisher.log_in("ann", "3").await.unwrap();
    publisher.log_in("ann", "4").await.unwrap();
    assert_eq!(server.player("ann").goal(LOGIN_GOAL).await["progress"], 4);
    assert_eq!(server.player("bob").goal(LOGIN_GOAL).await["progress"], 1);
}

#[tokio::test]
async fn simultaneous_deliveries_of_one_event_count_once_and_of_many_all_count() {
    let server = Server::start().await;
    let publisher = server.publisher().await;
    let tasks: Vec<_> = (0..400)
        .map(|i| (publisher.clone(), format!("{}", i % 100)))
        .map(|(mut publisher, id)| tokio::spawn(async move { publisher.log_in("ann", &id).await }))
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    assert_eq!(server.player("ann").goal(LOGIN_GOAL).await["progress"], 100);
}

#[tokio::test]
async fn a_late_older_value_lowers_nothing() {
    let server = Server::start().await;
    let mut publisher = server.publisher().await;
    for latest in [8.0, 3.0] {
        publisher.update_statistic("ann", "enemy_kills", latest).await.unwrap();
    }
    assert_eq!(server.player("ann").goal(KILLS_GOAL).await["progress"], 8);
}

#[tokio::test]
async fn the_baseline_of_a_relative_goal_is_the_value_before_its_first_event() {
    let server = Server::start().await;
    let mut publisher = server.publisher().await;
    for (latest, inc) in [(105.0, 5.0), (108.0, 3.0)] {
        let mut event = statistic("ann", "enemy_kills", latest);
        event.payload.as_mut().unwrap().inc = inc;
        publisher.statistic.on_message(event).await.unwrap();
    }
    assert_eq!(server.player("ann").goal(RELATIVE_KILLS_GOAL).await["progress"], 8);
}

/// The order is stored with the baseline, so that a restart in between changes nothing.
#[tokio::test]
async fn the_baseline_of_a_relative_goal_is_before_its_earliest_event_in_any_order_of_arrival() {
    let event_of = |user: &str, (version, timestamp): (i64, &str), latest: f64| {
        let mut event = statistic(user, "enemy_kills", latest);
        (event.version, event.timestamp) = (version, timestamp.to_owned());
        event.payload.as_mut().unwrap().inc = 4.0;
        event
    };
    let by_version = [(3, ""), (1, ""), (2, "")];
    let by_time =
        [(0, "2026-01-01T00:00:02Z"), (0, "2026-01-01T01:00:01+01:00"), (0, "2026-01-01T00:00:01.5Z")];
    let by_arrival = [(0, "soon"), (0, ""), (0, "2026-13-01T00:00:00Z")];
    let cases = [("version", by_version, 12), ("time", by_time, 12), ("arrival", by_arrival, 4)];
    let server = Server::start().await;
    for (user, orders, _) in cases {
        server.publisher().await.statistic.on_message(event_of(user, orders[0], 112.0)).await.unwrap();
    }
    let server = Server::start_in(server.stop().await, &[]).await;
    for (user, [_, first, second], progress) in cases {
        for (order, latest) in [(second, 108.0), (first, 104.0)] {
            server.publisher().await.statistic.on_message(event_of(user, order, latest)).await.unwrap();
        }
        assert_eq!(server.player(user).goal(RELATIVE_KILLS_GOAL).await["progress"], progress, "{user}");
    }
}

#[tokio::test]
async fn other_namespaces_are_accepted_and_do_nothing() {
    let server = Server::start().await;
    let mut publisher = server.publisher().await;
    let mut foreign = statistic("ann", "enemy_kills", 7.0);
    foreign.namespace = "elsewhere".to_owned();
    publisher.statistic.on_message(foreign).await.unwrap();
    let login =
        UserLoggedIn { user_id: "ann".to_owned(), namespace: "elsewhere".to_owned(), ..Default::default() };
    publisher.login.on_message(login).await.unwrap();
    assert_eq!(server.count("SELECT count(*) FROM user_goal_progress"), 0);
}

#[tokio::test]
async fn a_statistic_that_no_goal_counts_does_nothing() {
    let server = Server::start().await;
    let mut publisher = server.publisher().await;
    publisher.update_statistic("ann", "uncounted", 7.0).await.unwrap();
    publisher.update_statistic("ann", "login_count", 7.0).await.unwrap();
    assert_eq!(server.count("SELECT count(*) FROM user_goal_progress"), 0);
}

#[tokio::test]
async fn malformed_events_are_invalid_arguments() {
    let server = Server::start().await;
    let mut publisher = server.publisher().await;
    let adding = |inc: f64| {
        let mut event = statistic("ann", "enemy_kills", 1.0);
        event.payload.as_mut().unwrap().inc = inc;
        event
    };
    let without_payload = StatItemUpdated { payload: None, ..statistic("ann", "enemy_kills", 1.0) };
    for event in [
        statistic("", "enemy_kills", 1.0),
        statistic(&"x".repeat(101), "enemy_kills", 1.0),
        statistic("ann", "", 1.0),
        statistic("ann", "enemy_kills", f64::NAN),
        statistic("ann", "enemy_kills", f64::INFINITY),
        statistic("ann", "enemy_kills", f64::NEG_INFINITY),
        adding(f64::NAN),
        adding(f64::INFINITY),
        adding(f64::NEG_INFINITY),
        statistic("a\nnn", "enemy_kills", 1.0),
        without_payload,
    ] {
        let refused = publisher.statistic.on_message(event.clone()).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{event:?}");
    }
    assert_eq!(publisher.log_in("", "1").await.unwrap_err().code(), Code::InvalidArgument);
    assert_eq!(server.count("SELECT count(*) FROM user_goal_progress"), 0);
}

/// Negative values are ignored; all others are truncated to a whole number in the range of progress.
#[tokio::test]
async fn values_are_truncated_to_whole_numbers_in_the_range_of_progress() {
    let server = Server::start().await;
    let mut publisher = server.publisher().await;
    for (user, latest, progress) in [
        ("neg", -5.0, 0),
        ("negative-enormous", -1e300, 0),
        ("least", f64::MIN, 0),
        ("minus-zero", -0.0, 0),
        ("nearly-nothing", f64::MIN_POSITIVE, 0),
        ("frac", 3.9, 3),
        ("last", 2_147_483_647.0, i32::MAX),
        ("past-the-last", 2_147_483_648.0, i32::MAX),
        ("huge", 1e300, i32::MAX),
        ("most", f64::MAX, i32::MAX),
    ] {
        publisher.update_statistic(user, "enemy_kills", latest).await.unwrap();
        assert_eq!(server.player(user).goal(KILLS_GOAL).await["progress"], progress, "{latest}");
    }
}

/// Whatever increment an event contains, the progress of a relative goal stays between 0 and the value.
#[tokio::test]
async fn increments_of_any_size_leave_a_relative_goal_within_its_bounds() {
    let server = Server::start().await;
    let mut publisher = server.publisher().await;
    for (user, latest, inc, progress) in [
        ("all", 7.0, 7.0, 7),
        ("fraction", 7.9, 1.9, 1),
        ("more-than-all", 7.0, 1e300, 7),
        ("fell", 7.0, -3.0, 0),
        ("fell-far", 7.0, -1e300, 0),
        ("huge", 1e300, 1e300, i32::MAX),
    ] {
        let mut event = statistic(user, "enemy_kills", latest);
        event.payload.as_mut().unwrap().inc = inc;
        publisher.statistic.on_message(event).await.unwrap();
        assert_eq!(server.player(user).goal(RELATIVE_KILLS_GOAL).await["progress"], progress, "{user}");
    }
}

/// Ids are never joined into one text, so separators in them cause no collision.
#[tokio::test]
async fn a_user_id_with_separators_counts_like_any_other() {
    let server = Server::start().await;
    let mut publisher = server.publisher().await;
    for user in ["a:b", "a", "a:b:goal-010-01", "a/b'\"\\"] {
        publisher.log_in(user, "b:1").await.unwrap();
        assert_eq!(server.player(user).goal(LOGIN_GOAL).await["progress"], 1, "{user}");
    }
}

/// A group that fails is rolled back as a whole: none of its events is acknowledged, and no id is remembered.
#[tokio::test]
async fn an_event_that_the_store_did_not_write_is_refused_and_counts_when_delivered_again() {
    let server = Server::start().await;
    let mut publisher = server.publisher().await;
    publisher.log_in("ann", "1").await.unwrap();
    server.database.run("ALTER TABLE user_goal_progress RENAME TO away");
    assert_eq!(publisher.log_in("ann", "2").await.unwrap_err().code(), Code::Unavailable);
    let (status, refused) = server.player("ann").set_active(LOGIN_GOAL, r#"{"isActive":false}"#).await;
    assert_eq!((status.as_u16(), &refused["errorCode"]), (503, &json!("UNAVAILABLE")));
    server.database.run("ALTER TABLE away RENAME TO user_goal_progress");
    publisher.log_in("ann", "2").await.unwrap();
    assert_eq!(server.player("ann").goal(LOGIN_GOAL).await["progress"], 2);
}

/// A buffer of one event, and a batching delay: of many simultaneous events some are refused, and no other is lost.
#[tokio::test]
async fn a_full_buffer_refuses_events_and_acknowledged_events_count() {
    let server = Server::start_with(&[("EVENT_BUFFER", "1"), ("COMMIT_LINGER_MS", "20")]).await;
    let publisher = server.publisher().await;
    let tasks: Vec<_> = (0..50)
        .map(|i| (publisher.clone(), i.to_string()))
        .map(|(mut publisher, id)| tokio::spawn(async move { publisher.log_in("ann", &id).await }))
        .collect();
    let mut acknowledged = 0;
    let mut refused = 0;
    for task in tasks {
        match task.await.unwrap() {
            Ok(()) => acknowledged += 1,
            Err(status) => {
                assert_eq!(status.code(), Code::ResourceExhausted);
                refused += 1;
            }
        }
    }
    assert!(acknowledged > 0 && refused > 0, "{acknowledged} acknowledged, {refused} refused");
    assert_eq!(server.player("ann").goal(LOGIN_GOAL).await["progress"], acknowledged);
}

#[tokio::test]
async fn buffered_events_are_written_during_the_drain() {
    let server = Server::start_with(&[("EVENT_ACK", "buffered"), ("COMMIT_LINGER_MS", "100")]).await;
    let mut publisher = server.publisher().await;
    for id in 0..200 {
        publisher.log_in("ann", &id.to_string()).await.unwrap();
    }
    drop(publisher);
    let database = server.stop().await;
    let logins = format!("SELECT value FROM user_goal_progress WHERE goal_id = '{LOGIN_GOAL}'");
    assert_eq!(database.count(&logins), 200);
}

/// Its writing is tried again after a commit whose outcome is unknown, so it has a key of its own.
#[tokio::test]
async fn buffered_events_without_an_id_all_count_and_can_be_recognised() {
    let server = Server::start_with(&[("EVENT_ACK", "buffered")]).await;
    let mut publisher = server.publisher().await;
    for _ in 0..3 {
        publisher.log_in("ann", "").await.unwrap();
    }
    drop(publisher);
    let database = server.stop().await;
    let logins = format!("SELECT value FROM user_goal_progress WHERE goal_id = '{LOGIN_GOAL}'");
    assert_eq!(database.count(&logins), 3);
    assert_eq!(database.count(count_ids(&database)), 3);
}

fn count_ids(database: &TestDatabase) -> &'static str {
    match database.kind {
        StoreKind::Sqlite => "SELECT sum(length(ids)) / 16 FROM event_ids",
        StoreKind::Postgres => "SELECT count(*) FROM event_ids",
    }
}

#[tokio::test]
async fn both_grpc_ports_report_their_health() {
    let server = Server::start().await;
    for address in [server.running.addresses.grpc, server.running.addresses.events].map(Option::unwrap) {
        let mut health = HealthClient::new(connect(address).await);
        let answer = health.check(HealthCheckRequest::default()).await.unwrap().into_inner();
        assert_eq!(answer.status(), ServingStatus::Serving);
    }
}

/// Field numbers are those that existing publishers use.
#[test]
fn field_numbers_are_those_of_existing_publishers() {
    let tags = |message: Vec<u8>| message[0] >> 3;
    let text = || "x".to_owned();
    let login = UserLoggedIn::default;
    assert_eq!(tags(UserLoggedIn { user_id: text(), ..login() }.encode_to_vec()), 9);
    assert_eq!(tags(UserLoggedIn { trace_id: text(), ..login() }.encode_to_vec()), 10);
    assert_eq!(tags(UserLoggedIn { session_id: text(), ..login() }.encode_to_vec()), 11);
    let stat = StatItemUpdated::default;
    assert_eq!(tags(StatItemUpdated { user_id: text(), ..stat() }.encode_to_vec()), 9);
    assert_eq!(tags(StatItemUpdated { session_id: text(), ..stat() }.encode_to_vec()), 10);
    assert_eq!(tags(StatItem { stat_code: text(), ..StatItem::default() }.encode_to_vec()), 2);
    assert_eq!(tags(StatItem { latest_value: 1.0, ..StatItem::default() }.encode_to_vec()), 4);
    assert_eq!(tags(StatItem { inc: 1.0, ..StatItem::default() }.encode_to_vec()), 5);
    assert_eq!(tags(StatItem { update_strategy: text(), ..StatItem::default() }.encode_to_vec()), 10);
}
