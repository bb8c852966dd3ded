//! Values as k6's `console` shows them: `{ a: 1, b: [ "x" ] }`.

use crate::js::{Thrown, Value};

/// How deep objects are shown: the stack of a script is finite.
const DEEPEST: usize = 64;

/// The classes of typed arrays.
const TYPED_ARRAYS: [&str; 11] = [
    "Int8Array",
    "Uint8Array",
    "Uint8ClampedArray",
    "Int16Array",
    "Uint16Array",
    "Int32Array",
    "Uint32Array",
    "Float32Array",
    "Float64Array",
    "BigInt64Array",
    "BigUint64Array",
];

/// An object that is being shown, and those that it is in.
struct Path<'a, 'js> {
    object: &'a Value<'js>,
    outer: Option<&'a Path<'a, 'js>>,
}

impl<'js> Path<'_, 'js> {
    fn contains(&self, object: &Value<'js>) -> bool {
        self.object.is_same(object) || self.outer.is_some_and(|outer| outer.contains(object))
    }

    fn depth(&self) -> usize {
        1 + self.outer.map_or(0, Path::depth)
    }
}

/// A value as text.
///
/// # Errors
/// What a getter throws.
pub(super) fn shown(value: &Value<'_>) -> Result<String, Thrown> {
    if value.is_string() || value.is_nullish() {
        return Ok(value.text()?.to_string());
    }
    match symbol(value)? {
        Some(description) => Ok(description),
        None => within(value, None),
    }
}

/// A value within an object, or an object.
fn within<'js>(value: &Value<'js>, outer: Option<&Path<'_, 'js>>) -> Result<String, Thrown> {
    if value.is_nullish() {
        return Ok("null".to_owned());
    }
    if value.is_string() {
        return Ok(format!("\"{}\"", value.text()?));
    }
    if value.is_function() {
        return Ok("[object Function]".to_owned());
    }
    if let Some(description) = symbol(value)? {
        return Ok(format!("\"{description}\""));
    }
    if !value.is_object() || value.is_error() {
        return Ok(value.text()?.to_string());
    }
    if outer.is_some_and(|outer| outer.contains(value)) {
        return Ok("[Circular]".to_owned());
    }
    let path = Path { object: value, outer };
    if path.depth() > DEEPEST {
        return Ok("[Deep]".to_owned());
    }
    object(value, &path)
}

fn object<'js>(value: &Value<'js>, path: &Path<'_, 'js>) -> Result<String, Thrown> {
    if value.is_array() {
        return elements(value, path);
    }
    let class = class(value)?;
    if TYPED_ARRAYS.contains(&class.as_str()) {
        return Ok(format!("{class}({}) {}", value.length()?, elements(value, path)?));
    }
    if let Some(bytes) = value.bytes() {
        let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let (digits, length) = (digits.join(" "), bytes.len());
        return Ok(format!("ArrayBuffer {{ [Uint8Contents]: <{digits}>, byteLength: {length} }}"));
    }
    let names = value.keys()?;
    if names.is_empty() {
        // Dates, and objects of this engine whose properties are those of their class.
        let to_json = value.get("toJSON")?;
        let plain = if to_json.is_function() { to_json.call(value, &[])? } else { to_json };
        return if plain.is_nullish() { Ok("{}".to_owned()) } else { within(&plain, Some(path)) };
    }
    let part = |name: &String| Ok(format!("{name}: {}", within(&value.get(name)?, Some(path))?));
    let parts: Result<Vec<String>, Thrown> = names.iter().map(part).collect();
    Ok(format!("{{ {} }}", parts?.join(", ")))
}

fn elements<'js>(value: &Value<'js>, path: &Path<'_, 'js>) -> Result<String, Thrown> {
    let parts: Result<Vec<String>, Thrown> =
        (0..value.length()?).map(|index| within(&value.at(index)?, Some(path))).collect();
    let parts = parts?;
    Ok(if parts.is_empty() { "[]".to_owned() } else { format!("[ {} ]", parts.join(", ")) })
}

/// The name of the function that made an object; empty where there is none.
fn class(value: &Value<'_>) -> Result<String, Thrown> {
    let constructor = value.get("constructor")?;
    if !constructor.is_function() {
        return Ok(String::new());
    }
    Ok(constructor.get("name")?.text()?.to_string())
}

/// The description of a symbol; none of every other value.
fn symbol(value: &Value<'_>) -> Result<Option<String>, Thrown> {
    if value.is_nullish() || value.is_object() || class(value)? != "Symbol" {
        return Ok(None);
    }
    let description = value.get("description")?;
    Ok(Some(if description.is_undefined() { String::new() } else { description.text()?.to_string() }))
}
