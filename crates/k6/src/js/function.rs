//! Native functions.

use std::ffi::c_int;

use rquickjs_sys as q;

use super::runtime::Runtime;
use super::scope::Scope;
use super::thrown::Thrown;
use super::value::{Value, c_string};

/// A call of a native function.
pub(crate) struct Call<'js, 'a> {
    scope: Scope<'js>,
    this: q::JSValue,
    arguments: &'a [q::JSValue],
}

impl<'js> Call<'js, '_> {
    pub(crate) fn scope(&self) -> Scope<'js> {
        self.scope
    }

    /// What it was called on; of a constructor, the constructor.
    pub(crate) fn this(&self) -> Value<'js> {
        // SAFETY: the caller's values are alive during the call.
        unsafe { Value::borrowed(self.scope, self.this) }
    }

    /// An argument; `undefined` where fewer were given.
    pub(crate) fn argument(&self, index: usize) -> Value<'js> {
        let raw = self.arguments.get(index).copied().unwrap_or(q::JS_UNDEFINED);
        // SAFETY: the caller's values are alive during the call.
        unsafe { Value::borrowed(self.scope, raw) }
    }

    /// How many arguments were given.
    pub(crate) fn count(&self) -> usize {
        self.arguments.len()
    }
}

/// What a native function returns.
type Returned<'js> = Result<Value<'js>, Thrown>;

impl<'js> Scope<'js> {
    /// A function of this name with so many parameters. `body` may not capture anything.
    pub(crate) fn function<F>(self, name: &str, parameters: u8, body: F) -> Value<'js>
    where
        F: for<'a, 'b> Fn(&Call<'a, 'b>) -> Returned<'a> + Copy + 'static,
    {
        self.native(name, parameters, body, q::JSCFunctionEnum_JS_CFUNC_generic)
    }

    /// The same, that is called with `new` only.
    pub(crate) fn constructor<F>(self, name: &str, parameters: u8, body: F) -> Value<'js>
    where
        F: for<'a, 'b> Fn(&Call<'a, 'b>) -> Returned<'a> + Copy + 'static,
    {
        self.native(name, parameters, body, q::JSCFunctionEnum_JS_CFUNC_constructor)
    }

    fn native<F>(self, name: &str, parameters: u8, _: F, kind: q::JSCFunctionEnum) -> Value<'js>
    where
        F: for<'a, 'b> Fn(&Call<'a, 'b>) -> Returned<'a> + Copy + 'static,
    {
        const { assert!(size_of::<F>() == 0, "a native function captures nothing") };
        let name = c_string(name);
        // SAFETY: the name ends with a zero and is copied.
        unsafe {
            let of = Some(called::<F> as unsafe extern "C" fn(_, _, _, _) -> _);
            let raw = q::JS_NewCFunction2(self.raw(), of, name.as_ptr(), parameters.into(), kind, 0);
            Value::owned(self, raw)
        }
    }
}

unsafe extern "C" fn called<F>(
    context: *mut q::JSContext,
    this: q::JSValue,
    count: c_int,
    arguments: *mut q::JSValue,
) -> q::JSValue
where
    F: for<'a, 'b> Fn(&Call<'a, 'b>) -> Returned<'a> + Copy + 'static,
{
    // SAFETY: QuickJS calls it with as many arguments as it says, at least as many as the function has parameters, and all of
    // them live until it returns, as does the context, which is that of the function. `F` has no size, which `native` asserts, so that there is nothing to read of it; it is `Copy`
    // and a value of it existed there.
    unsafe {
        Runtime::of(context).limit().assert_on();
        let body: F = std::mem::transmute_copy(&());
        let arguments = if arguments.is_null() {
            &[][..]
        } else {
            std::slice::from_raw_parts(arguments, count.max(0) as usize)
        };
        let call = Call { scope: Scope::of(context), this, arguments };
        match body(&call) {
            Ok(value) => value.into_raw(),
            Err(Thrown) => q::JS_EXCEPTION,
        }
    }
}
