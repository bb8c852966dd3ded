//! The scope in which the values of a context are used.

use std::cell::Cell;
use std::marker::PhantomData;

use rquickjs_sys as q;

use super::context::ContextData;
use super::runtime::Runtime;

/// Through which values of a context are made, as long as `'js`, which is that of no other scope.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope<'js> {
    raw: *mut q::JSContext,
    /// Neither longer nor shorter, so that values of two contexts that are entered do not meet.
    lifetime: PhantomData<Cell<&'js ()>>,
}

impl<'js> Scope<'js> {
    /// # Safety
    /// For `'js` the context is alive, made by [`super::Context::new`], and has its data or none.
    pub(super) unsafe fn of(raw: *mut q::JSContext) -> Scope<'js> {
        Scope { raw, lifetime: PhantomData }
    }

    pub(super) fn raw(self) -> *mut q::JSContext {
        self.raw
    }

    pub(super) fn runtime(self) -> &'js Runtime {
        // SAFETY: the context is alive for `'js`.
        unsafe { Runtime::of(self.raw) }
    }

    /// What is known of the context; none where its [`super::Context`] was dropped and QuickJS still keeps the rest.
    pub(super) fn context_data(self) -> Option<&'js ContextData> {
        // SAFETY: the pointer is null, or leads to what its `Context` frees no earlier than it is dropped: not in `'js`.
        unsafe { q::JS_GetContextOpaque(self.raw).cast::<ContextData>().as_ref() }
    }

    /// What the context was made with; none where that is of another type, or gone with its [`super::Context`].
    pub(crate) fn data<T: 'static>(self) -> Option<&'js T> {
        self.context_data().and_then(|data| data.own.downcast_ref())
    }
}
