//! Options of an HTTP step besides its request.

use serde::{Deserialize, Serialize};

use crate::template::Template;

/// The most redirects that a request may follow.
pub const MAX_REDIRECTS: u64 = 50;

/// Options of an HTTP request. The default changes nothing: no redirects, no authorization, no compression.
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
