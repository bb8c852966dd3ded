//! The real binary: its commands, its exit codes, what it says; and a disk that is full.

use crate::home::{Home, PORTS};
use crate::process::{BINARY, Process, serving};
use crate::support::{Client, a_product};
use std::process::{Command, Output, Stdio};
use tonic::Code;

fn refused(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    assert_eq!(status.code(), Some(2), "{}", String::from_utf8_lossy(&stdout));
    String::from_utf8(stderr).unwrap()
}

#[test]
fn it_refuses_to_start_without_a_way_to_know_who_calls() {
    let said = refused(serving(&Home::new()).env_remove("AUTH_ENABLED"));
    assert!(said.contains("no way to know who calls"), "{said}");
}

#[test]
fn what_is_switched_off_is_told_loudly_at_start() {
    let blocker = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = blocker.local_addr().unwrap().port().to_string();
    let said = refused(serving(&Home::new()).env("SVETULISTINGS_GRPC_PORT", &port));
    assert!(said.contains("WARN") && said.contains("AUTH_ENABLED is false"), "{said}");
    assert!(said.contains("RATE_LIMIT_ENABLED is false"), "{said}");
    assert!(said.contains(&format!("cannot listen on 127.0.0.1:{port} for gRPC (GRPC_PORT)")), "{said}");
}

#[test]
fn a_database_in_use_and_settings_that_cannot_be_meant_are_refused() {
    let home = Home::new();
    let first = Process::start(&home);
    let said = refused(&mut serving(&home));
    assert!(said.contains("is in use by another process"), "{said}");
    drop(first);
    let said = refused(serving(&home).env("REDIS_URL", "http://secret@nowhere"));
    assert!(said.contains("REDIS_URL") && !said.contains("secret"), "{said}");
    let said = refused(serving(&home).env("RATE_LIMIT_TABLE", "nowhere.toml"));
    assert!(said.contains("RATE_LIMIT_TABLE=nowhere.toml"), "{said}");
}

#[test]
fn health_tells_a_ready_process_from_none() {
    let process = Process::start(&Home::new());
    let port = process.addresses.http.port().to_string();
    let ask = || Command::new(BINARY).arg("health").env_clear().env("HTTP_PORT", &port).output().unwrap();
    assert_eq!(ask().status.code(), Some(0));
    process.kill();
    assert_eq!(ask().status.code(), Some(1));
}

/// A file may grow to so many blocks of 512 bytes; past that a write fails, as it does on a disk that is full.
#[tokio::test]
async fn a_full_disk_refuses_writes_and_loses_nothing_that_was_acknowledged() {
    let home = Home::new();
    let script = format!("trap '' XFSZ; ulimit -f 2000; exec {BINARY} serve");
    let mut command = Command::new("sh");
    command.args(["-c", &script]).env_clear().envs(PORTS).envs(home.env());
    let process = Process::started(&mut command, Stdio::null());
    let mut client = Client::connect(process.addresses.grpc).await;
    let (mut acknowledged, mut in_a_row) = (Vec::new(), 0);
    for number in 0.. {
        match client.rpc.create_listing(a_product()).await {
            Ok(made) => {
                acknowledged.push(made.into_inner().listing.unwrap().id);
                in_a_row = 0;
            }
            Err(status) => {
                assert_eq!(status.code(), Code::Unavailable);
                in_a_row += 1;
            }
        }
        if in_a_row == 20 {
            break;
        }
        assert!(number < 20_000, "a megabyte holds fewer listings");
    }
    assert_eq!(client.product(acknowledged[0]).await.unwrap().stock_quantity, 10, "reads go on");
    drop(client);
    assert!(process.terminate().success());

    let process = Process::start(&home);
    let mut client = Client::connect(process.addresses.grpc).await;
    assert_eq!(home.count("SELECT count(*) FROM listings"), acknowledged.len() as i64);
    assert_eq!(client.stats(3).await.total_products as usize, acknowledged.len());
    client.create(a_product()).await;
}
