//! A request as a proxy is given it: with the whole URL, and with who we are to the proxy.

use wire::Headers;

use crate::operation::Draft;
use crate::program::{Origin, Via};

/// What differs from the request as the peer would get it.
pub(super) struct Relayed {
    pub(super) url: Vec<u8>,
    pub(super) headers: Headers,
}

impl Relayed {
    /// None where the peer is spoken to itself, or through a tunnel.
    pub(super) fn of(origin: &Origin, draft: &Draft) -> Option<Relayed> {
        let Via::Relay { authorization } = &origin.via else { return None };
        let mut url = origin.url("").into_bytes();
        url.extend_from_slice(&draft.path);
        let mut headers = draft.headers.clone();
        if let Some(authorization) = authorization {
            headers.push_secret(b"proxy-authorization", authorization.as_bytes());
        }
        Some(Relayed { url, headers })
    }
}
