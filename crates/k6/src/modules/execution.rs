//! `k6/execution`: what a script may know of its virtual user, scenario and test, and ask of them.

mod options;

use std::collections::BTreeMap;

use crate::js::{Call, Scope, Thrown, Value};
use crate::modules::defining::add;
use crate::script::{Counted, Level, LogLine};
use crate::vu::{Stage, Vu};

/// Tags as an object whose properties are set and deleted.
const TAGS: &str = "(list, set, remove) => new Proxy({}, {
    get: (target, name) => list()[name],
    has: (target, name) => name in list(),
    ownKeys: () => Object.keys(list()),
    getOwnPropertyDescriptor: (target, name) => Object.getOwnPropertyDescriptor(list(), name),
    set: (target, name, value) => { set(name, value); return true; },
    deleteProperty: (target, name) => { remove(name); return true; },
})";

pub(super) fn exports(scope: Scope<'_>) -> Result<Value<'_>, Thrown> {
    let exports = scope.object();
    exports.set("vu", &vu(scope)?)?;
    exports.set("scenario", &scenario(scope)?)?;
    exports.set("instance", &instance(scope)?)?;
    exports.set("test", &test(scope)?)?;
    Ok(exports)
}

/// Add a property that is read through a function.
fn add_fact<F>(object: &Value<'_>, name: &str, read: F) -> Result<(), Thrown>
where
    F: for<'a, 'b> Fn(&Call<'a, 'b>) -> Result<Value<'a>, Thrown> + Copy + 'static,
{
    let scope = object.scope();
    object.set_accessors(name, scope.function(name, 0, read), scope.undefined())
}

/// The virtual user, while it calls a function of the script.
fn calling_vu<'js>(scope: Scope<'js>, what: &str) -> Result<&'js Vu, Thrown> {
    let vu = Vu::of(scope);
    match vu.stage.get() {
        Stage::Calling => Ok(vu),
        Stage::Init => {
            Err(scope.throw(&format!("getting {what} information in the init context is not supported")))
        }
    }
}

/// The virtual user of a scenario.
fn scenario_vu(scope: Scope<'_>) -> Result<&Vu, Thrown> {
    let vu = Vu::of(scope);
    match vu.stage.get() == Stage::Calling && vu.number.get() > 0 {
        true => Ok(vu),
        false => Err(scope.throw("getting scenario information outside of the VU context is not supported")),
    }
}

fn vu_number<'js>(call: &Call<'js, '_>, read: fn(&Vu) -> f64) -> Result<Value<'js>, Thrown> {
    Ok(call.scope().number(read(calling_vu(call.scope(), "VU")?)))
}

fn vu(scope: Scope<'_>) -> Result<Value<'_>, Thrown> {
    let vu = scope.object();
    add_fact(&vu, "idInInstance", |call| vu_number(call, |vu| vu.number.get().into()))?;
    add_fact(&vu, "idInTest", |call| vu_number(call, |vu| vu.number_in_test() as f64))?;
    add_fact(&vu, "iterationInInstance", |call| vu_number(call, |vu| vu.iteration.get() as f64))?;
    add_fact(&vu, "iterationInScenario", |call| vu_number(call, |vu| vu.own_iteration() as f64))?;
    let functions = [
        scope.function("list", 0, list_tags),
        scope.function("set", 2, set_tag),
        scope.function("remove", 1, remove_tag),
    ];
    let tags = scope.run(TAGS, "k6/execution")?.call(&scope.undefined(), &functions)?;
    vu.set("tags", &tags)?;
    let metrics = scope.object();
    metrics.set("tags", &tags)?;
    add_fact(&metrics, "metadata", |call| {
        Err(call.scope().throw("exec.vu.metrics.metadata is not supported"))
    })?;
    metrics.freeze()?;
    vu.set("metrics", &metrics)?;
    vu.freeze()?;
    Ok(vu)
}

/// The tags of what the virtual user adds to metrics now.
fn list_tags<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    let vu = calling_vu(scope, "VU")?;
    let mut tags: BTreeMap<String, String> = vu.shared.script.tags().clone();
    if !vu.scenario().name.is_empty() {
        tags.insert("scenario".to_owned(), vu.scenario().name.clone());
    }
    tags.insert("group".to_owned(), vu.group.borrow().text.to_string());
    for (name, value) in vu.scenario().tags.iter().chain(vu.own_tags.borrow().iter()) {
        tags.insert(name.clone(), value.clone());
    }
    let list = scope.object();
    for (name, value) in &tags {
        list.set(name, &scope.string(value))?;
    }
    Ok(list)
}

fn set_tag<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    let vu = calling_vu(scope, "VU")?;
    let (name, value) = (call.argument(0).text()?.to_string(), call.argument(1));
    if !(value.is_string() || value.is_boolean() || value.is_number()) {
        return Err(scope.throw_type_error(&format!(
            "invalid value for metric tag '{name}': only String, Boolean and Number types are accepted as a metric tag \
             values"
        )));
    }
    vu.own_tags.borrow_mut().insert(name, value.text()?.to_string());
    Ok(scope.undefined())
}

fn remove_tag<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    let vu = calling_vu(scope, "VU")?;
    let name = call.argument(0).text()?.to_string();
    if vu.own_tags.borrow_mut().remove(&name).is_none() && !list_tags(call)?.get(&name)?.is_undefined() {
        return Err(scope
            .throw(&format!("the tag '{name}' was not set by exec.vu.tags: deleting it is not supported")));
    }
    Ok(scope.undefined())
}

fn scenario(scope: Scope<'_>) -> Result<Value<'_>, Thrown> {
    let scenario = scope.object();
    add_fact(&scenario, "name", |call| Ok(call.scope().string(&scenario_vu(call.scope())?.scenario().name)))?;
    add_fact(&scenario, "executor", |call| {
        Ok(call.scope().string(scenario_vu(call.scope())?.scenario().executor_name()))
    })?;
    add_fact(&scenario, "startTime", |call| {
        let vu = scenario_vu(call.scope())?;
        Ok(call.scope().number(vu.epoch_unix_ms.get() + vu.scenario().start().as_millis() as f64))
    })?;
    add_fact(&scenario, "progress", |call| {
        let vu = scenario_vu(call.scope())?;
        Ok(call.scope().number(vu.scenario().progress(vu.time(), vu.in_scenario.get())))
    })?;
    add_fact(&scenario, "iterationInInstance", |call| {
        Ok(call.scope().number(scenario_vu(call.scope())?.in_scenario.get() as f64))
    })?;
    add_fact(&scenario, "iterationInTest", |call| {
        Ok(call.scope().number(scenario_vu(call.scope())?.iteration_in_test() as f64))
    })?;
    scenario.freeze()?;
    Ok(scenario)
}

fn count_of<'js>(call: &Call<'js, '_>, counted: Counted) -> Result<Value<'js>, Thrown> {
    let vu = calling_vu(call.scope(), "instance")?;
    Ok(call.scope().number(vu.shared.script.counts().count(counted) as f64))
}

fn instance(scope: Scope<'_>) -> Result<Value<'_>, Thrown> {
    let instance = scope.object();
    add_fact(&instance, "vusActive", |call| {
        let vu = calling_vu(call.scope(), "instance")?;
        Ok(call.scope().number(vu.shared.script.counts().under_way() as f64))
    })?;
    add_fact(&instance, "vusInitialized", |call| {
        let script = &calling_vu(call.scope(), "instance")?.shared.script;
        // `setup` is called before they are made, and in k6 after that.
        let made = script.counts().count(Counted::Made).max(script.settings().early_users);
        Ok(call.scope().number(made as f64))
    })?;
    add_fact(&instance, "iterationsCompleted", |call| count_of(call, Counted::Completed))?;
    add_fact(&instance, "iterationsInterrupted", |call| count_of(call, Counted::Interrupted))?;
    add_fact(&instance, "currentTestRunDuration", |call| {
        let vu = calling_vu(call.scope(), "instance")?;
        Ok(call.scope().number(vu.time().as_nanos() as f64 / 1e6))
    })?;
    instance.freeze()?;
    Ok(instance)
}

fn test(scope: Scope<'_>) -> Result<Value<'_>, Thrown> {
    let test = scope.object();
    add(&test, "abort", 1, abort)?;
    add(&test, "fail", 1, fail)?;
    add_fact(&test, "options", |call| {
        let scope = call.scope();
        let vu = Vu::of(scope);
        if vu.stage.get() == Stage::Init {
            return Err(scope.throw("getting test options in the init context is not supported"));
        }
        scope.parse_json(&options::of_test(vu).to_string(), "options")
    })?;
    test.freeze()?;
    Ok(test)
}

/// A message with what a script adds to it.
fn message(call: &Call<'_, '_>, beginning: &str) -> Result<String, Thrown> {
    let given = call.argument(0);
    match given.is_nullish() {
        true => Ok(beginning.to_owned()),
        false => Ok(format!("{beginning}: {}", given.text()?)),
    }
}

/// `abort(message)`: the iteration ends here, and then the run.
fn abort<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    let vu = Vu::of(scope);
    let message = message(call, "test aborted")?;
    vu.shared.script.requests().abort(message.clone());
    vu.cancel();
    Err(scope.throw_uncatchable(&message))
}

/// `fail(message)`: the run continues, and has failed at its end.
fn fail<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    let vu = Vu::of(scope);
    vu.shared.script.requests().mark_failed();
    vu.log(LogLine {
        level: Level::Error,
        text: message(call, "test marked as failed")?,
        fields: Vec::new(),
    });
    Ok(scope.undefined())
}
