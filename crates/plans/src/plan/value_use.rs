//! Uses of values in a plan's templates, which are checked when the whole plan is read.

use super::section::Span;
use workload::template::Value;

/// A value that a template uses.
#[derive(Clone)]
pub(super) struct ValueUse {
    pub(super) value: Value,
    /// Where the template is.
    pub(super) span: Span,
    /// Whether the template is a header of the step's target or scenario, and so not in the step itself.
    pub(super) is_of_default: bool,
}
