//! `handleSummary`: what a script makes of the summary of its run.

use std::cell::RefCell;
use std::rc::Rc;

use crate::js::{PromiseState, Scope, Thrown, Value};
use crate::loading::new_group;
use crate::metrics::Registry;
use crate::script::{LogSink, Script, ScriptError};
use crate::vu::{LoopShared, ScenarioFacts, Stage, Vu};

/// Something that `handleSummary` returns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryOutput {
    /// `stdout`, `stderr`, or the path of a file.
    pub name: String,
    /// What is written there.
    pub content: Vec<u8>,
}

impl Script {
    /// Call `handleSummary` with `data`, which has k6's shape ([`crate::summary::handle_summary`]). None where the script does not
    /// export it.
    ///
    /// # Errors
    /// [`ScriptError`] when it throws, or returns something else than texts and bytes by name.
    pub fn handle_summary(
        &self,
        data: &serde_json::Value,
        log: &LogSink,
    ) -> Result<Option<Vec<SummaryOutput>>, ScriptError> {
        if !self.lifecycle().has_handle_summary {
            return Ok(None);
        }
        let group = new_group(self)?;
        let registry = Rc::new(RefCell::new(Registry::new("", Rc::new([]))));
        let shared = LoopShared { script: self.clone(), registry, urls: Rc::default(), log: log.clone() };
        let vu = Rc::new(Vu::new(shared, Rc::new(ScenarioFacts::default())));
        let (_context, outputs) = group.evaluate(&vu, |exports| {
            let scope = exports.scope();
            vu.stage.set(Stage::Calling);
            let data = scope.parse_json(&data.to_string(), "handleSummary")?;
            let returned = exports.get("handleSummary")?.call(&scope.undefined(), &[data])?;
            outputs(&awaited(scope, returned)?)
        })?;
        Ok(Some(outputs))
    }
}

/// The value of a promise that needs nothing but its jobs; any other value as it is.
fn awaited<'js>(scope: Scope<'js>, returned: Value<'js>) -> Result<Value<'js>, Thrown> {
    while scope.run_job()? {}
    match returned.promise_state() {
        PromiseState::Fulfilled(value) => Ok(value),
        PromiseState::Rejected(reason) => Err(scope.throw_value(reason)),
        PromiseState::Pending => {
            Err(scope.throw("the promise that handleSummary() returned is never fulfilled"))
        }
        PromiseState::NoPromise => Ok(returned),
    }
}

fn outputs(returned: &Value<'_>) -> Result<Vec<SummaryOutput>, Thrown> {
    if returned.is_nullish() {
        return Ok(Vec::new());
    }
    let scope = returned.scope();
    if !returned.is_object() {
        return Err(
            scope.throw_type_error("handleSummary() must return an object of texts and ArrayBuffers by name")
        );
    }
    let output = |name: String| {
        let value = returned.get(&name)?;
        let content = match value.bytes() {
            Some(bytes) => bytes,
            None if value.is_string() => value.text()?.to_string().into_bytes(),
            None => {
                let why =
                    format!("what handleSummary() returns as '{name}' is neither a text nor an ArrayBuffer");
                return Err(scope.throw_type_error(&why));
            }
        };
        Ok(SummaryOutput { name, content })
    };
    returned.keys()?.into_iter().map(output).collect()
}
