//! The real binary: its commands, its exit codes, and its shutdown.

use std::process::Command;

use peers::service::refused;
use testkit::data::TestDatabase;
use testkit::process::{Process, assert_health};

use crate::process::{BINARY, serving, started, started_as};

#[test]
fn it_refuses_to_start_without_authentication() {
    let database = TestDatabase::new();
    let message = refused(serving(&database).env_remove("TEST_IDENTITY_HEADER"));
    assert!(message.contains("callers cannot be authenticated"), "{message}");
}

#[test]
fn the_test_identity_header_is_warned_about_at_start() {
    let database = TestDatabase::new();
    let blocker = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = blocker.local_addr().unwrap().port().to_string();
    let message = refused(serving(&database).env("ADMIN_PORT", &port));
    assert!(message.contains("WARN") && message.contains("TEST_IDENTITY_HEADER is on"), "{message}");
    assert!(
        message.contains(&format!("cannot listen on 127.0.0.1:{port} for admin (ADMIN_PORT)")),
        "{message}"
    );
}

#[test]
fn a_database_in_use_and_a_bad_challenge_file_are_refused() {
    let database = TestDatabase::new();
    let first = started_as(&database, "all");
    let message = refused(&mut serving(&database));
    assert!(message.contains("is in use by another process"), "{message}");
    drop(first);
    let bad = database.path().join("bad.json");
    std::fs::write(&bad, "{\"challenges\": []}").unwrap();
    let message = refused(serving(&database).env("CHALLENGE_CONFIG_PATH", &bad));
    assert!(message.contains("bad.json: challenges: must be a list with at least one entry"), "{message}");
    let message = refused(Command::new(BINARY).arg("check").arg(&bad));
    assert!(message.contains("bad.json: challenges:"), "{message}");
}

#[test]
fn health_distinguishes_a_ready_process_from_none() {
    assert_health(started(&TestDatabase::new(), &[]), BINARY, "admin", "ADMIN_PORT");
    let message = refused(Command::new(BINARY).arg("health").env_clear().env("ADMIN_PORT", "many"));
    assert!(message.contains("ADMIN_PORT"), "{message}");
}

#[test]
fn check_accepts_a_generated_file() {
    let database = TestDatabase::new();
    let generate = ["config", "generate", "--challenges", "2", "--goals", "3", "--default", "4"];
    let written = Command::new(BINARY).args(generate).output().unwrap();
    let path = database.path().join("small.json");
    std::fs::write(&path, written.stdout).unwrap();
    let checked = Command::new(BINARY).arg("check").arg(&path).output().unwrap();
    let message = String::from_utf8(checked.stdout).unwrap();
    assert!(message.ends_with("2 challenges, 6 goals, 4 assigned by default\n"), "{message}");
    refused(Command::new(BINARY).args(["config", "generate", "--challenges", "1", "--default", "51"]));
}

#[test]
fn a_temporary_database_is_deleted_at_the_end() {
    let database = TestDatabase::new();
    let mut command = serving(&database);
    command.env("DATABASE_PATH", ":temporary:").env("TMPDIR", database.path());
    let process = Process::start(&mut command);
    assert_eq!(std::fs::read_dir(database.path()).unwrap().count(), 1);
    assert!(process.terminate().success());
    assert_eq!(std::fs::read_dir(database.path()).unwrap().count(), 0);
}
