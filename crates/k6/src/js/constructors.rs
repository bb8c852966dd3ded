//! Constructors of values: of texts, numbers and bytes, and by scripts.

use std::ffi::CString;

use rquickjs_sys as q;

use super::scope::Scope;
use super::thrown::Thrown;
use super::value::{Kept, Value};

impl<'js> Scope<'js> {
    pub(crate) fn undefined(self) -> Value<'js> {
        // SAFETY: it is not a reference.
        unsafe { Value::owned(self, q::JS_UNDEFINED) }
    }

    pub(crate) fn null(self) -> Value<'js> {
        // SAFETY: it is not a reference.
        unsafe { Value::owned(self, q::JS_NULL) }
    }

    pub(crate) fn boolean(self, value: bool) -> Value<'js> {
        // SAFETY: it is not a reference.
        unsafe { Value::owned(self, if value { q::JS_TRUE } else { q::JS_FALSE }) }
    }

    pub(crate) fn number(self, value: f64) -> Value<'js> {
        // SAFETY: it is not a reference.
        unsafe { Value::owned(self, q::JS_NewFloat64(value)) }
    }

    /// A string; `undefined` where the heap has no space for it.
    pub(crate) fn string(self, text: &str) -> Value<'js> {
        self.string_of(text.as_bytes())
    }

    /// The string that these bytes of UTF-8 are; invalid ones become U+FFFD.
    pub(crate) fn string_of(self, bytes: &[u8]) -> Value<'js> {
        match std::str::from_utf8(bytes) {
            // SAFETY: pointer and length are those of the bytes, which are copied.
            Ok(text) => unsafe {
                Value::owned(self, q::JS_NewStringLen(self.raw(), text.as_ptr().cast(), text.len() as _))
            },
            Err(_) => self.string(&String::from_utf8_lossy(bytes)),
        }
    }

    /// An `ArrayBuffer` with these bytes. What cannot be made is thrown, and is not a value that anything may refer to.
    pub(crate) fn array_buffer(self, bytes: &[u8]) -> Value<'js> {
        if let Err(Thrown) = self.ensure_typed_arrays() {
            // SAFETY: it is not a reference.
            return unsafe { Value::owned(self, q::JS_EXCEPTION) };
        }
        // SAFETY: the context is alive; pointer and length are those of the bytes, which are copied.
        unsafe { Value::owned(self, q::JS_NewArrayBufferCopy(self.raw(), bytes.as_ptr(), bytes.len() as _)) }
    }

    pub(crate) fn object(self) -> Value<'js> {
        // SAFETY: the context is alive.
        unsafe { Value::owned(self, q::JS_NewObject(self.raw())) }
    }

    pub(crate) fn array(self) -> Value<'js> {
        // SAFETY: the context is alive.
        unsafe { Value::owned(self, q::JS_NewArray(self.raw())) }
    }

    pub(crate) fn globals(self) -> Value<'js> {
        // SAFETY: the context is alive.
        unsafe { Value::owned(self, q::JS_GetGlobalObject(self.raw())) }
    }

    /// The value of a JSON text.
    ///
    /// # Errors
    /// A `SyntaxError` that names `file`.
    pub(crate) fn parse_json(self, text: &str, file: &str) -> Result<Value<'js>, Thrown> {
        let text = CString::new(text).map_err(|_| self.throw("a JSON text contains a zero byte"))?;
        let file = CString::new(file).unwrap_or_default();
        // SAFETY: both end with a zero, and the length is without it.
        let value =
            unsafe { q::JS_ParseJSON(self.raw(), text.as_ptr(), text.as_bytes().len() as _, file.as_ptr()) };
        Value::result(self, value)
    }

    /// Run a text as a script with the globals.
    ///
    /// # Errors
    /// What it throws.
    pub(crate) fn run(self, text: &str, file: &str) -> Result<Value<'js>, Thrown> {
        let text = CString::new(text).map_err(|_| self.throw("a script contains a zero byte"))?;
        let file = CString::new(file).unwrap_or_default();
        // SAFETY: both end with a zero, and the length is without it.
        let value =
            unsafe { q::JS_Eval(self.raw(), text.as_ptr(), text.as_bytes().len() as _, file.as_ptr(), 0) };
        Value::result(self, value)
    }

    /// The value that a [`Kept`] one is.
    pub(crate) fn kept(self, kept: &Kept) -> Value<'js> {
        // SAFETY: the value is alive as long as `Kept`, and of this context, which that compares.
        unsafe { Value::borrowed(self, kept.raw_in(self)) }
    }
}

impl Scope<'_> {
    /// The full name of the module whose function called the native one.
    pub(crate) fn caller_file(self) -> Option<String> {
        // SAFETY: the context is alive; the name is the caller's to free.
        unsafe {
            let atom = q::JS_GetScriptOrModuleName(self.raw(), 1);
            if atom == q::JS_ATOM_NULL {
                return None;
            }
            let name = Value::owned(self, q::JS_AtomToString(self.raw(), atom));
            q::JS_FreeAtom(self.raw(), atom);
            name.text().ok().map(|name| name.to_string())
        }
    }
}
