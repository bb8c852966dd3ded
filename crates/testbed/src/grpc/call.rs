//! Where a call came from, and what it may order its connection to do.

use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;

use crate::grpc::Server;

/// What a stream orders its connection to do.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ConnectionOrder {
    /// Let the streams under way end, and accept no more.
    GoAway,
    /// End at once.
    Abort(u32),
}

/// Where a call came from.
pub(super) struct Call {
    pub(super) server: Arc<Server>,
    pub(super) connection: u64,
    pub(super) orders: UnboundedSender<ConnectionOrder>,
}
