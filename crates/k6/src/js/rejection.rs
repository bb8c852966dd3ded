//! Promises that are rejected and that nothing handles.

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

    /// Whether it is that of this promise.
    pub(super) fn is_of(&self, promise: q::JSValue) -> bool {
        // SAFETY: promises are objects, whose values are pointers; they are only compared.
        unsafe { q::JS_VALUE_GET_PTR(self.promise) == q::JS_VALUE_GET_PTR(promise) }
    }
}
