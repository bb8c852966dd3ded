//! Serves one HTTP/2 connection: a task for each stream, and the end that a stream may ask for.

use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::sync::mpsc;

use crate::grpc::Server;
use crate::grpc::call::{Call, ConnectionOrder};
use crate::grpc::stream;

/// Serves a connection to its end. What breaks it is the client's to notice.
pub(super) async fn serve(stream: TcpStream, server: Arc<Server>) {
    let number = server.shared.accept();
    if stream.set_nodelay(true).is_err() {
        return;
    }
    let Ok(mut connection) = h2::server::handshake(stream).await else { return };
    let (orders, mut ordered) = mpsc::unbounded_channel();
    loop {
        tokio::select! {
            accepted = connection.accept() => match accepted {
                Some(Ok((request, respond))) => {
                    let call = Call { server: server.clone(), connection: number, orders: orders.clone() };
                    tokio::task::spawn_local(stream::serve(call, request, respond));
                }
                Some(Err(_)) | None => return,
            },
            Some(order) = ordered.recv() => match order {
                ConnectionOrder::GoAway => connection.graceful_shutdown(),
                ConnectionOrder::Abort(reason) => connection.abrupt_shutdown(reason.into()),
            },
        }
    }
}
