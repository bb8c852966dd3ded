//! What an HTTP step says besides its request.

use serde::{Deserialize, Serialize};

use crate::template::Template;

/// How an HTTP request is sent and followed. The default is as it stands.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HttpOptions {
    /// How many redirects are followed; with 0 a redirect is the response.
    pub redirects: u32,
    /// `USER:PASSWORD` of basic authorization (RFC 7617).
    pub basic_auth: Option<Template>,
    /// Whether the body is sent compressed (gzip).
    pub compress: bool,
}
