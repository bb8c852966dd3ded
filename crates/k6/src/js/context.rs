//! Contexts: globals of one virtual user.

use std::any::Any;
use std::rc::Rc;

use rquickjs_sys as q;

use super::language::Language;
use super::runtime::Runtime;
use super::scope::Scope;

/// Globals of its own in a runtime.
pub(crate) struct Context {
    raw: *mut q::JSContext,
    /// It outlives the context.
    #[cfg_attr(not(test), expect(dead_code, reason = "it is only held"))]
    runtime: Rc<Runtime>,
    /// Where the context's opaque pointer leads.
    _data: Box<Box<dyn Any>>,
}

impl Context {
    /// New globals, with these parts of the language and `data` for native functions. None where there is no memory for them.
    pub(crate) fn new(runtime: &Rc<Runtime>, language: Language, data: Box<dyn Any>) -> Option<Context> {
        let data = Box::new(data);
        // SAFETY: the runtime is alive, and the context was made without any part of the language. The opaque pointer leads into
        // the box that the context is kept with.
        runtime.without_limit(|| unsafe {
            let raw = q::JS_NewContextRaw(runtime.raw());
            if raw.is_null() {
                return None;
            }
            let context = Context { raw, runtime: runtime.clone(), _data: data };
            if !language.add_to(raw) {
                return None;
            }
            q::JS_SetContextOpaque(raw, (&raw const *context._data).cast_mut().cast());
            Some(context)
        })
    }

    /// Make, read and call its values.
    pub(crate) fn enter<R>(&self, then: impl for<'js> FnOnce(Scope<'js>) -> R) -> R {
        // SAFETY: the context is alive while `self` is borrowed.
        then(unsafe { Scope::of(self.raw) })
    }

    #[cfg(test)]
    pub(crate) fn runtime(&self) -> &Rc<Runtime> {
        &self.runtime
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: no scope borrows it any more.
        unsafe { q::JS_FreeContext(self.raw) }
    }
}
