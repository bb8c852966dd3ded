//! Events that can never be written: each ends alone, with a reason; the events beside it are written.

use std::time::Duration;

use testkit::data::StoreKind;
use testkit::until;
use tokio::task::JoinSet;
use tonic::Code;

use crate::support::{Publisher, Server, statistic};

const LOGINS: &str = "SELECT count(*) FROM user_goal_progress WHERE goal_id = 'goal-010-01' AND value = 1";

/// From then on the database rejects every row of the user `poison`, as it would a value that it cannot represent.
fn reject_poison(server: &Server) {
    server.database.run(match server.database.kind {
        StoreKind::Sqlite => {
            "CREATE TRIGGER poison BEFORE INSERT ON user_goal_progress WHEN NEW.user_id = 'poison'
             BEGIN SELECT RAISE(ABORT, 'poison'); END"
        }
        StoreKind::Postgres => {
            "ALTER TABLE user_goal_progress ADD CONSTRAINT no_poison CHECK (user_id <> 'poison')"
        }
    });
}

/// Logs forty users in at once, and `poison` in their midst; returns the result of each.
async fn log_in_with_poison(publisher: &Publisher) -> Vec<(String, Result<(), tonic::Status>)> {
    let mut logins = JoinSet::new();
    for number in 0..41 {
        let mut publisher = publisher.clone();
        let user = if number == 20 { "poison".to_owned() } else { format!("user-{number}") };
        logins.spawn(async move {
            let result = publisher.log_in(&user, "1").await;
            (user, result)
        });
    }
    logins.join_all().await
}

#[tokio::test]
async fn a_time_outside_the_accepted_range_is_refused_and_the_refusal_names_the_field() {
    let server = Server::start().await;
    let mut publisher = server.publisher().await;
    for (timestamp, is_accepted) in [
        ("-009999-01-03T00:00:00Z", false),
        ("-004800-01-01T00:00:00Z", false),
        ("1969-12-31T23:59:59.999Z", false),
        ("1970-01-01T00:00:00Z", true),
        ("2099-12-31T23:59:59.999Z", true),
        ("2100-01-01T00:00:00Z", false),
        ("9999-12-30T22:00:00Z", false),
        ("9999-12-31T23:59:59Z", false),
        ("tomorrow", true),
    ] {
        let mut event = statistic("ann", "enemy_kills", 5.0);
        event.timestamp = timestamp.to_owned();
        let result = publisher.statistic.on_message(event).await;
        assert_eq!(result.is_ok(), is_accepted, "{timestamp}: {result:?}");
        if let Err(refused) = result {
            assert_eq!(refused.code(), Code::InvalidArgument, "{timestamp}");
            assert!(refused.message().starts_with("timestamp "), "{refused}");
        }
    }
}

#[tokio::test]
async fn an_event_that_the_database_rejects_fails_alone() {
    let server = Server::start_with(&[("COMMIT_LINGER_MS", "100")]).await;
    reject_poison(&server);
    for (user, result) in log_in_with_poison(&server.publisher().await).await {
        match user.as_str() {
            "poison" => assert_eq!(result.unwrap_err().code(), Code::InvalidArgument),
            _ => assert!(result.is_ok(), "{user}: {result:?}"),
        }
    }
    assert_eq!(server.count(LOGINS), 40);
    assert!(server.metrics().await.contains("challenge_store_commands_rejected_total 1"));
}

#[tokio::test]
async fn a_buffered_event_that_the_database_rejects_delays_and_loses_no_other() {
    let server = Server::start_with(&[("EVENT_ACK", "buffered"), ("COMMIT_LINGER_MS", "100")]).await;
    reject_poison(&server);
    let publisher = server.publisher().await;
    for (user, result) in log_in_with_poison(&publisher).await {
        assert!(result.is_ok(), "{user}: {result:?}");
    }
    let written = async || server.count(LOGINS) == 40;
    assert!(tokio::time::timeout(Duration::from_secs(20), until("written", written)).await.is_ok());
    publisher.clone().log_in("poison", "2").await.unwrap();
    publisher.clone().log_in("late", "1").await.unwrap();
    drop(publisher);
    let database = server.stop().await;
    assert_eq!(database.count(LOGINS), 41, "all but the rejected one");
}
