//! The real binary: its commands, its exit codes, and how it ends.

use crate::home::Home;
use crate::process::{BINARY, Process, parsed, serving};
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Output, Stdio};

fn refused(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    assert_eq!(status.code(), Some(2), "{}", String::from_utf8_lossy(&stdout));
    String::from_utf8(stderr).unwrap()
}

#[test]
fn it_refuses_to_start_without_a_way_to_know_who_asks() {
    let folder = Home::new();
    let said = refused(serving(&folder).env_remove("TEST_IDENTITY_HEADER"));
    assert!(said.contains("no way to know who asks"), "{said}");
}

#[test]
fn the_test_identity_is_told_loudly_at_start() {
    let folder = Home::new();
    let blocker = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = blocker.local_addr().unwrap().port().to_string();
    let said = refused(serving(&folder).env("ADMIN_PORT", &port));
    assert!(said.contains("WARN") && said.contains("TEST_IDENTITY_HEADER is on"), "{said}");
    assert!(said.contains(&format!("cannot listen on 127.0.0.1:{port} for admin (ADMIN_PORT)")), "{said}");
}

#[test]
fn a_database_in_use_and_a_bad_challenge_file_are_refused() {
    let folder = Home::new();
    let first = Process::start_as(&folder, "all");
    let said = refused(&mut serving(&folder));
    assert!(said.contains("is in use by another process"), "{said}");
    drop(first);
    let bad = folder.path().join("bad.json");
    std::fs::write(&bad, "{\"challenges\": []}").unwrap();
    let said = refused(serving(&folder).env("CHALLENGE_CONFIG_PATH", &bad));
    assert!(said.contains("bad.json: challenges: must be a list with at least one entry"), "{said}");
    let said = refused(Command::new(BINARY).arg("check").arg(&bad));
    assert!(said.contains("bad.json: challenges:"), "{said}");
}

#[test]
fn health_tells_a_ready_process_from_none() {
    let process = Process::start_as(&Home::new(), "all");
    let port = process.addresses.admin.port().to_string();
    let ask = || Command::new(BINARY).arg("health").env_clear().env("ADMIN_PORT", &port).output().unwrap();
    assert_eq!(ask().status.code(), Some(0));
    process.kill();
    let told = ask();
    assert_eq!(told.status.code(), Some(1));
    let said = String::from_utf8(told.stderr).unwrap();
    assert!(said.contains(&format!("127.0.0.1:{port} does not answer")), "{said}");
    let said = refused(Command::new(BINARY).arg("health").env_clear().env("ADMIN_PORT", "many"));
    assert!(said.contains("ADMIN_PORT"), "{said}");
}

#[test]
fn generate_writes_what_check_accepts() {
    let folder = Home::new();
    let generate = ["config", "generate", "--challenges", "2", "--goals", "3", "--default", "4"];
    let written = Command::new(BINARY).args(generate).output().unwrap();
    let path = folder.path().join("small.json");
    std::fs::write(&path, written.stdout).unwrap();
    let checked = Command::new(BINARY).arg("check").arg(&path).output().unwrap();
    let said = String::from_utf8(checked.stdout).unwrap();
    assert!(said.ends_with("2 challenges, 6 goals, 4 assigned by default\n"), "{said}");
    refused(Command::new(BINARY).args(["config", "generate", "--challenges", "1", "--default", "51"]));
}

#[test]
fn a_temporary_database_is_gone_after_the_end() {
    let folder = Home::new();
    let mut command = serving(&folder);
    command.env("DATABASE_PATH", ":temporary:").env("TMPDIR", folder.path());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    let process = Process { child, addresses: parsed(&line).unwrap() };
    assert!(process.terminate().success());
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{rest}");
}
