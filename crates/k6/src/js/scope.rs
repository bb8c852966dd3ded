//! The scope in which the values of a context are used.

use std::any::Any;
use std::marker::PhantomData;

use rquickjs_sys as q;

use super::runtime::Runtime;

/// Through which values of a context are made, as long as `'js`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope<'js> {
    raw: *mut q::JSContext,
    lifetime: PhantomData<&'js ()>,
}

impl<'js> Scope<'js> {
    /// # Safety
    /// The context is alive for `'js`, and made by [`Context::new`].
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

    /// What the context was made with; none where that is of another type.
    pub(crate) fn data<T: 'static>(self) -> Option<&'js T> {
        // SAFETY: the opaque pointer leads into a box that lives as long as the context.
        let data = unsafe { &*q::JS_GetContextOpaque(self.raw).cast::<Box<dyn Any>>() };
        data.downcast_ref()
    }
}
