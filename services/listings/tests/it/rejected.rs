//! Writes that the database rejects: each fails alone; the writes beside it are carried out.

use listings::proto::CreateListingRequest;
use testkit::data::StoreKind;
use tokio::task::JoinSet;
use tonic::Code;

use crate::support::{Server, a_product};

/// From then on the database rejects listings with the title `poison`, as it would a value that it cannot represent.
fn reject_poison(server: &Server) {
    server.store.run(match server.store.kind {
        StoreKind::Sqlite => {
            "CREATE TRIGGER poison BEFORE INSERT ON listings WHEN NEW.title = 'poison'
             BEGIN SELECT RAISE(ABORT, 'poison'); END"
        }
        StoreKind::Postgres => "ALTER TABLE listings ADD CONSTRAINT no_poison CHECK (title <> 'poison')",
    });
}

#[tokio::test]
async fn a_write_that_the_database_rejects_fails_alone() {
    let server = Server::start_with(&[("COMMIT_LINGER_MS", "100"), ("DB_WRITERS", "1")]).await;
    reject_poison(&server);
    let client = server.client().await;
    let mut calls = JoinSet::new();
    for number in 0..41 {
        let mut client = client.clone();
        let title = if number == 20 { "poison".to_owned() } else { format!("bike {number}") };
        calls.spawn(async move {
            let request = CreateListingRequest { title: title.clone(), ..a_product() };
            (title, client.rpc.create_listing(request).await)
        });
    }
    for (title, outcome) in calls.join_all().await {
        match title.as_str() {
            "poison" => assert_eq!(outcome.unwrap_err().code(), Code::InvalidArgument),
            _ => assert!(outcome.is_ok(), "{title}: {outcome:?}"),
        }
    }
    assert_eq!(server.count("SELECT count(*) FROM listings"), 40);
    assert_eq!(server.count("SELECT total FROM storefront_stats WHERE storefront_id = 3"), 40);
    let metrics = server.admin().text("/metrics").await;
    assert!(metrics.contains("listings_store_commands_rejected_total 1\n"), "{metrics}");
}
