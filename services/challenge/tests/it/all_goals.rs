//! Players who have every goal of the file: a write reads only the goals that it may change.

use challenge::catalog::{CatalogSize, generate};
use hyper::StatusCode;
use testkit::data::TestDatabase;

use crate::support::{Player, Publisher, Server};

/// A goal completed by one login, a goal that counts a statistic, and a goal with its prerequisite.
const LOGIN_GOAL: &str = "goal-010-01";
const KILLS_GOAL: &str = "goal-001-01";
const BEFORE_GATED: &str = "goal-001-04";
const GATED: &str = "goal-001-05";

/// A database, and a challenge file in which every goal is a default.
fn database() -> (TestDatabase, String) {
    let database = TestDatabase::new();
    let path = database.path().join("all.json");
    std::fs::write(&path, generate(CatalogSize { challenges: 10, goals: 50, defaults: 500 })).unwrap();
    let path = path.display().to_string();
    (database, path)
}

async fn started() -> Server {
    let (database, path) = database();
    Server::start_in(database, &[("CHALLENGE_CONFIG_PATH", &path)]).await
}

async fn progress(player: &Player, goal: &str) -> u64 {
    player.goal(goal).await["progress"].as_u64().unwrap()
}

/// The rows of a user, and how many of them are active.
fn rows(server: &Server, user: &str) -> (i64, i64) {
    let count = |condition: &str| {
        server.count(&format!("SELECT count(*) FROM user_goal_progress WHERE user_id = '{user}'{condition}"))
    };
    (count(""), count(" AND is_active"))
}

/// Each user's first write is of another kind; the writes after it read a part of the rows.
#[tokio::test]
async fn the_first_write_of_any_kind_assigns_all_goals_once_and_later_writes_count() {
    let server = started().await;
    let mut publisher = server.publisher().await;
    publisher.log_in("event", "first").await.unwrap();
    server.player("active").set_active(GATED, r#"{"isActive":false}"#).await;
    server.player("initialize").initialize().await;
    let (refused, _) = server.player("claim").claim(LOGIN_GOAL).await;
    assert_eq!(
        (refused, rows(&server, "claim")),
        (StatusCode::BAD_REQUEST, (0, 0)),
        "claims assign no goals"
    );
    for (user, active) in [("event", 500), ("active", 499), ("initialize", 500), ("claim", 500)] {
        let player = server.player(user);
        let logins = u64::from(user == "event");
        publisher.update_statistic(user, "enemy_kills", 7.0).await.unwrap();
        publisher.log_in(user, "second").await.unwrap();
        assert_eq!(rows(&server, user), (500, active), "{user}");
        assert_eq!(progress(&player, KILLS_GOAL).await, 7, "{user}");
        assert_eq!(progress(&player, LOGIN_GOAL).await, logins + 1, "{user}");
        assert_eq!(player.claim(LOGIN_GOAL).await.0, StatusCode::OK, "{user}");
        assert_eq!(player.claim(LOGIN_GOAL).await.0, StatusCode::CONFLICT, "{user}");
        player.set_active(KILLS_GOAL, r#"{"isActive":false}"#).await;
        publisher.update_statistic(user, "enemy_kills", 9.0).await.unwrap();
        publisher.log_in(user, "third").await.unwrap();
        assert_eq!(progress(&player, KILLS_GOAL).await, 7, "{user}: inactive goals do not move");
        assert_eq!(progress(&player, LOGIN_GOAL).await, logins + 1, "{user}: claimed goals do not move");
        assert_eq!(rows(&server, user), (500, active - 1), "{user}");
        assert_eq!(player.initialize().await["newAssignments"], 0, "{user}");
    }
}

/// The goal itself and its prerequisite are read, whichever was changed last.
#[tokio::test]
async fn a_claim_sees_the_state_of_its_prerequisite() {
    let server = started().await;
    let mut publisher = server.publisher().await;
    let ann = server.player("ann");
    ann.initialize().await;
    complete(&mut publisher, &ann, GATED).await;
    let (status, refused) = ann.claim(GATED).await;
    assert_eq!(status, StatusCode::BAD_REQUEST, "{refused}");
    complete(&mut publisher, &ann, BEFORE_GATED).await;
    assert_eq!(ann.claim(GATED).await.0, StatusCode::OK);
}

/// Sends the statistic that the goal counts; the other goal of the pair does not count it.
async fn complete(publisher: &mut Publisher, player: &Player, goal: &str) {
    let stat = if goal == GATED { "items_crafted" } else { "damage_dealt" };
    publisher.update_statistic("ann", stat, 1000.0).await.unwrap();
    assert_eq!(player.goal(goal).await["status"], "completed");
}

/// What a process remembers of players is only a hint: rows that another program changed or deleted are read again.
#[tokio::test]
async fn changes_by_another_program_in_the_database_take_effect() {
    let server = started().await;
    let mut publisher = server.publisher().await;
    let ann = server.player("ann");
    ann.initialize().await;
    publisher.log_in("ann", "1").await.unwrap();
    server.database.run("UPDATE user_goal_progress SET value = 40 WHERE user_id = 'ann' AND value = 1");
    publisher.log_in("ann", "2").await.unwrap();
    assert_eq!(progress(&ann, LOGIN_GOAL).await, 41);
    server.database.run("DELETE FROM user_goal_progress WHERE user_id = 'ann'");
    publisher.log_in("ann", "3").await.unwrap();
    assert_eq!((progress(&ann, LOGIN_GOAL).await, rows(&server, "ann")), (1, (500, 500)));
    server.database.run(&format!("DELETE FROM user_goal_progress WHERE goal_id = '{KILLS_GOAL}'"));
    assert_eq!(ann.set_active(KILLS_GOAL, r#"{"isActive":false}"#).await.0, StatusCode::OK);
    assert_eq!(rows(&server, "ann"), (500, 499));
}
