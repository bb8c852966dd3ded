//! `console`.

use crate::js::{Call, Scope, Thrown, Value};
use crate::modules::defining::add;
use crate::script::{Level, LogLine};
use crate::vu::Vu;

pub(super) fn set(scope: Scope<'_>) -> Result<(), Thrown> {
    let console = scope.object();
    add(&console, "debug", 0, |call| write(call, Level::Debug))?;
    add(&console, "log", 0, |call| write(call, Level::Info))?;
    add(&console, "info", 0, |call| write(call, Level::Info))?;
    add(&console, "warn", 0, |call| write(call, Level::Warning))?;
    add(&console, "error", 0, |call| write(call, Level::Error))?;
    scope.globals().set("console", &console)
}

fn write<'js>(call: &Call<'js, '_>, level: Level) -> Result<Value<'js>, Thrown> {
    let shown: Result<Vec<String>, Thrown> =
        (0..call.count()).map(|index| shown(&call.argument(index))).collect();
    let fields = vec![("source", "console".to_owned())];
    Vu::of(call.scope()).log(LogLine { level, text: shown?.join(" "), fields });
    Ok(call.scope().undefined())
}

/// Objects and arrays as JSON, everything else as text.
fn shown(value: &Value<'_>) -> Result<String, Thrown> {
    if !value.is_object() || value.is_function() || value.is_error() {
        return Ok(value.text()?.to_string());
    }
    match value.json() {
        Ok(Some(json)) => Ok(json),
        Ok(None) => Ok(value.text()?.to_string()),
        Err(Thrown) => {
            // It refers to itself.
            drop(value.scope().take_thrown());
            Ok(value.text()?.to_string())
        }
    }
}
