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

/// Tags that a script gives with a value: the properties of an object.
///
/// # Errors
/// What reading them throws; or what `wrong` makes of the reason why one of them is not a tag.
pub(in crate::modules) fn tags<E: From<Thrown>>(
    object: &Value<'_>,
    wrong: impl Fn(String) -> E,
) -> Result<Vec<(String, String)>, E> {
    let names = if object.is_object() { object.keys()? } else { Vec::new() };
    let mut tags = Vec::with_capacity(names.len());
    for name in names {
        let value = object.get(&name)?;
        if !(value.is_string() || value.is_boolean() || value.is_number()) {
            return Err(wrong(format!(
                "invalid value for metric tag '{name}': only String, Boolean and Number types are accepted as a metric tag \
                 values"
            )));
        }
        tags.push((name, value.text()?.to_string()));
    }
    Ok(tags)
}
