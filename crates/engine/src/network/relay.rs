//! A request in the form that a relaying proxy takes: with the whole URL and with authorization for the proxy.

use wire::Headers;

use crate::exchange::RequestDraft;
use crate::program::{Origin, ProxyMode};

/// The parts of a relayed request that differ from the request that the peer itself would get.
pub(super) struct RelayedRequest {
    pub(super) url: Vec<u8>,
    pub(super) headers: Headers,
}

impl RelayedRequest {
    /// None without a proxy, or through a tunnel.
    pub(super) fn new(origin: &Origin, draft: &RequestDraft) -> Option<RelayedRequest> {
        let ProxyMode::Relay { authorization } = &origin.proxy else { return None };
        // Only what is not under TLS is relayed.
        let url = [b"http://", draft.authority_or(&origin.authority), &draft.path].concat();
        let mut headers = draft.headers.clone();
        if let Some(authorization) = authorization {
            headers.push_secret(b"proxy-authorization", authorization.as_bytes());
        }
        Some(RelayedRequest { url, headers })
    }
}
