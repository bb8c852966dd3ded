//! Which responses a script expects.

use std::rc::Rc;

use crate::http::{Expected, ExpectedStatuses};
use crate::js::{Call, Thrown, Value};

/// `http.expectedStatuses`: statuses and ranges of them.
pub(super) fn expected_statuses<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    if call.count() == 0 {
        return Err(scope.throw("no arguments"));
    }
    let mut ranges = Vec::new();
    for index in 0..call.count() {
        let given = call.argument(index);
        let range = if given.is_object() {
            whole(&given.get("min")?).zip(whole(&given.get("max")?))
        } else {
            whole(&given).map(|status| (status, status))
        };
        let why = format!(
            "argument number {} to expectedStatuses was neither an integer nor an object like {{min:100, max:329}}",
            index + 1
        );
        ranges.push(range.ok_or_else(|| scope.throw(&why))?);
    }
    scope.hold(Rc::new(ExpectedStatuses(ranges.into())))
}

/// A whole number that a status can be.
fn whole(value: &Value<'_>) -> Option<u16> {
    let number = if value.is_number() { value.as_number().ok()? } else { return None };
    (number.fract() == 0.0 && (0.0..=f64::from(u16::MAX)).contains(&number)).then_some(number as u16)
}

/// What a response callback expects; none where it is no such callback.
pub(super) fn expectation(callback: &Value<'_>) -> Option<Expected> {
    if callback.is_null() {
        return Some(Expected::Unsaid);
    }
    callback.held::<ExpectedStatuses>().map(|statuses| Expected::Statuses(statuses.0.clone()))
}
