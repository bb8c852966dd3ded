//! Mistakes that are easy to make in such a service, and that no other test covers. The table in the service's README
//! names the tests for all of them.

use std::path::Path;

use challenge::catalog::{CatalogSize, generate};
use hyper::StatusCode;
use peers::document::sources;
use serde_json::Value;
use testkit::data::TestDatabase;

use crate::support::Server;

/// Brackets, quotes and braces in texts do not affect the gaps of the prepared list.
#[tokio::test]
async fn texts_with_brackets_and_quotes_are_returned_unchanged() {
    let database = TestDatabase::new();
    let path = database.path().join("hostile.json");
    let mut file: Value =
        serde_json::from_str(&generate(CatalogSize { challenges: 2, goals: 3, defaults: 2 })).unwrap();
    let hostile = r#"]}],"goals":[{ "\" \\ [ é 💥"#;
    for challenge in file["challenges"].as_array_mut().unwrap() {
        challenge["name"] = hostile.into();
        for goal in challenge["goals"].as_array_mut().unwrap() {
            (goal["name"], goal["description"]) = (hostile.into(), hostile.into());
        }
    }
    std::fs::write(&path, file.to_string()).unwrap();
    let server = Server::start_in(database, &[("CHALLENGE_CONFIG_PATH", path.to_str().unwrap())]).await;
    let ann = server.player("ann");
    ann.initialize().await;
    for query in ["", "?active_only=true"] {
        let (_, list) = ann.get(&format!("/challenge/v1/challenges{query}")).await;
        let challenges = list["challenges"].as_array().unwrap();
        assert_eq!(challenges.len(), 2, "{query}");
        for challenge in challenges {
            assert_eq!(challenge["name"], hostile);
            assert!(challenge["goals"].as_array().unwrap().iter().all(|goal| goal["description"] == hostile));
        }
    }
}

/// A refused claim was never begun: no intent, no grant.
#[tokio::test]
async fn a_refused_claim_writes_nothing() {
    let server = Server::start().await;
    let ann = server.player("ann");
    ann.initialize().await;
    for goal in ["goal-001-01", "goal-001-02", "goal-001-99"] {
        assert_ne!(ann.claim(goal).await.0, StatusCode::OK, "{goal}");
    }
    assert_eq!(server.count("SELECT count(*) FROM claims"), 0);
    assert_eq!(server.count("SELECT count(*) FROM reward_ledger"), 0);
}

/// A completed goal that is switched off and on again is unchanged, including the columns for rotation.
#[tokio::test]
async fn set_active_changes_only_the_activity() {
    let server = Server::start().await;
    let ann = server.player("ann");
    server.publisher().await.update_statistic("ann", "enemy_kills", 10.0).await.unwrap();
    let unaffected = |goal: &Value| {
        ["progress", "status", "completedAt", "claimedAt", "expiresAt"].map(|k| goal[k].clone())
    };
    let before = ann.goal("goal-001-01").await;
    let periods = "SELECT count(*) FROM user_goal_progress WHERE period = 0 AND counted_at IS NULL";
    let unrotated = server.count(periods);
    let (_, off) = ann.set_active("goal-001-01", r#"{"isActive":false}"#).await;
    assert_eq!(unaffected(&ann.goal("goal-001-01").await), unaffected(&before));
    let (_, off_again) = ann.set_active("goal-001-01", r#"{"isActive":false}"#).await;
    assert_eq!(off["assignedAt"], off_again["assignedAt"], "switching off assigns nothing");
    ann.set_active("goal-001-01", r#"{"isActive":true}"#).await;
    assert_eq!(unaffected(&ann.goal("goal-001-01").await), unaffected(&before));
    assert_eq!(server.count(periods), unrotated);
    let has_updated_at = crate::database::has_column(&server.database, "user_goal_progress", "updated_at");
    assert!(!has_updated_at, "no column could be used to infer a period from the last write");
}

/// Reading has no effect: a list neither assigns a goal nor starts a period.
#[tokio::test]
async fn goals_without_a_row_have_no_times() {
    let server = Server::start().await;
    let goal = server.player("ann").goal("goal-001-02").await;
    for member in ["completedAt", "claimedAt", "expiresAt"] {
        assert_eq!(goal[member], "", "{member}");
    }
    assert_eq!((&goal["expiresInSeconds"], &goal["isActive"]), (&0.into(), &false.into()));
    assert_eq!(server.count("SELECT count(*) FROM user_goal_progress"), 0);
}

/// A test name in the table must exist.
#[test]
fn every_test_that_the_readme_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let sources = ["src", "tests"].map(|folder| sources(&root.join(folder)).unwrap());
    let code: String = sources.into_iter().flatten().map(|(_, text)| text).collect();
    let table = readme.split("## Known mistakes and their tests").nth(1).unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| ")).skip(2);
    let mut named = 0;
    for row in rows {
        let tests: Vec<&str> = row.rsplit('|').nth(1).unwrap().split('`').skip(1).step_by(2).collect();
        assert!(!tests.is_empty(), "{row}");
        for test in tests {
            assert!(code.contains(&format!("fn {test}(")), "{test} in {row}");
            named += 1;
        }
    }
    assert!(named > 30, "{named}");
}
