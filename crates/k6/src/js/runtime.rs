//! A QuickJS runtime: one heap, one thread, any number of contexts.

use std::any::{Any, TypeId};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::rc::Rc;

use rquickjs_sys as q;

use super::fields::{Fields, Jobs, StackState};
use super::heap_limit::{HeapLimit, PollReason};
use super::rejection::Rejections;

/// What a runtime may use.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) heap_bytes: usize,
    /// Bytes of stack, of what does not run on a fiber.
    pub(crate) stack_bytes: usize,
}

/// Why there is no heap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoHeap {
    /// The system gives none.
    #[error("there is no memory for a script")]
    Memory,
    /// It would not be safe.
    #[error("the QuickJS that is linked does not have the layout that is known")]
    Library,
}

/// Whether a script goes on after it has run for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Slice {
    /// It goes on.
    Continue,
    /// It ends with an exception that it cannot catch.
    End,
}

/// Called when a script has run for a while, some 10,000 branches and calls; it may suspend the fiber.
type OnSlice = Rc<dyn Fn() -> Slice>;

/// A class of a heap.
#[derive(Debug, Clone)]
pub(super) struct Class {
    pub(super) id: q::JSClassID,
    /// Of the properties that its objects have of their own.
    pub(super) names: Rc<[q::JSAtom]>,
}

/// A heap.
pub(crate) struct Runtime {
    raw: *mut q::JSRuntime,
    /// The number of the first class that is not JavaScript's own.
    first_class: q::JSClassID,
    limit: Rc<HeapLimit>,
    classes: RefCell<HashMap<TypeId, Class>>,
    /// The class of asynchronous functions, once that is known.
    pub(super) async_class: OnceCell<q::JSClassID>,
    on_slice: RefCell<Option<OnSlice>>,
    /// What lives as long as it.
    attached: OnceCell<Box<dyn Any>>,
    /// Whether the heap can be freed.
    is_leaked: Cell<bool>,
    /// Promises that were rejected and that nothing handles yet.
    pub(super) rejections: RefCell<Rejections>,
}

impl Runtime {
    /// An empty heap.
    ///
    /// # Errors
    /// [`NoHeap`].
    pub(crate) fn new(limits: Limits) -> Result<Rc<Runtime>, NoHeap> {
        let limit = HeapLimit::new(limits.heap_bytes).ok_or(NoHeap::Library)?;
        let raw = limit.new_runtime();
        if raw.is_null() {
            return Err(NoHeap::Memory);
        }
        // SAFETY: the functions are called as their header says; the runtime's opaque pointer is that of the `Rc`'s content,
        // which frees the runtime before it goes.
        unsafe {
            let mut first_class = 0;
            q::JS_NewClassID(raw, &raw mut first_class);
            let runtime = Rc::new(Runtime {
                raw,
                first_class,
                limit,
                classes: RefCell::default(),
                async_class: OnceCell::new(),
                on_slice: RefCell::default(),
                attached: OnceCell::new(),
                is_leaked: Cell::new(false),
                rejections: RefCell::default(),
            });
            let opaque = Rc::as_ptr(&runtime).cast_mut().cast::<c_void>();
            q::JS_SetRuntimeOpaque(raw, opaque);
            q::JS_SetMaxStackSize(raw, limits.stack_bytes as _);
            q::JS_SetInterruptHandler(raw, Some(on_interrupt), opaque);
            q::JS_SetHostPromiseRejectionTracker(raw, Some(on_rejection), opaque);
            Ok(runtime)
        }
    }

    /// Do `then`, which runs no code of a script, without the heap's limit: QuickJS does not survive a context, or a part of the
    /// language, that was made by half. What it takes counts afterwards.
    pub(super) fn without_limit<R>(&self, then: impl FnOnce() -> R) -> R {
        self.limit.lifted(then)
    }

    pub(super) fn limit(&self) -> &HeapLimit {
        &self.limit
    }

    /// Leave the heap to the end of the process: a context in it can never be freed.
    pub(super) fn leak(&self) {
        self.is_leaked.set(true);
    }

    #[cfg(test)]
    pub(super) fn is_leaked(&self) -> bool {
        self.is_leaked.get()
    }

    /// Keep something as long as the heap; of several only the first.
    pub(super) fn attach(&self, what: Box<dyn Any>) -> &dyn Any {
        &**self.attached.get_or_init(|| what)
    }

    /// What is kept.
    pub(super) fn attached(&self) -> Option<&dyn Any> {
        self.attached.get().map(|what| &**what)
    }

    /// Call `then` whenever a script has run for a while.
    pub(crate) fn on_slice(&self, then: impl Fn() -> Slice + 'static) {
        *self.on_slice.borrow_mut() = Some(Rc::new(then));
    }

    /// Frees what only refers to itself.
    pub(crate) fn collect(&self) {
        // SAFETY: the runtime is alive.
        unsafe { q::JS_RunGC(self.raw) }
    }

    pub(super) fn raw(&self) -> *mut q::JSRuntime {
        self.raw
    }

    pub(super) fn fields(&self) -> Fields {
        self.limit.fields()
    }

    /// Go on with another stack; the one until now is in the place of its state then.
    pub(super) fn exchange(&self, state: &mut StackState) {
        // SAFETY: the runtime is alive; the state belongs to a fiber of it.
        unsafe { self.fields().exchange(self.raw, state) }
    }

    /// Have these promise jobs wait; those until now are in their place then.
    pub(super) fn exchange_jobs(&self, jobs: &mut Jobs) {
        // SAFETY: the runtime is alive; the jobs were taken from it.
        unsafe { self.fields().exchange_jobs(self.raw, jobs) }
    }

    /// Free the promise jobs that wait, without running them.
    pub(super) fn discard_jobs(&self) {
        // SAFETY: the runtime is alive; a job that runs does not wait any more.
        unsafe { self.fields().discard_jobs(self.raw) }
    }

    /// Whether objects of this class are made by [`super::Shared`].
    pub(super) fn is_shared_class(&self, class: q::JSClassID) -> bool {
        class >= self.first_class
    }

    /// The class whose objects hold a value of type `of`; made by `make`, with its number, when it is asked for first. None where
    /// that does not succeed.
    pub(super) fn class_of(
        &self,
        of: TypeId,
        make: impl FnOnce(q::JSClassID) -> Option<Class>,
    ) -> Option<Class> {
        let classes = &mut *self.classes.borrow_mut();
        if let Some(known) = classes.get(&of) {
            return Some(known.clone());
        }
        let mut class = 0;
        // SAFETY: the runtime is alive; a number is given to the class that is made next.
        unsafe { q::JS_NewClassID(self.raw, &raw mut class) };
        make(class).map(|class| classes.entry(of).or_insert(class).clone())
    }

    /// The runtime of a context.
    ///
    /// # Safety
    /// The context is alive and of a `Runtime`.
    pub(super) unsafe fn of<'a>(context: *mut q::JSContext) -> &'a Runtime {
        // SAFETY: as of the function; the opaque pointer is set when the runtime is made.
        unsafe { &*q::JS_GetRuntimeOpaque(q::JS_GetRuntime(context)).cast::<Runtime>() }
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        for rejection in self.rejections.take().take(None) {
            // SAFETY: the runtime is alive.
            unsafe { rejection.free(self.raw) }
        }
        if self.is_leaked.get() {
            return;
        }
        // SAFETY: `Context`s and `Kept` values hold an `Rc` of the runtime, so that none is alive; what QuickJS itself keeps of
        // contexts refers only to itself, and is freed here.
        unsafe { q::JS_FreeRuntime(self.raw) }
    }
}

unsafe extern "C" fn on_interrupt(_: *mut q::JSRuntime, opaque: *mut c_void) -> c_int {
    // SAFETY: the opaque pointer is the runtime, which is alive while a script runs.
    let runtime = unsafe { &*opaque.cast::<Runtime>() };
    match runtime.limit.asked() {
        PollReason::AfterCalls => runtime.limit.assert_on(),
        PollReason::BeforeCode => return 0,
        PollReason::InRegexp => return 1,
    }
    let then = runtime.on_slice.borrow().clone();
    then.map_or(0, |then| c_int::from(then() == Slice::End))
}

unsafe extern "C" fn on_rejection(
    context: *mut q::JSContext,
    promise: q::JSValue,
    reason: q::JSValue,
    is_handled: bool,
    opaque: *mut c_void,
) {
    // SAFETY: the opaque pointer is the runtime, which is alive while a script runs, as are promise and reason.
    unsafe {
        let runtime = &*opaque.cast::<Runtime>();
        if !is_handled {
            runtime.rejections.borrow_mut().add(context, promise, reason);
            return;
        }
        let handled = runtime.rejections.borrow_mut().remove(promise);
        if let Some(rejection) = handled {
            rejection.free(runtime.raw);
        }
    }
}
