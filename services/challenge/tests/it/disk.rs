//! A full disk: writes are refused, acknowledged data is kept, reads continue.

use hyper::StatusCode;
use testkit::data::TestDatabase;
use testkit::process::{Process, fill, on_a_small_disk};
use tonic::Code;

use crate::process::{serving, started_as};
use crate::support::{Player, Publisher};

const LOGIN_GOAL: &str = "goal-010-01";

#[tokio::test]
async fn a_full_disk_refuses_writes_and_loses_nothing_that_was_acknowledged() {
    let database = TestDatabase::new();
    let process = Process::start(&mut on_a_small_disk(&serving(&database), 2_000));
    let mut publisher = Publisher::connect(process.address("events")).await;
    let (acknowledged, refused) = fill(async |number| {
        let user = format!("user-{number}");
        match publisher.log_in(&user, "1").await {
            Ok(()) => Ok(user),
            Err(status) if status.code() == Code::Unavailable => Err(user),
            Err(status) => panic!("{status}"),
        }
    })
    .await;
    let http = process.address("http");
    // It writes less than an event, so it may succeed for a while.
    let mut changes = 0;
    let answer = loop {
        let (status, answer) =
            Player::new(http, &format!("new-{changes}")).set_active(LOGIN_GOAL, "{}").await;
        if status != StatusCode::OK {
            break (status.as_u16(), answer["errorCode"].clone());
        }
        changes += 1;
        assert!(changes < 1_000, "the disk is full");
    };
    assert_eq!(answer, (503, "UNAVAILABLE".into()));
    let first = Player::new(http, &acknowledged[0]);
    assert_eq!(first.goal(LOGIN_GOAL).await["progress"], 1, "reads continue");
    assert_eq!(first.get("/challenge/healthz").await.0, StatusCode::OK);
    assert!(process.terminate().success());

    let process = started_as(&database, "all");
    let logins =
        format!("SELECT count(*) FROM user_goal_progress WHERE goal_id = '{LOGIN_GOAL}' AND value = 1");
    assert_eq!(database.count(&logins), acknowledged.len() as i64, "every acknowledged event, and no other");
    let mut publisher = Publisher::connect(process.address("events")).await;
    publisher.log_in(&refused[0], "1").await.unwrap();
    let again = Player::new(process.address("http"), &refused[0]);
    assert_eq!(again.goal(LOGIN_GOAL).await["progress"], 1, "delivered again, it counts");
}
