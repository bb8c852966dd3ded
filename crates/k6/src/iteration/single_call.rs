//! Functions of a script that are called once, and what is kept of what they return.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::handle_summary::{SummaryOutput, outputs};
use crate::js::{Exception, Thrown, Value};

/// What became of a function that is called once.
#[derive(Debug)]
pub(crate) enum CallResult {
    /// It was not called to its end.
    NotEnded,
    /// It returned this, as JSON; none where it returned nothing.
    Returned(Option<String>),
    /// It returned these, as `handleSummary` does.
    Outputs(Vec<SummaryOutput>),
    Threw(Exception),
    /// What it returned cannot be written as JSON.
    NoJson(Exception),
    /// It took longer than it may.
    TimedOut,
}

/// Where it is put.
pub(crate) type Outlet = Arc<Mutex<CallResult>>;

/// What is kept of what a function returns that is called once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keeping {
    /// Its JSON.
    Json,
    /// Texts and bytes, by the names of files.
    Outputs,
}

/// A function that is called once.
pub(crate) struct SingleCall {
    /// Where its result is put.
    pub(crate) outlet: Outlet,
    pub(crate) keeping: Keeping,
    /// How long it may take.
    pub(crate) limit: Duration,
}

impl SingleCall {
    /// Put the result where it is waited for.
    pub(super) fn put(&self, result: CallResult) {
        *self.outlet.lock().unwrap_or_else(PoisonError::into_inner) = result;
    }
}

impl Keeping {
    /// What is kept of a result.
    pub(super) fn kept(self, value: Value<'_>) -> CallResult {
        match self {
            Keeping::Outputs => {
                let threw = |Thrown| CallResult::Threw(value.scope().take_exception());
                outputs(&value).map_or_else(threw, CallResult::Outputs)
            }
            Keeping::Json if value.is_undefined() => CallResult::Returned(None),
            Keeping::Json => json_of(&value),
        }
    }
}

/// The JSON of what `setup` returns.
fn json_of(value: &Value<'_>) -> CallResult {
    // As in k6, what is undefined is handed on as null.
    let as_json = "(value) => JSON.stringify(value, (_, one) => one === undefined ? null : one)";
    let scope = value.scope();
    let json = scope
        .run(as_json, "k6")
        .and_then(|stringify| stringify.call(&scope.undefined(), std::slice::from_ref(value)))
        .and_then(|json| if json.is_string() { Ok(Some(json.text()?.to_string())) } else { Ok(None) });
    match json {
        Ok(json) => CallResult::Returned(json),
        Err(Thrown) => CallResult::NoJson(scope.take_exception()),
    }
}
