//! Stacks of their own for scripts, so that a native function can suspend one at any depth.
//!
//! A fiber must not be dropped while it is suspended: frames of C are on its stack, which cannot be unwound. Its script is ended
//! by an exception that it cannot catch instead; see [`Fiber::is_done`].

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use corosensei::stack::{DefaultStack, Stack as _};
use corosensei::{Coroutine, CoroutineResult, Yielder};

use super::fields::StackState;
use super::runtime::Runtime;

/// Bytes of a stack; memory is used only where it was touched.
pub(crate) const STACK_BYTES: usize = 1 << 20;
/// What is left of a stack for native functions when a script may go no deeper.
const RESERVED_BYTES: usize = 64 << 10;

/// Stacks that are not in use.
#[derive(Default)]
pub(crate) struct Stacks(RefCell<Vec<DefaultStack>>);

impl Stacks {
    /// A stack that is not in use, or a new one.
    ///
    /// # Errors
    /// Why the system gives no more memory.
    pub(crate) fn take(&self) -> std::io::Result<DefaultStack> {
        let unused = self.0.borrow_mut().pop();
        unused.map_or_else(|| DefaultStack::new(STACK_BYTES), Ok)
    }

    fn put_back(&self, stack: DefaultStack) {
        self.0.borrow_mut().push(stack);
    }
}

thread_local! {
    /// Whether a fiber runs: another one, resumed by it, would be suspended on a stack that is not its own. It stays so after a
    /// panic, which leaves the runtime with what belongs to the fiber.
    static IS_ON_FIBER: Cell<bool> = const { Cell::new(false) };
}

/// What runs on a stack of its own, resumed with an `In`, suspended with an `Out`.
pub(crate) struct Fiber<In, Out> {
    coroutine: Coroutine<In, Out, (), DefaultStack>,
    state: StackState,
    runtime: Rc<Runtime>,
}

impl<In: 'static, Out: 'static> Fiber<In, Out> {
    /// A fiber that runs `body` when it is first resumed.
    pub(crate) fn new(
        runtime: &Rc<Runtime>,
        stack: DefaultStack,
        body: impl FnOnce(&Suspender<In, Out>, In) + 'static,
    ) -> Fiber<In, Out> {
        let limit = stack.limit().get() + RESERVED_BYTES;
        let coroutine = Coroutine::with_stack(stack, move |yielder: &Yielder<In, Out>, first| {
            let running = Running(Suspender(Rc::new(Cell::new(Some(std::ptr::from_ref(yielder))))));
            body(&running.0, first);
        });
        Fiber { coroutine, state: StackState::new(limit), runtime: runtime.clone() }
    }

    /// Go on until it is suspended or done; none where it is done.
    pub(crate) fn resume(&mut self, with: In) -> Option<Out> {
        assert!(!IS_ON_FIBER.replace(true), "one fiber of a thread runs at a time");
        self.runtime.exchange(&mut self.state);
        let result = self.coroutine.resume(with);
        self.runtime.exchange(&mut self.state);
        IS_ON_FIBER.set(false);
        match result {
            CoroutineResult::Yield(out) => Some(out),
            CoroutineResult::Return(()) => None,
        }
    }

    /// Whether it has returned.
    pub(crate) fn is_done(&self) -> bool {
        self.coroutine.done()
    }

    /// Gives the stack back, of a fiber that is done.
    pub(crate) fn recycle(self, stacks: &Stacks) {
        if self.is_done() {
            stacks.put_back(self.coroutine.into_stack());
        }
    }
}

/// The body of a fiber; nothing can suspend the fiber once that has returned or panicked.
struct Running<In, Out>(Suspender<In, Out>);

impl<In, Out> Drop for Running<In, Out> {
    fn drop(&mut self) {
        self.0.0.set(None);
    }
}

/// Suspends the fiber that it was given to.
pub(crate) struct Suspender<In, Out>(Rc<Cell<Option<*const Yielder<In, Out>>>>);

impl<In, Out> Clone for Suspender<In, Out> {
    fn clone(&self) -> Self {
        Suspender(self.0.clone())
    }
}

impl<In, Out> Suspender<In, Out> {
    /// Suspend the fiber until it is resumed.
    ///
    /// # Panics
    /// Where the fiber does not run now.
    pub(crate) fn suspend(&self, with: Out) -> In {
        // While it is suspended, it cannot be suspended again.
        let yielder = self.0.take().expect("a fiber that runs is suspended");
        // SAFETY: the yielder lives as long as the fiber's body, and is taken away when that ends. The fiber is the one that runs:
        // while it is suspended nothing is here, and it cannot have resumed another one.
        let resumed = unsafe { (*yielder).suspend(with) };
        self.0.set(Some(yielder));
        resumed
    }

    /// Do `then` on the stack of the thread, which is longer than that of the fiber.
    ///
    /// # Panics
    /// Where the fiber does not run now.
    pub(crate) fn on_thread_stack<R>(&self, then: impl FnOnce() -> R + Send) -> R {
        let yielder = self.0.get().expect("the fiber runs");
        // SAFETY: as for `suspend`; the fiber does not go on before `then` has returned.
        unsafe { (*yielder).on_parent_stack(then) }
    }
}
