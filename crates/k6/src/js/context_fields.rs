//! Fields of a QuickJS context that its interface does not reach, found as those of a runtime are.

use std::ffi::{c_char, c_int};
use std::ptr;

use rquickjs_sys as q;

/// Compiles a text, and runs it unless the flags say otherwise.
pub(super) type Evaluate = unsafe extern "C" fn(
    context: *mut q::JSContext,
    this: q::JSValue,
    text: *const c_char,
    length: q::size_t,
    file: *const c_char,
    line: c_int,
    flags: c_int,
    scope: c_int,
) -> q::JSValue;

/// Makes a regular expression's bytecode of its pattern and its flags.
pub(super) type CompileRegexp =
    unsafe extern "C" fn(context: *mut q::JSContext, pattern: q::JSValue, flags: q::JSValue) -> q::JSValue;

/// A function that scripts call.
pub(super) type Native = unsafe extern "C" fn(
    context: *mut q::JSContext,
    this: q::JSValue,
    count: c_int,
    arguments: *mut q::JSValue,
) -> q::JSValue;

/// The functions of QuickJS that compile.
#[derive(Debug, Clone, Copy)]
pub(super) struct Compilers {
    pub(super) evaluate: Evaluate,
    /// Of what a script contains.
    pub(super) regexp: CompileRegexp,
    /// `RegExp`, and `RegExp.prototype.compile`.
    pub(super) regexps: [Native; 2],
}

/// The places of these fields.
#[derive(Debug, Clone, Copy)]
pub(super) struct ContextFields {
    /// What QuickJS compiles with.
    pub(super) compilers: Compilers,
    /// The fields with the first two, in words from the beginning of the context.
    evaluate_at: usize,
    regexp_at: usize,
    /// The field that counts down to 0 with each call, in halves of words.
    calls_left_at: usize,
    /// The field of a function with the native one, in words from the beginning of the object.
    native_at: usize,
}

impl ContextFields {
    /// Gives the context other functions to compile with. Whether it has had those of QuickJS.
    ///
    /// # Safety
    /// The context is alive and has the parts of the language that compile, and no script ran in it.
    pub(super) unsafe fn set_compilers(self, context: *mut q::JSContext, compilers: Compilers) -> bool {
        // SAFETY: as of the function; the fields are inside the context and the objects, which the context keeps.
        unsafe {
            *context.cast::<Evaluate>().add(self.evaluate_at) = compilers.evaluate;
            *context.cast::<CompileRegexp>().add(self.regexp_at) = compilers.regexp;
            let functions = regexp_functions(context);
            let has_known = std::array::from_fn::<bool, 2, _>(|index| {
                let function = functions[index];
                let is_object = q::JS_VALUE_GET_TAG(function) == q::JS_TAG_OBJECT;
                let is_known = is_object && {
                    let native = q::JS_VALUE_GET_PTR(function).cast::<Native>().add(self.native_at);
                    let had = ptr::replace(native, compilers.regexps[index]);
                    ptr::fn_addr_eq(had, self.compilers.regexps[index])
                };
                q::JS_FreeValue(context, function);
                is_known
            });
            has_known == [true; 2]
        }
    }

    /// Sets after how many calls QuickJS asks whether the script is interrupted; how many there would have been.
    ///
    /// # Safety
    /// The context is alive.
    pub(super) unsafe fn exchange_calls_left(self, context: *mut q::JSContext, calls: c_int) -> c_int {
        // SAFETY: as of the function; the field is inside the context.
        unsafe { ptr::replace(context.cast::<c_int>().add(self.calls_left_at), calls) }
    }

    /// Finds the fields; none unless exactly one place matches for each.
    ///
    /// # Safety
    /// The runtime is alive, and `whole` a context of it with all of the language.
    pub(super) unsafe fn find(runtime: *mut q::JSRuntime, whole: *mut q::JSContext) -> Option<ContextFields> {
        // SAFETY: as of the function. That the words are the functions follows from what sets them.
        unsafe {
            let add_regexp = |context| q::JS_AddIntrinsicRegExpCompiler(context);
            let (regexp_at, regexp) = find_set(runtime, add_regexp)?;
            let (evaluate_at, evaluate) = find_set(runtime, |context| {
                q::JS_AddIntrinsicEval(context);
            })?;
            let calls_left_at = find_calls_left(runtime, whole)?;
            let native_at = find_native(runtime, whole)?;
            let native = |function: q::JSValue| {
                let native = *q::JS_VALUE_GET_PTR(function).cast::<Option<Native>>().add(native_at);
                q::JS_FreeValue(whole, function);
                native
            };
            let [constructor, compile] = regexp_functions(whole).map(native);
            let compilers = Compilers {
                evaluate: std::mem::transmute::<usize, Option<Evaluate>>(evaluate)?,
                regexp: std::mem::transmute::<usize, Option<CompileRegexp>>(regexp)?,
                regexps: [constructor?, compile?],
            };
            Some(ContextFields { compilers, evaluate_at, regexp_at, calls_left_at, native_at })
        }
    }
}

/// `RegExp`, and `RegExp.prototype.compile`, which the caller frees.
///
/// # Safety
/// The context is alive, has regular expressions, and no script ran in it.
unsafe fn regexp_functions(context: *mut q::JSContext) -> [q::JSValue; 2] {
    // SAFETY: as of the function; each name ends with a zero.
    unsafe {
        let globals = q::JS_GetGlobalObject(context);
        let constructor = q::JS_GetPropertyStr(context, globals, c"RegExp".as_ptr());
        let prototype = q::JS_GetPropertyStr(context, constructor, c"prototype".as_ptr());
        let compile = q::JS_GetPropertyStr(context, prototype, c"compile".as_ptr());
        q::JS_FreeValue(context, prototype);
        q::JS_FreeValue(context, globals);
        [constructor, compile]
    }
}

/// The place, if there is exactly one.
pub(super) fn only(mut places: impl Iterator<Item = usize>) -> Option<usize> {
    let place = places.next()?;
    places.next().is_none().then_some(place)
}

/// All of a context, or of an object.
///
/// # Safety
/// The runtime is alive, and what is read was allocated in it.
unsafe fn content<T: Copy, U>(runtime: *mut q::JSRuntime, of: *mut U) -> Vec<T> {
    // SAFETY: as of the function: so much is allocated for it.
    unsafe {
        let size = q::js_malloc_usable_size_rt(runtime, of.cast()) as usize;
        (0..size / size_of::<T>()).map(|at| ptr::read_volatile(of.cast::<T>().add(at))).collect()
    }
}

/// The only word of a raw context that `add` changes from null, with its new value.
///
/// # Safety
/// The runtime is alive; `add` adds to the context that it is given.
unsafe fn find_set(
    runtime: *mut q::JSRuntime,
    add: impl FnOnce(*mut q::JSContext),
) -> Option<(usize, usize)> {
    // SAFETY: as of the function.
    unsafe {
        let context = q::JS_NewContextRaw(runtime);
        if context.is_null() {
            return None;
        }
        let before = content::<usize, _>(runtime, context);
        add(context);
        let after = content::<usize, _>(runtime, context);
        q::JS_FreeContext(context);
        let at = only((0..before.len()).filter(|at| before[*at] != after[*at]))?;
        (before[at] == 0).then_some((at, after[at]))
    }
}

/// The only word of a function object that is its native function.
///
/// # Safety
/// Runtime and context are alive.
unsafe fn find_native(runtime: *mut q::JSRuntime, context: *mut q::JSContext) -> Option<usize> {
    let native: Native = no_call;
    // SAFETY: as of the function; the name ends with a zero and is copied.
    unsafe {
        let function = q::JS_NewCFunction2(context, Some(native), c"probe".as_ptr(), 0, 0, 0);
        if q::JS_VALUE_GET_TAG(function) != q::JS_TAG_OBJECT {
            return None;
        }
        let words = content::<usize, _>(runtime, q::JS_VALUE_GET_PTR(function));
        q::JS_FreeValue(context, function);
        only((0..words.len()).filter(|at| words[*at] == native as usize))
    }
}

unsafe extern "C" fn no_call(
    _: *mut q::JSContext,
    _: q::JSValue,
    _: c_int,
    _: *mut q::JSValue,
) -> q::JSValue {
    q::JS_NULL
}

/// The number that falls by as much as calls are made.
///
/// # Safety
/// Runtime and context are alive, and no script runs.
unsafe fn find_calls_left(runtime: *mut q::JSRuntime, context: *mut q::JSContext) -> Option<usize> {
    const CALLS: c_int = 5;
    const FUNCTION: &std::ffi::CStr = c"(function () {})";
    // SAFETY: as of the function; the text ends with a zero, and its length is without it.
    unsafe {
        let length = FUNCTION.count_bytes() as _;
        let function = q::JS_Eval(context, FUNCTION.as_ptr(), length, c"probe".as_ptr(), 0);
        let before = content::<c_int, _>(runtime, context);
        for _call in 0..CALLS {
            q::JS_FreeValue(context, q::JS_Call(context, function, q::JS_UNDEFINED, 0, ptr::null_mut()));
        }
        let after = content::<c_int, _>(runtime, context);
        q::JS_FreeValue(context, function);
        let has_fallen = |at: &usize| before[*at] > CALLS && before[*at].wrapping_sub(after[*at]) == CALLS;
        only((0..before.len()).filter(has_fallen))
    }
}

#[cfg(test)]
mod tests {
    use super::super::fields::fields;
    use super::*;

    #[test]
    fn the_fields_are_where_the_linked_quickjs_has_them() {
        let found = fields().expect("the fields are found").context;
        // SAFETY: the runtime and the context are made and freed here.
        unsafe {
            let runtime = q::JS_NewRuntime();
            let context = q::JS_NewContextRaw(runtime);
            let before = content::<usize, _>(runtime, context);
            // Its neighbours: what compiles regular expressions, and the opaque pointer.
            q::JS_AddIntrinsicRegExpCompiler(context);
            q::JS_AddIntrinsicEval(context);
            q::JS_SetContextOpaque(context, ptr::dangling_mut());
            let after = content::<usize, _>(runtime, context);
            let changed: Vec<usize> = (0..before.len()).filter(|at| before[*at] != after[*at]).collect();
            let at = found.evaluate_at;
            assert_eq!(changed, [at - 1, at, at + 1]);
            assert_eq!(after[at], found.compilers.evaluate as usize);
            assert_eq!((found.regexp_at, after[at - 1]), (at - 1, found.compilers.regexp as usize));
            // What is inside a word that is not a pointer, right behind the seed of hashes.
            let left = found.exchange_calls_left(context, 3);
            assert_eq!((left, content::<c_int, _>(runtime, context)[found.calls_left_at]), (0, 3));
            q::JS_FreeContext(context);
            q::JS_FreeRuntime(runtime);
        }
    }
}
