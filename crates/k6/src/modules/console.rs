//! `console`.

use crate::js::{Call, Scope, Thrown, Value};
use crate::modules::defining::add;
use crate::modules::shown::shown;
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
