//! What `handleSummary` returns: what a script makes of the summary of its run.

use crate::js::{Thrown, Value};

/// Something that `handleSummary` returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryOutput {
    /// `stdout`, `stderr`, or the path of a file.
    pub name: String,
    /// What is written there.
    pub content: Vec<u8>,
}

/// The texts and bytes that it returns, by name.
///
/// # Errors
/// Throws that it returns something else.
pub(crate) fn outputs(returned: &Value<'_>) -> Result<Vec<SummaryOutput>, Thrown> {
    if returned.is_nullish() {
        return Ok(Vec::new());
    }
    let scope = returned.scope();
    if !returned.is_object() {
        return Err(
            scope.throw_type_error("handleSummary() must return an object of texts and ArrayBuffers by name")
        );
    }
    let output = |name: String| {
        let value = returned.get(&name)?;
        let content = match value.bytes() {
            Some(bytes) => bytes,
            None if value.is_string() => value.text()?.to_string().into_bytes(),
            None => {
                let why =
                    format!("what handleSummary() returns as '{name}' is neither a text nor an ArrayBuffer");
                return Err(scope.throw_type_error(&why));
            }
        };
        Ok(SummaryOutput { name, content })
    };
    returned.keys()?.into_iter().map(output).collect()
}
