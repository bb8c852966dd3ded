//! Which responses a script expects.

use std::rc::Rc;

use crate::http::{Expected, ExpectedStatuses};
use crate::js::{Call, Thrown, Value};

/// `http.expectedStatuses`: statuses and ranges of them.
pub(super) fn expected_statuses<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    let mut ranges = Vec::new();
    for index in 0..call.count() {
        let given = call.argument(index);
        let (from, to) =
            if given.is_object() { (given.get("min")?, given.get("max")?) } else { (given.clone(), given) };
        let bounds = [from.as_number()?, to.as_number()?];
        if bounds.iter().any(|bound| bound.fract() != 0.0 || !(0.0..=999.0).contains(bound)) {
            let why = "expectedStatuses() needs whole numbers, or objects with whole numbers as min and max";
            return Err(scope.throw_type_error(why));
        }
        ranges.push((bounds[0] as u16, bounds[1] as u16));
    }
    scope.hold(Rc::new(ExpectedStatuses(ranges.into())))
}

/// What a response callback expects.
pub(super) fn expectation(callback: &Value<'_>) -> Result<Expected, Thrown> {
    if callback.is_null() {
        return Ok(Expected::Unsaid);
    }
    match callback.held::<ExpectedStatuses>() {
        Some(statuses) => Ok(Expected::Statuses(statuses.0.clone())),
        None => Err(callback
            .scope()
            .throw_type_error("a response callback is what http.expectedStatuses() returns, or null")),
    }
}
