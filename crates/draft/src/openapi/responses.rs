//! The statuses that an operation's documented responses lead to expect.

use serde_json::Value;

use crate::plan::ExpectedStatus;

/// The documented statuses of success, single ones and classes such as `2XX`. Empty, which means any success, where none
/// is documented: `default` is then the success too.
pub(super) fn expected(operation: &Value) -> Vec<ExpectedStatus> {
    let responses = operation.get("responses").and_then(Value::as_object);
    let statuses = responses.into_iter().flat_map(|responses| responses.keys());
    statuses.filter_map(|status| ExpectedStatus::parse(status)).filter(|status| status.is_success()).collect()
}
