//! `k6`: checks, groups, sleeping, failing.

use std::time::Duration;

use engine::exchange::CheckResult;

use crate::js::{Call, Scope, Thrown, Value};
use crate::metrics::{Builtin, SEPARATOR, Tags};
use crate::modules::defining::{add, tags};
use crate::vu::{Stage, Vu, Wait, Waiter};

pub(super) fn exports(scope: Scope<'_>) -> Result<Value<'_>, Thrown> {
    let exports = scope.object();
    add(&exports, "check", 3, check)?;
    add(&exports, "fail", 1, fail)?;
    add(&exports, "group", 2, group)?;
    add(&exports, "sleep", 1, sleep)?;
    add(&exports, "randomSeed", 1, random_seed)?;
    Ok(exports)
}

struct CheckTags<'a> {
    check: &'a str,
    given: &'a Vec<(String, String)>,
}

impl Tags for CheckTags<'_> {
    fn tag(&self, name: &str) -> Option<std::borrow::Cow<'_, str>> {
        if name == "check" {
            return Some(self.check.into());
        }
        self.given.tag(name)
    }

    fn given(&self) -> &[(String, String)] {
        self.given
    }
}

fn check<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    let vu = Vu::of(scope);
    require_calling(scope, "check")?;
    let (value, checks) = (call.argument(0), call.argument(1));
    if !checks.is_object() {
        return Err(scope.throw_type_error("check() needs an object of checks as its second argument"));
    }
    let given = tags(&call.argument(2), |why| scope.throw(&why))?;
    let mut all_passed = true;
    for name in checks.keys()? {
        if name.contains(SEPARATOR) {
            return Err(scope.throw(&format!("group and check names may not contain '{SEPARATOR}'")));
        }
        let check = checks.get(&name)?;
        require_synchronous(&check, "check")?;
        let result = match check.is_function() {
            true => check.call(&scope.undefined(), std::slice::from_ref(&value)),
            false => Ok(check),
        };
        // A check that throws has failed, and what it throws is thrown on.
        let passed = result.as_ref().is_ok_and(Value::is_truthy);
        all_passed &= passed;
        let counted = if passed { CheckResult::Passed } else { CheckResult::Failed };
        vu.checked(&name, counted, &CheckTags { check: &name, given: &given });
        result?;
    }
    Ok(scope.boolean(all_passed))
}

/// That an iteration, `setup` or `teardown` is under way.
fn require_calling(scope: Scope<'_>, function: &str) -> Result<(), Thrown> {
    match Vu::of(scope).stage.get() {
        Stage::Calling => Ok(()),
        Stage::Init => Err(scope.throw(&format!("Using {function}() in the init context is not supported"))),
    }
}

/// That a function is not asynchronous: its result would be a promise, which is always true.
fn require_synchronous(body: &Value<'_>, function: &str) -> Result<(), Thrown> {
    if body.is_async_function()? {
        let reason = "does not support async functions: await the value outside of it";
        return Err(body.scope().throw(&format!("{function}() {reason}")));
    }
    Ok(())
}

fn fail<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let message = call.argument(0).text()?.to_string();
    Err(call.scope().throw(&message))
}

fn group<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    let vu = Vu::of(scope);
    require_calling(scope, "group")?;
    let (name, body) = (call.argument(0).text()?.to_string(), call.argument(1));
    if name.contains(SEPARATOR) {
        return Err(scope.throw(&format!("group and check names may not contain '{SEPARATOR}'")));
    }
    if !body.is_function() {
        return Err(scope.throw_type_error("group() needs a function as its second argument"));
    }
    require_synchronous(&body, "group")?;
    let outer = vu.group.borrow().clone();
    let began = vu.time();
    let inner = vu.group_at(&format!("{}{SEPARATOR}{name}", outer.text));
    *vu.group.borrow_mut() = inner;
    let result = body.call(&scope.undefined(), &[]);
    let took = vu.time().since(began);
    vu.sample(Builtin::GroupDuration.into(), took.as_secs_f64() * 1e3, &Vec::new());
    *vu.group.borrow_mut() = outer;
    result
}

fn sleep<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    let vu = Vu::of(scope);
    let seconds = call.argument(0).as_number()?;
    let seconds = if seconds.is_nan() { 0.0 } else { seconds.max(0.0) };
    let time = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::from_secs(u32::MAX.into()));
    let timer = vu.begin_timer(time, Waiter::Fiber);
    vu.wait(scope, Wait::For(timer))?;
    vu.take_ended(timer);
    Ok(scope.undefined())
}

/// Makes `Math.random` give the same numbers every time.
fn random_seed<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    let seed = call.argument(0).as_number()?;
    // Mulberry32, of which 32 bits are the state.
    let make = "(seed) => { let a = seed | 0; Math.random = () => { a = (a + 0x6D2B79F5) | 0;
        let t = Math.imul(a ^ (a >>> 15), 1 | a); t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
        return ((t ^ (t >>> 14)) >>> 0) / 4294967296; }; }";
    scope.run(make, "k6")?.call(&scope.undefined(), &[scope.number(seed)])
}
