//! Uses of values in a plan's templates, which are checked when the whole plan is read.

use super::section::Span;
use workload::template::Value;

/// A value that a template uses.
pub(super) struct ValueUse {
    pub(super) value: Value,
    /// Where the template is.
    pub(super) span: Span,
}
