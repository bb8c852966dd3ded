//! `__ENV`, `__VU`, `__ITER`, `open()` and timers.

use std::time::Duration;

use crate::js::{Call, Scope, Thrown, Value};
use crate::modules::defining::add;
use crate::vu::{Callback, Operation, OperationSlot, Stage, Vu, Waiter};

/// The shortest time between two calls of an interval, so that others are let run.
const SHORTEST_INTERVAL: Duration = Duration::from_millis(1);

pub(super) fn set(scope: Scope<'_>) -> Result<(), Thrown> {
    let globals = scope.globals();
    let vu = Vu::of(scope);
    globals.set("global", &globals)?;
    set_env(scope)?;
    globals.set("__VU", &scope.number(vu.number.get().into()))?;
    globals.set("__ITER", &scope.number(0.0))?;
    add(&globals, "open", 2, open)?;
    add(&globals, "setTimeout", 2, set_timeout)?;
    add(&globals, "clearTimeout", 1, clear_timer)?;
    add(&globals, "setInterval", 2, set_interval)?;
    add(&globals, "clearInterval", 1, clear_timer)
}

/// Set `__ENV`: that of the script and, over it, that of the scenario.
pub(crate) fn set_env(scope: Scope<'_>) -> Result<(), Thrown> {
    let vu = Vu::of(scope);
    let env = scope.object();
    for (name, value) in vu.shared.script.env().iter().chain(&vu.scenario().env) {
        env.set(name, &scope.string(value))?;
    }
    withhold(&env, vu.shared.script.withheld_env())?;
    scope.globals().set("__ENV", &env)
}

/// `k6/timers`: the timers that are globals, too.
pub(super) fn timers(scope: Scope<'_>) -> Result<Value<'_>, Thrown> {
    let (exports, globals) = (scope.object(), scope.globals());
    for name in ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] {
        exports.set(name, &globals.get(name)?)?;
    }
    Ok(exports)
}

/// Let `__ENV` throw where a variable is read that was not handed to this process: without a value the script would do
/// something else here.
fn withhold(env: &Value<'_>, names: &[String]) -> Result<(), Thrown> {
    if names.is_empty() {
        return Ok(());
    }
    let define = "(env, name) => {
        if (Object.hasOwn(env, name)) return;
        const set = (value) => Object.defineProperty(env, name, { value, writable: true, enumerable: true, configurable: true });
        const get = () => {
            throw new Error(`workers do not get the environment variable ${name}, since no file of the script names it: `
                + `write __ENV.${name}, or give it with -e`);
        };
        Object.defineProperty(env, name, { get, set, enumerable: false, configurable: true });
    }";
    let scope = env.scope();
    let define = scope.run(define, "k6")?;
    for name in names {
        define.call(&scope.undefined(), &[env.clone(), scope.string(name)])?;
    }
    Ok(())
}

/// `open(path, mode)`: a file's text, or its bytes where the mode is `b`.
fn open<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    let vu = Vu::of(scope);
    if vu.stage.get() != Stage::Init {
        return Err(
            scope.throw("the \"open\" function is only available in the init stage (i.e. the global scope)")
        );
    }
    let path = call.argument(0).text()?.to_string();
    if path.is_empty() {
        return Err(scope.throw("open() can't be used with an empty filename"));
    }
    let from = scope.caller_file().unwrap_or_else(|| vu.shared.script.main().to_owned());
    let bytes = vu.shared.script.sources().open(&from, &path).map_err(|why| scope.throw(&why))?;
    let mode = call.argument(1);
    if mode.is_string() && &*mode.text()? == "b" {
        return Ok(scope.array_buffer(&bytes));
    }
    Ok(scope.string_of(&bytes))
}

fn set_timeout<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let (callback, after) = callback_and_time(call, "setTimeout")?;
    let name = Vu::of(call.scope()).begin_timer(after, Waiter::Callback(callback));
    Ok(call.scope().number(name.into()))
}

fn set_interval<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let (callback, every) = callback_and_time(call, "setInterval")?;
    let name = Vu::of(call.scope()).begin_interval(every.max(SHORTEST_INTERVAL), callback);
    Ok(call.scope().number(name.into()))
}

/// What a timer calls, and after which time; further arguments are those of the function.
fn callback_and_time(call: &Call<'_, '_>, name: &str) -> Result<(Callback, Duration), Thrown> {
    let function = call.argument(0);
    if !function.is_function() {
        let why = format!("{name}'s callback isn't a callable function");
        return Err(call.scope().throw_type_error(&why));
    }
    let milliseconds = call.argument(1).as_number()?;
    let time = Duration::try_from_secs_f64(milliseconds.max(0.0) / 1e3).unwrap_or(Duration::ZERO);
    let arguments = (2..call.count()).map(|index| call.argument(index).keep()).collect();
    Ok((Callback { function: function.keep(), arguments }, time))
}

fn clear_timer<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let name = call.argument(0).as_number()?;
    if name >= 0.0 {
        let is_timer = |slot: &OperationSlot| matches!(slot.operation, Operation::Timer(_));
        let vu = Vu::of(call.scope());
        let is_set = vu.operations.borrow().get(name as u32).is_some_and(is_timer);
        if is_set {
            vu.cancel_timer(name as u32);
        }
    }
    Ok(call.scope().undefined())
}
