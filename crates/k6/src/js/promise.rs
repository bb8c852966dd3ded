//! Promises, and the jobs that follow from them.

use std::ptr;

use rquickjs_sys as q;

use super::scope::Scope;
use super::thrown::Thrown;
use super::value::{Kept, Value};

/// Fulfils or rejects a promise.
#[derive(Debug)]
pub(crate) struct Resolver {
    fulfil: Kept,
    reject: Kept,
}

impl Resolver {
    /// Fulfil it with this value.
    ///
    /// # Errors
    /// What the `then` of the value throws.
    pub(crate) fn fulfil(&self, value: Value<'_>) -> Result<(), Thrown> {
        resolve(&self.fulfil, value)
    }

    /// Reject it with this reason.
    ///
    /// # Errors
    /// That the heap has no space.
    pub(crate) fn reject(&self, reason: Value<'_>) -> Result<(), Thrown> {
        resolve(&self.reject, reason)
    }
}

fn resolve(by: &Kept, value: Value<'_>) -> Result<(), Thrown> {
    let scope = value.scope();
    scope.kept(by).call(&scope.undefined(), &[value]).map(drop)
}

/// What became of a promise.
#[derive(Debug)]
pub(crate) enum PromiseState<'js> {
    /// Nothing yet.
    Pending,
    Fulfilled(Value<'js>),
    /// It was rejected, for this reason.
    Rejected(Value<'js>),
    /// The value is not a promise.
    NoPromise,
}

impl<'js> Scope<'js> {
    /// A promise, and what resolves it.
    ///
    /// # Errors
    /// That the heap has no space for it.
    pub(crate) fn promise(self) -> Result<(Value<'js>, Resolver), Thrown> {
        let mut functions = [q::JS_UNDEFINED; 2];
        // SAFETY: the context is alive; both functions are the caller's.
        unsafe {
            let promise =
                Value::result(self, q::JS_NewPromiseCapability(self.raw(), functions.as_mut_ptr()))?;
            let [fulfil, reject] = functions.map(|function| Value::owned(self, function).keep());
            Ok((promise, Resolver { fulfil, reject }))
        }
    }

    /// The reason of the promise of this context that was rejected first, and that nothing handles; none is noted afterwards.
    pub(crate) fn take_rejection(self) -> Option<Value<'js>> {
        let runtime = self.runtime();
        let own = runtime.rejections.borrow_mut().take(Some(self.raw()));
        let mut first = None;
        for rejection in own {
            // SAFETY: context and runtime are alive; the reason has a reference of its own before that of the rejection is freed.
            unsafe {
                first = first.or_else(|| Some(Value::borrowed(self, rejection.reason)));
                rejection.free(runtime.raw());
            }
        }
        first
    }

    /// Run the next promise job; false where none waits.
    ///
    /// # Errors
    /// What it throws.
    pub(crate) fn run_job(self) -> Result<bool, Thrown> {
        let mut of = ptr::null_mut();
        // SAFETY: the runtime is alive. Jobs keep no reference of their contexts, but those of this list were made since this
        // context was entered, and values of other contexts do not get into it.
        match unsafe { q::JS_ExecutePendingJob(self.runtime().raw(), &raw mut of) } {
            0 => Ok(false),
            1.. => Ok(true),
            _ => Err(Thrown),
        }
    }
}

impl<'js> Value<'js> {
    /// What became of it, as a promise.
    pub(crate) fn promise_state(&self) -> PromiseState<'js> {
        let context = self.scope().raw();
        // SAFETY: the context and the value are alive; the result is the caller's.
        unsafe {
            let result = || Value::owned(self.scope(), q::JS_PromiseResult(context, self.raw()));
            match q::JS_PromiseState(context, self.raw()) {
                q::JSPromiseStateEnum_JS_PROMISE_PENDING => PromiseState::Pending,
                q::JSPromiseStateEnum_JS_PROMISE_FULFILLED => PromiseState::Fulfilled(result()),
                q::JSPromiseStateEnum_JS_PROMISE_REJECTED => PromiseState::Rejected(result()),
                _ => PromiseState::NoPromise,
            }
        }
    }
}
