//! Contexts: globals of one virtual user.

use std::any::Any;
use std::cell::Cell;
use std::rc::Rc;

use rquickjs_sys as q;

use super::compiling::limit_compiling;
use super::fields::Jobs;
use super::language::Language;
use super::loaded::Loaded;
use super::runtime::Runtime;
use super::scope::Scope;

/// What the opaque pointer of a context leads to, as long as its [`Context`] lives.
pub(super) struct ContextData {
    /// For native functions.
    pub(super) own: Box<dyn Any>,
    /// Whether it has typed arrays. What a script sees does not show it: a script may have replaced them.
    pub(super) has_typed_arrays: Cell<bool>,
    pub(super) loaded: Loaded,
}

/// Globals of its own in a runtime.
///
/// QuickJS counts references to a context: functions and jobs that were made in it keep it when this is dropped. Such a rest has no
/// data any more, and [`Context::enter`] leaves nothing in the runtime that would run in it.
pub(crate) struct Context {
    raw: *mut q::JSContext,
    /// It outlives the context.
    runtime: Rc<Runtime>,
    /// Of `Box::into_raw`.
    data: *mut ContextData,
}

impl Context {
    /// New globals, with these parts of the language and `data` for native functions. None where there is no memory for them.
    pub(crate) fn new(runtime: &Rc<Runtime>, language: Language, data: Box<dyn Any>) -> Option<Context> {
        // SAFETY: the runtime is alive, and the context was made without any part of the language. The opaque pointer leads to
        // what is freed only after the pointer was taken away.
        runtime.without_limit(|| unsafe {
            let raw = q::JS_NewContextRaw(runtime.raw());
            if raw.is_null() {
                return None;
            }
            let has_typed_arrays = Cell::new(language.has_typed_arrays());
            let data = ContextData { own: data, has_typed_arrays, loaded: Loaded::default() };
            let data = Box::into_raw(Box::new(data));
            let context = Context { raw, runtime: runtime.clone(), data };
            q::JS_SetContextOpaque(raw, data.cast());
            (language.add_to(raw) && limit_compiling(raw)).then_some(context)
        })
    }

    /// Make, read and call its values. Promise jobs that wait when `then` returns never run, and neither they nor what was thrown
    /// or rejected last stay in the runtime.
    pub(crate) fn enter<R>(&self, then: impl for<'js> FnOnce(Scope<'js>) -> R) -> R {
        let _entered = Entered::new(self);
        // SAFETY: the context is alive, and has its data, while `self` is borrowed.
        then(unsafe { Scope::of(self.raw) })
    }

    #[cfg(test)]
    pub(crate) fn runtime(&self) -> &Rc<Runtime> {
        &self.runtime
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: no scope borrows it any more. QuickJS may keep the context, but then finds no data in it; the box was made in
        // `new`, and nothing else leads to it.
        unsafe {
            let loaded = &(*self.data).loaded;
            if loaded.is_referred_to() {
                q::JS_RunGC(self.runtime.raw());
            }
            let can_be_freed = !loaded.is_referred_to();
            q::JS_SetContextOpaque(self.raw, std::ptr::null_mut());
            match can_be_freed {
                true => q::JS_FreeContext(self.raw),
                false => self.runtime.leak(),
            }
            drop(Box::from_raw(self.data));
        }
    }
}

/// A context that is entered, with a list of promise jobs of its own.
struct Entered<'a> {
    context: &'a Context,
    /// The jobs that waited before.
    before: Jobs,
}

impl<'a> Entered<'a> {
    fn new(context: &'a Context) -> Entered<'a> {
        let mut before = Jobs::default();
        context.runtime.exchange_jobs(&mut before);
        Entered { context, before }
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let runtime = &self.context.runtime;
        // SAFETY: the context is alive while it is borrowed.
        let scope: Scope<'_> = unsafe { Scope::of(self.context.raw) };
        drop(scope.take_thrown());
        drop(scope.take_rejection());
        runtime.discard_jobs();
        runtime.exchange_jobs(&mut self.before);
    }
}
