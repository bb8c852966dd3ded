//! The limit of a heap, and what it does while QuickJS compiles.
//!
//! QuickJS does not check whether the buffer for bytecode could grow: after a refused allocation it reads operands that were never
//! written. So no allocation is refused while it compiles. Once the limit is exceeded, the compilation ends at the next token: the
//! stack limit is set so that the parser's own check for a stack overflow fails. Code of a script never runs in this state: before
//! QuickJS calls any, it polls for an interrupt, and the answer to that puts the limit back in force.

use std::cell::Cell;
use std::ffi::c_int;
use std::ptr;
use std::rc::Rc;

use rquickjs_sys as q;

use super::allocation::{self, Watch};
use super::context_fields::Compilers;
use super::fields::{Fields, fields};

/// Larger than the buffer for the names of a regular expression's groups, whose growth QuickJS does not check: at most 255 names of
/// at most 127 bytes.
const UNCHECKED_BYTES: usize = 64 << 10;

pub(super) struct HeapLimit {
    bytes: usize,
    fields: Fields,
    /// Null until it is made.
    runtime: Cell<*mut q::JSRuntime>,
    /// Whether QuickJS refuses what exceeds it.
    is_on: Cell<bool>,
    compilation: Cell<Option<Compilation>>,
    /// Whether what was compiled last exceeded it.
    has_exceeded: Cell<bool>,
    /// The most that was in use while something was compiled.
    #[cfg(test)]
    pub(super) most_bytes: Cell<usize>,
}

/// What QuickJS compiles now.
#[derive(Debug, Clone, Copy)]
struct Compilation {
    context: *mut q::JSContext,
    /// How often QuickJS still would have called something before it asks whether the script is interrupted.
    calls_left: c_int,
    what: Compiled,
    /// Where the stack ends, once the limit was exceeded: QuickJS finds another end.
    stack_limit: Option<usize>,
    /// Whether it compiles a regular expression now.
    is_in_regexp: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compiled {
    /// Code, which is run next.
    Code,
    /// A regular expression, by a function that must not call any code of the script.
    Regexp,
}

/// Why QuickJS asks whether the script is interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PollReason {
    /// The script has run for a while.
    AfterCalls,
    /// Its code begins: what was compiled, or what is called since that failed.
    BeforeCode,
    /// Its code would be called while a regular expression is compiled.
    InRegexp,
}

impl HeapLimit {
    /// A limit of a heap that is made next. None where the linked QuickJS is not laid out as is known.
    pub(super) fn new(bytes: usize) -> Option<Rc<HeapLimit>> {
        Some(Rc::new(HeapLimit {
            bytes,
            fields: fields()?,
            runtime: Cell::new(ptr::null_mut()),
            is_on: Cell::new(true),
            compilation: Cell::new(None),
            has_exceeded: Cell::new(false),
            #[cfg(test)]
            most_bytes: Cell::new(0),
        }))
    }

    /// An empty heap with this limit, which outlives it. Null where there is no memory for it.
    pub(super) fn new_runtime(&self) -> *mut q::JSRuntime {
        let functions = allocation::functions::<HeapLimit>();
        // SAFETY: QuickJS copies the functions, whose opaque pointer is this.
        unsafe {
            let raw = q::JS_NewRuntime2(&raw const functions, ptr::from_ref(self).cast_mut().cast());
            self.runtime.set(raw);
            if !raw.is_null() {
                self.set(true);
            }
            raw
        }
    }

    pub(super) fn fields(&self) -> Fields {
        self.fields
    }

    /// Do `then`, which runs no code of a script, without the limit.
    pub(super) fn lifted<R>(&self, then: impl FnOnce() -> R) -> R {
        self.set(false);
        let result = then();
        self.set(true);
        result
    }

    /// Do `then`, which may run code of a script, with the limit, also where QuickJS compiles and calls back.
    pub(super) fn applied<R>(&self, then: impl FnOnce() -> R) -> R {
        let interrupted = self.end();
        let result = then();
        if let Some(Compilation { context, what, .. }) = interrupted {
            self.begin(context, what);
        }
        result
    }

    /// In tests: that code of a script runs only with the limit.
    pub(super) fn assert_on(&self) {
        debug_assert!(self.is_on.get(), "code of a script runs without the limit of its heap");
    }

    /// Compile with `original`, and run what was compiled if that does; an exception for lack of space where the limit was exceeded.
    ///
    /// # Safety
    /// The context is alive, and what `original` returns is a value of it.
    pub(super) unsafe fn compile(
        &self,
        context: *mut q::JSContext,
        what: Compiled,
        original: impl FnOnce(Compilers) -> q::JSValue,
    ) -> q::JSValue {
        self.begin(context, what);
        let result = original(self.fields.context.compilers);
        let ended = self.end();
        // SAFETY: as of the function; the message has no arguments.
        unsafe {
            let has_thrown = q::JS_VALUE_GET_TAG(result) == q::JS_TAG_EXCEPTION;
            let is_exceeded =
                has_thrown && ended.is_some_and(|compilation| compilation.stack_limit.is_some());
            self.has_exceeded.set(is_exceeded);
            if is_exceeded {
                q::JS_FreeValue(context, q::JS_GetException(context));
                return q::JS_ThrowOutOfMemory(context);
            }
            if has_thrown && ended.is_none() && what == Compiled::Regexp {
                q::JS_FreeValue(context, q::JS_GetException(context));
                return q::JS_ThrowTypeError(context, c"a RegExp is made of what calls code".as_ptr());
            }
        }
        result
    }

    /// Compile a regular expression that code contains, as part of it.
    pub(super) fn compile_part<R>(&self, original: impl FnOnce(Compilers) -> R) -> R {
        let set = |is_in_regexp| {
            let compilation = self.compilation.get();
            self.compilation.set(compilation.map(|compilation| Compilation { is_in_regexp, ..compilation }));
        };
        set(true);
        let result = original(self.fields.context.compilers);
        set(false);
        result
    }

    /// QuickJS asks whether the script is interrupted: why. From now on the limit is in force.
    pub(super) fn asked(&self) -> PollReason {
        let Some(compilation) = self.compilation.get() else { return PollReason::AfterCalls };
        let calls = |left| {
            // SAFETY: the context compiles, so that it is alive.
            unsafe { self.fields.context.exchange_calls_left(compilation.context, left) }
        };
        let all = calls(0);
        self.end();
        let left = compilation.calls_left - 1;
        calls(if left > 0 { left } else { all });
        match compilation.what {
            Compiled::Regexp => PollReason::InRegexp,
            Compiled::Code if left > 0 => PollReason::BeforeCode,
            Compiled::Code => PollReason::AfterCalls,
        }
    }

    /// Whether there was no space for what was compiled last.
    pub(super) fn has_exceeded(&self) -> bool {
        self.has_exceeded.get()
    }

    fn is_compiling(&self) -> bool {
        self.compilation.get().is_some()
    }

    /// Whether what QuickJS compiles now has exceeded the limit.
    fn is_exceeded(&self) -> bool {
        self.compilation.get().is_some_and(|compilation| compilation.stack_limit.is_some())
    }

    /// Notes that `size` more bytes are requested.
    fn growing(&self, size: usize) {
        let Some(mut compilation) = self.compilation.get() else { return };
        // SAFETY: the runtime is alive while it compiles.
        unsafe {
            let bytes = self.fields.used(self.runtime.get()).saturating_add(size);
            #[cfg(test)]
            self.most_bytes.set(self.most_bytes.get().max(bytes));
            if bytes > self.bytes && compilation.stack_limit.is_none() {
                let stack_limit = self.fields.exchange_stack_limit(self.runtime.get(), usize::MAX);
                compilation.stack_limit = Some(stack_limit);
                self.compilation.set(Some(compilation));
            }
        }
    }

    fn begin(&self, context: *mut q::JSContext, what: Compiled) {
        debug_assert!(
            self.is_on.get() && !self.is_compiling(),
            "no code of a script runs where QuickJS compiles"
        );
        // SAFETY: the context is alive. The next call that QuickJS counts is that of code of the script.
        let calls_left = unsafe { self.fields.context.exchange_calls_left(context, 1) };
        self.set(false);
        let is_in_regexp = what == Compiled::Regexp;
        let compilation = Compilation { context, calls_left, what, stack_limit: None, is_in_regexp };
        self.compilation.set(Some(compilation));
    }

    /// What was compiled until now, if anything; from now on the limit is in force.
    fn end(&self) -> Option<Compilation> {
        let compilation = self.compilation.take()?;
        // SAFETY: the context is alive: it compiles until now.
        unsafe {
            self.fields.context.exchange_calls_left(compilation.context, compilation.calls_left);
            if let Some(stack_limit) = compilation.stack_limit {
                self.fields.exchange_stack_limit(self.runtime.get(), stack_limit);
            }
        }
        self.set(true);
        Some(compilation)
    }

    fn set(&self, is_on: bool) {
        self.is_on.set(is_on);
        // SAFETY: the runtime is alive. 0 is not a limit.
        unsafe { q::JS_SetMemoryLimit(self.runtime.get(), if is_on { self.bytes as _ } else { 0 }) }
    }
}

impl Watch for HeapLimit {
    /// QuickJS allocates functions in this way and checks the result, so that these may be refused once the limit is exceeded.
    fn refuses_zeroed(&self, size: usize) -> bool {
        self.growing(size);
        self.is_exceeded()
    }

    /// The compiler of regular expressions checks large allocations.
    fn refuses(&self, size: usize) -> bool {
        self.growing(size);
        let is_in_regexp = |compilation: Compilation| compilation.is_in_regexp;
        size > UNCHECKED_BYTES && self.is_exceeded() && self.compilation.get().is_some_and(is_in_regexp)
    }

    fn must_grant(&self) -> bool {
        self.is_compiling()
    }
}
