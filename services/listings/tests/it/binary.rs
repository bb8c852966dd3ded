//! The binary: commands, exit codes, messages; and a full disk.

use peers::service::refused;
use testkit::data::TestDatabase;
use testkit::process::{Process, assert_health, fill, on_a_small_disk};
use tonic::{Code, Status};

use crate::process::{BINARY, serving, started};
use crate::support::{Client, a_product};

#[test]
fn a_start_without_authentication_is_refused() {
    let message = refused(serving(&TestDatabase::new()).env_remove("AUTH_ENABLED"));
    assert!(message.contains("callers cannot be identified"), "{message}");
}

#[test]
fn disabled_protections_are_logged_as_warnings_at_start() {
    let blocker = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = blocker.local_addr().unwrap().port().to_string();
    let message = refused(serving(&TestDatabase::new()).env("SVETULISTINGS_GRPC_PORT", &port));
    assert!(message.contains("WARN") && message.contains("callers are not verified"), "{message}");
    assert!(message.contains("RATE_LIMIT_ENABLED is false"), "{message}");
    assert!(
        message.contains(&format!("cannot listen on 127.0.0.1:{port} for gRPC (GRPC_PORT)")),
        "{message}"
    );
}

#[test]
fn a_database_in_use_and_invalid_settings_are_refused() {
    let store = TestDatabase::new();
    let first = started(&store);
    let message = refused(&mut serving(&store));
    assert!(message.contains("is in use by another process"), "{message}");
    drop(first);
    let message = refused(serving(&store).env("REDIS_URL", "http://secret@nowhere"));
    assert!(message.contains("REDIS_URL") && !message.contains("secret"), "{message}");
    let message = refused(serving(&store).env("RATE_LIMIT_TABLE", "nowhere.toml"));
    assert!(message.contains("RATE_LIMIT_TABLE=nowhere.toml"), "{message}");
}

#[test]
fn the_health_command_distinguishes_a_ready_process_from_none() {
    assert_health(started(&TestDatabase::new()), BINARY, "admin", "ADMIN_PORT");
}

#[tokio::test]
async fn a_full_disk_refuses_writes_and_loses_nothing_that_was_acknowledged() {
    let store = TestDatabase::new();
    let process = Process::start(&mut on_a_small_disk(&serving(&store), 2_000));
    let mut client = Client::connect(process.address("grpc")).await;
    let (acknowledged, refused) = fill(async |_| {
        let made = client.rpc.create_listing(a_product()).await?;
        Ok::<_, Status>(made.into_inner().listing.unwrap().id)
    })
    .await;
    assert!(refused.iter().all(|status| status.code() == Code::Unavailable), "{refused:?}");
    assert_eq!(client.product(acknowledged[0]).await.unwrap().stock_quantity, 10, "reads still succeed");
    drop(client);
    assert!(process.terminate().success());

    let process = started(&store);
    let mut client = Client::connect(process.address("grpc")).await;
    assert_eq!(store.count("SELECT count(*) FROM listings"), acknowledged.len() as i64);
    assert_eq!(client.stats(3).await.total_products as usize, acknowledged.len());
    client.create(a_product()).await;
}
