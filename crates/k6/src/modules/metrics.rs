//! `k6/metrics`: counters, gauges, rates and trends of scripts.

use std::ffi::CStr;
use std::rc::Rc;

use evidence::metric::MetricKind;

use crate::js::{Call, Scope, Shared, Thrown, Value};
use crate::metrics::{Contains, MetricId};
use crate::modules::defining::{add, tags};
use crate::script::{Level, LogLine};
use crate::vu::{Stage, Vu};

struct ScriptMetric {
    name: String,
    kind: MetricKind,
    id: MetricId,
}

impl Shared for ScriptMetric {
    const CLASS: &'static CStr = c"Metric";
}

pub(super) fn exports(scope: Scope<'_>) -> Result<Value<'_>, Thrown> {
    let prototype = scope.object();
    add(&prototype, "add", 2, add_value)?;
    scope.set_class_prototype::<ScriptMetric>(prototype)?;
    let exports = scope.object();
    exports.set("Counter", &scope.constructor("Counter", 2, |call| make(call, MetricKind::Counter)))?;
    exports.set("Gauge", &scope.constructor("Gauge", 2, |call| make(call, MetricKind::Gauge)))?;
    exports.set("Rate", &scope.constructor("Rate", 2, |call| make(call, MetricKind::Rate)))?;
    exports.set("Trend", &scope.constructor("Trend", 2, |call| make(call, MetricKind::Trend)))?;
    Ok(exports)
}

fn make<'js>(call: &Call<'js, '_>, kind: MetricKind) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    let vu = Vu::of(scope);
    if vu.stage.get() != Stage::Init {
        return Err(scope.throw("metrics must be declared in the init context"));
    }
    let name = call.argument(0).text()?.to_string();
    let contains = if call.argument(1).is_truthy() { Contains::Time } else { Contains::Default };
    let declared = vu.shared.registry.borrow_mut().declare(&name, kind, contains);
    let id = declared.map_err(|error| scope.throw(&error.to_string()))?;
    let metric = scope.hold(Rc::new(ScriptMetric { name: name.clone(), kind, id }))?;
    metric.set("name", &scope.string(&name))?;
    Ok(metric)
}

fn add_value<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    let vu = Vu::of(scope);
    let Some(metric) = call.this().held::<ScriptMetric>() else {
        return Err(scope.throw_type_error("add() is called on a metric"));
    };
    if vu.stage.get() == Stage::Init {
        return Err(scope.throw("metrics cannot be added to in the init context"));
    }
    let given = call.argument(0);
    let value = if given.is_boolean() {
        f64::from(u8::from(given.is_truthy()))
    } else if given.is_null() {
        f64::NAN
    } else {
        given.as_number()?
    };
    if !value.is_finite() {
        let text = format!(
            "'{}' is an invalid value for metric '{}', a finite number is needed",
            given.text()?,
            metric.name
        );
        vu.log(LogLine { level: Level::Warning, text, fields: Vec::new() });
        return Ok(scope.boolean(false));
    }
    let value = if metric.kind == MetricKind::Rate { f64::from(u8::from(value != 0.0)) } else { value };
    let wrong =
        |why: String| scope.throw(&format!("cannot add tags for the '{}' custom metric: {why}", metric.name));
    vu.sample(metric.id, value, &tags(&call.argument(1), wrong)?);
    Ok(scope.boolean(true))
}
