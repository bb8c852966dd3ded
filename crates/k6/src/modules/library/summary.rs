//! `k6-summary`: texts that `handleSummary` makes of its data.

use crate::js::{Call, Scope, Thrown, Value};
use crate::modules::defining::add;
use crate::summary::{Colours, text_summary as text_of};

/// What indents each line where the options do not say.
const INDENT: &str = " ";
/// Options of `textSummary` that are also options of the data.
const DATA_OPTIONS: [&str; 2] = ["summaryTrendStats", "summaryTimeUnit"];

/// `jUnit(data, { name, classname })`: a test case for each threshold.
const JUNIT: &str = "(data, options) => {
    const { name = 'k6 thresholds', classname } = options ?? {};
    const escapes = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '\"': '&quot;', \"'\": '&#39;' };
    const escaped = (text) => String(text).replace(/[&<>'\"]/g, (sign) => escapes[sign]);
    const of = classname === undefined ? '' : ` classname=\"${escaped(classname)}\"`;
    const thresholds = Object.entries(data.metrics).flatMap(([metric, { thresholds }]) =>
        Object.entries(thresholds ?? {}).map(([source, { ok }]) => ({ title: `${metric} - ${source}`, ok })));
    const cases = thresholds.map(({ title, ok }) => {
        const begin = `<testcase name=\"${escaped(title)}\"${of}`;
        return ok ? `${begin} />` : `${begin}><failure message=\"failed\" /></testcase>`;
    });
    const counts = `tests=\"${cases.length}\" failures=\"${thresholds.filter(({ ok }) => !ok).length}\"`;
    return ['<?xml version=\"1.0\"?>', `<testsuites ${counts}>`, `<testsuite name=\"${escaped(name)}\" ${counts}>`,
        ...cases, '</testsuite>', '</testsuites>'].join('\\n'); }";

pub(super) fn exports(scope: Scope<'_>) -> Result<Value<'_>, Thrown> {
    let exports = scope.object();
    add(&exports, "textSummary", 2, text_summary)?;
    exports.set("jUnit", &scope.run(JUNIT, "k6-summary")?)?;
    let refused = "() => { throw new Error('humanizeValue of k6-summary is not supported'); }";
    exports.set("humanizeValue", &scope.run(refused, "k6-summary")?)?;
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
