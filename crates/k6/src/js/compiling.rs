//! What QuickJS calls instead of its functions that compile: the same, within the limit of the heap.

use std::ffi::{c_char, c_int};

use rquickjs_sys as q;

use super::context_fields::{Compilers, Native};
use super::heap_limit::Compiled;
use super::runtime::Runtime;

/// Have this context compile within the limit of its heap. Whether it can.
///
/// # Safety
/// The context is alive, of a [`Runtime`], and has the parts of the language that compile; no script ran in it.
pub(super) unsafe fn limit_compiling(context: *mut q::JSContext) -> bool {
    // SAFETY: as of the function.
    unsafe { Runtime::of(context).fields().context.set_compilers(context, COMPILERS) }
}

const COMPILERS: Compilers = Compilers { evaluate, regexp, regexps: [regexp_constructor, regexp_compile] };

/// Compiles, and runs what was compiled unless the flags say otherwise.
unsafe extern "C" fn evaluate(
    context: *mut q::JSContext,
    this: q::JSValue,
    text: *const c_char,
    length: q::size_t,
    file: *const c_char,
    line: c_int,
    flags: c_int,
    scope: c_int,
) -> q::JSValue {
    // SAFETY: QuickJS calls it as its own function, with a context that is alive and of a `Runtime`.
    unsafe {
        Runtime::of(context).limit().compile(context, Compiled::Code, |compilers| {
            (compilers.evaluate)(context, this, text, length, file, line, flags, scope)
        })
    }
}

/// Compiles a regular expression of the code that is compiled.
unsafe extern "C" fn regexp(
    context: *mut q::JSContext,
    pattern: q::JSValue,
    flags: q::JSValue,
) -> q::JSValue {
    // SAFETY: as of `evaluate`.
    unsafe {
        let limit = Runtime::of(context).limit();
        limit.compile_part(|compilers| (compilers.regexp)(context, pattern, flags))
    }
}

unsafe extern "C" fn regexp_constructor(
    context: *mut q::JSContext,
    new_target: q::JSValue,
    count: c_int,
    arguments: *mut q::JSValue,
) -> q::JSValue {
    // SAFETY: as of `evaluate`; a function with two parameters gets as many arguments, at least.
    unsafe { within_limit(context, new_target, count, arguments, |compilers| compilers.regexps[0]) }
}

unsafe extern "C" fn regexp_compile(
    context: *mut q::JSContext,
    this: q::JSValue,
    count: c_int,
    arguments: *mut q::JSValue,
) -> q::JSValue {
    // SAFETY: as of `regexp_constructor`.
    unsafe { within_limit(context, this, count, arguments, |compilers| compilers.regexps[1]) }
}

/// Call a function that makes a regular expression of a pattern and flags. What these are as strings is asked for before, since
/// that may call code of the script.
///
/// # Safety
/// The context is alive and of a `Runtime`; there are at least two arguments, all alive.
unsafe fn within_limit(
    context: *mut q::JSContext,
    this: q::JSValue,
    count: c_int,
    arguments: *mut q::JSValue,
    function: impl Fn(Compilers) -> Native,
) -> q::JSValue {
    // SAFETY: as of the function; strings that are made here are freed here.
    unsafe {
        let mut made = [q::JS_UNDEFINED; 2];
        let mut given = [*arguments, *arguments.add(1)];
        for (given, made) in given.iter_mut().zip(&mut made) {
            if q::JS_VALUE_GET_TAG(*given) == q::JS_TAG_OBJECT && !q::JS_IsRegExp(*given) {
                *made = q::JS_ToString(context, *given);
                *given = *made;
            }
        }
        let is_exception = |value: &q::JSValue| q::JS_VALUE_GET_TAG(*value) == q::JS_TAG_EXCEPTION;
        let result = if made.iter().any(is_exception) {
            q::JS_EXCEPTION
        } else {
            let limit = Runtime::of(context).limit();
            limit.compile(context, Compiled::Regexp, |compilers| {
                function(compilers)(context, this, count, given.as_mut_ptr())
            })
        };
        for made in made {
            q::JS_FreeValue(context, made);
        }
        result
    }
}
