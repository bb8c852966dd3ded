//! The deadline that a caller sets.

use std::time::Duration;

use tonic::{Code, Request};

use crate::support::{Server, a_product};

/// Another connection locks the database while the call waits.
#[tokio::test]
async fn a_callers_own_deadline_ends_a_call() {
    let server = Server::start().await;
    let mut client = server.client().await;
    let holder = rusqlite::Connection::open(server.store.file()).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut request = Request::new(a_product());
    request.set_timeout(Duration::from_millis(20));
    let code = client.rpc.create_listing(request).await.unwrap_err().code();
    assert!(matches!(code, Code::DeadlineExceeded | Code::Cancelled), "{code:?}");
    holder.execute_batch("ROLLBACK").unwrap();
    client.create(a_product()).await;
}
