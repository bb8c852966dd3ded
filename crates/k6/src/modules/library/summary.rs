//! `k6-summary`: texts that `handleSummary` makes of its data.

use crate::js::{Call, Scope, Thrown, Value};
use crate::modules::defining::add;
use crate::summary::{Colours, text_summary as text_of};

/// What indents each line where the options do not say.
const INDENT: &str = " ";
/// Options of `textSummary` that are also options of the data.
const DATA_OPTIONS: [&str; 2] = ["summaryTrendStats", "summaryTimeUnit"];

pub(super) fn exports(scope: Scope<'_>) -> Result<Value<'_>, Thrown> {
    let exports = scope.object();
    add(&exports, "textSummary", 2, text_summary)?;
    for name in ["jUnit", "humanizeValue"] {
        let refused = "(name) => () => { throw new Error(`${name} of k6-summary is not supported`); }";
        exports
            .set(name, &scope.run(refused, "k6-summary")?.call(&scope.undefined(), &[scope.string(name)])?)?;
    }
    Ok(exports)
}

/// `textSummary(data, { indent, enableColors, summaryTrendStats, summaryTimeUnit })`.
fn text_summary<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    let given = call.argument(1);
    let options = if given.is_object() { given } else { scope.object() };
    let data = call.argument(0).json()?.unwrap_or_default();
    let mut data: serde_json::Value = serde_json::from_str(&data).unwrap_or_default();
    for name in DATA_OPTIONS {
        if let Some(json) = options.get(name)?.json()?
            && let Ok(value) = serde_json::from_str::<serde_json::Value>(&json)
            && !value.is_null()
            && data.is_object()
        {
            data["options"][name] = value;
        }
    }
    let indent = options.get("indent")?;
    let indent = if indent.is_nullish() { INDENT.to_owned() } else { indent.text()?.to_string() };
    let colours = options.get("enableColors")?;
    let colours = if colours.is_undefined() || colours.is_truthy() { Colours::On } else { Colours::Off };
    let text = text_of(&data, &indent, colours).map_err(|error| scope.throw(&error.to_string()))?;
    Ok(scope.string(&text))
}
