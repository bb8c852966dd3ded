//! Throwing from native functions, and what was thrown.

use std::ffi::c_char;

use rquickjs_sys as q;

use super::scope::Scope;
use super::thrown::{Exception, Thrown};
use super::value::{Value, c_string};

impl<'js> Scope<'js> {
    /// Throw an error with this message.
    pub(crate) fn throw(self, message: &str) -> Thrown {
        self.throw_with(message, |context, text| {
            // SAFETY: format and text are strings that end with a zero.
            unsafe { q::JS_ThrowPlainError(context, c"%s".as_ptr(), text) }
        })
    }

    /// Throw a `TypeError` with this message.
    pub(crate) fn throw_type_error(self, message: &str) -> Thrown {
        self.throw_with(message, |context, text| {
            // SAFETY: format and text are strings that end with a zero.
            unsafe { q::JS_ThrowTypeError(context, c"%s".as_ptr(), text) }
        })
    }

    fn throw_with(
        self,
        message: &str,
        throw: impl FnOnce(*mut q::JSContext, *const c_char) -> q::JSValue,
    ) -> Thrown {
        // QuickJS cuts formatted messages at 256 bytes; a longer one is set afterwards.
        let text = c_string(message);
        throw(self.raw(), text.as_ptr());
        if message.len() > 200 {
            let error = self.take_thrown();
            let is_set = error.set("message", &self.string(message)).is_ok();
            debug_assert!(is_set, "an error that was made here takes a message");
            return self.throw_value(error);
        }
        Thrown
    }

    pub(crate) fn throw_value(self, value: Value<'js>) -> Thrown {
        // SAFETY: the context is alive, and takes the value.
        unsafe { q::JS_Throw(self.raw(), value.into_raw()) };
        Thrown
    }

    /// End the script with an error that it cannot catch.
    pub(crate) fn throw_uncatchable(self, message: &str) -> Thrown {
        self.throw(message);
        let error = self.take_thrown();
        // SAFETY: the context is alive, and so is the value.
        unsafe { q::JS_SetUncatchableError(self.raw(), error.raw()) };
        self.throw_value(error)
    }

    /// What was thrown; nothing is pending afterwards.
    pub(crate) fn take_thrown(self) -> Value<'js> {
        // SAFETY: the context is alive; the value is the caller's.
        unsafe { Value::owned(self, q::JS_GetException(self.raw())) }
    }

    /// The same, as text.
    pub(crate) fn take_exception(self) -> Exception {
        let thrown = self.take_thrown();
        // SAFETY: the context and the value are alive. Reading the error runs no more code of the script than its getters.
        unsafe {
            if q::JS_IsUncatchableError(thrown.raw()) {
                q::JS_ClearUncatchableError(self.raw(), thrown.raw());
            }
        }
        let text_of = |value: Result<Value<'js>, Thrown>| match value.and_then(|v| v.text()) {
            Ok(text) => text.to_string(),
            Err(Thrown) => {
                drop(self.take_thrown());
                String::new()
            }
        };
        let is_error = thrown.is_error();
        let stack = if is_error { text_of(thrown.get("stack")) } else { String::new() };
        Exception { message: text_of(Ok(thrown)), stack: stack.trim_end().to_owned() }
    }
}
