//! How origins are connected to that are not targets of the plan: scripts name them while they run.

use std::fmt::Debug;
use std::net::IpAddr;
use std::sync::Arc;

use workload::TlsFiles;
use workload::connection::Connecting;

use super::tls::{ClientConfig, client_config};
use crate::tls_offer::TlsOffer;

/// How origins are connected to that are not targets.
pub trait OriginRules: Debug + Send + Sync {
    /// How connections to a server are made, by its host and port; asked once for each.
    ///
    /// # Errors
    /// Why none may be made: requests end with this reason, as after a lookup that has failed.
    fn connecting(&self, host: &str, port: u16) -> Result<MetOrigin, String>;

    /// The addresses of this machine that virtual users connect from in turn, each always from the same; none: any.
    fn local_addresses(&self) -> Vec<IpAddr> {
        Vec::new()
    }

    /// Of the addresses of a host, which are one or more, those that are used, in their order.
    ///
    /// # Errors
    /// Why none is used; requests end with this reason.
    fn choose(&self, addresses: Vec<IpAddr>) -> Result<Vec<IpAddr>, String>;
}

/// How connections to one origin are made.
#[derive(Debug, Clone, Default)]
pub struct MetOrigin {
    /// What plans can say of it too.
    pub connecting: Connecting,
    /// What is offered in TLS handshakes.
    pub tls_offer: TlsOffer,
    /// How many connections without a request are kept open, for one request at a time each; none: any number.
    pub max_idle: Option<usize>,
}

impl MetOrigin {
    /// Check that its TLS can be used.
    ///
    /// # Errors
    /// Why it cannot, in words.
    pub fn check_tls(&self) -> Result<(), String> {
        self.tls(&TlsFiles::default()).map(drop)
    }

    pub(super) fn tls(&self, files: &TlsFiles) -> Result<Arc<ClientConfig>, String> {
        client_config(&self.connecting.tls, files, &self.tls_offer).map(Arc::new)
    }
}
