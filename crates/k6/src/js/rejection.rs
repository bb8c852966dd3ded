//! Promises that are rejected and that nothing handles.

use std::collections::{BTreeMap, HashMap};
use std::ffi::c_void;

use rquickjs_sys as q;

/// A promise that was rejected: it has a reference of both values.
pub(super) struct Rejection {
    pub(super) context: *mut q::JSContext,
    promise: q::JSValue,
    pub(super) reason: q::JSValue,
}

impl Rejection {
    /// # Safety
    /// The context and the values are alive.
    pub(super) unsafe fn new(
        context: *mut q::JSContext,
        promise: q::JSValue,
        reason: q::JSValue,
    ) -> Rejection {
        // SAFETY: as of the function.
        let (promise, reason) =
            unsafe { (q::JS_DupValue(context, promise), q::JS_DupValue(context, reason)) };
        Rejection { context, promise, reason }
    }

    /// # Safety
    /// The runtime is that of the values, and alive.
    pub(super) unsafe fn free(self, runtime: *mut q::JSRuntime) {
        // SAFETY: as of the function; the references are this one's.
        unsafe {
            q::JS_FreeValueRT(runtime, self.promise);
            q::JS_FreeValueRT(runtime, self.reason);
        }
    }
}

/// Those of a runtime, in the order in which they were rejected.
#[derive(Default)]
pub(super) struct Rejections {
    all: BTreeMap<u64, Rejection>,
    /// Their numbers by the addresses of their promises, which are held.
    numbers: HashMap<*mut c_void, u64>,
    made: u64,
}

impl Rejections {
    /// Add one, unless its promise is known.
    ///
    /// # Safety
    /// The context and the values are alive, and the promise is an object.
    pub(super) unsafe fn add(&mut self, context: *mut q::JSContext, promise: q::JSValue, reason: q::JSValue) {
        // SAFETY: as of the function.
        let address = unsafe { q::JS_VALUE_GET_PTR(promise) };
        if self.numbers.contains_key(&address) {
            return;
        }
        // SAFETY: as of the function.
        let rejection = unsafe { Rejection::new(context, promise, reason) };
        self.made += 1;
        self.numbers.insert(address, self.made);
        self.all.insert(self.made, rejection);
    }

    pub(super) fn remove(&mut self, promise: q::JSValue) -> Option<Rejection> {
        // SAFETY: promises are objects, whose values are pointers; it is only compared.
        let number = self.numbers.remove(&unsafe { q::JS_VALUE_GET_PTR(promise) })?;
        self.all.remove(&number)
    }

    /// Remove those of a context, or of all, in their order.
    pub(super) fn take(&mut self, of: Option<*mut q::JSContext>) -> Vec<Rejection> {
        let is_taken = |rejection: &Rejection| of.is_none_or(|context| rejection.context == context);
        let taken: Vec<Rejection> =
            self.all.extract_if(.., |_, rejection| is_taken(rejection)).map(|(_, one)| one).collect();
        for rejection in &taken {
            // SAFETY: as of `remove`.
            self.numbers.remove(&unsafe { q::JS_VALUE_GET_PTR(rejection.promise) });
        }
        taken
    }
}
