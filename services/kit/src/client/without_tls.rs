//! How connections are made by a program that was built without TLS: over TCP.

use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;

use super::ClientError;
use crate::lean;

/// Makes connections.
pub(super) type Connector = HttpConnector;

/// Connecting gets half of the whole timeout, so that a destination that drops packets is reported as "nothing was
/// sent".
pub(super) fn connector(destination: &Uri, timeout: Duration) -> Result<Connector, ClientError> {
    match destination.scheme_str() {
        Some("http") => {}
        Some("https") => return Err(ClientError::NoTls(lean::refusal("TLS"))),
        _ => return Err(ClientError::Destination),
    }
    let mut tcp = HttpConnector::new();
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(timeout / 2));
    Ok(tcp)
}
