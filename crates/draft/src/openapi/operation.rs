//! An operation of a description.

use serde_json::Value;

use super::document::Document;

/// The methods of a path item, in the order in which steps are made of them.
pub(super) const METHODS: [&str; 7] = ["get", "head", "post", "put", "patch", "delete", "options"];

/// Whether a method changes nothing (RFC 9110, section 9.2.1).
pub(super) fn is_safe(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS")
}

/// An operation, and where it is.
pub(super) struct Operation<'a> {
    pub(super) document: &'a Document<'a>,
    pub(super) path: &'a str,
    /// In lower case, as in the description.
    pub(super) method: &'a str,
    /// The path's entry, whose parameters hold for all of its operations.
    pub(super) item: &'a Value,
    pub(super) operation: &'a Value,
    pub(super) pointer: &'a str,
}
