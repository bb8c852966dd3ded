//! What the native modules define their objects with.

use crate::js::{Call, Thrown, Value};

/// Add a function to an object.
pub(in crate::modules) fn add<'js, F>(
    object: &Value<'js>,
    name: &str,
    parameters: u8,
    body: F,
) -> Result<(), Thrown>
where
    F: for<'a, 'b> Fn(&Call<'a, 'b>) -> Result<Value<'a>, Thrown> + Copy + 'static,
{
    object.set(name, &object.scope().function(name, parameters, body))
}

/// Tags that a script gives with a value: the properties of an object, as text.
///
/// # Errors
/// What reading them throws.
pub(in crate::modules) fn tags(object: &Value<'_>) -> Result<Vec<(String, String)>, Thrown> {
    if !object.is_object() {
        return Ok(Vec::new());
    }
    object
        .keys()?
        .into_iter()
        .map(|name| Ok((object.get(&name)?.text()?.to_string(), name)))
        .map(|tag| tag.map(|(value, name)| (name, value)))
        .collect()
}
