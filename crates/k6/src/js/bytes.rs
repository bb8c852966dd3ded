//! Bytes of scripts, in the place where they are.

use std::ffi::c_int;

use rquickjs_sys as q;

use super::value::Value;

impl Value<'_> {
    /// Let `write` fill the bytes of a typed array of integers of at most 32 bits; none where it is none. `write` runs no code of a
    /// script.
    pub(crate) fn fill_integers<R>(&self, write: impl FnOnce(&mut [u8]) -> R) -> Option<R> {
        // SAFETY: the context and the value are alive. The bytes are those of a buffer that the array refers to, within its length,
        // and no code of the script runs before `write` returns.
        unsafe {
            let context = self.scope().raw();
            let integers = 0..=q::JSTypedArrayEnum_JS_TYPED_ARRAY_UINT32 as c_int;
            if !self.is_object() || !integers.contains(&q::JS_GetTypedArrayType(self.raw())) {
                return None;
            }
            let (mut offset, mut length, mut each, mut size) = (0, 0, 0, 0);
            let (raw, place) = (self.raw(), (&raw mut offset, &raw mut length, &raw mut each));
            let buffer = q::JS_GetTypedArrayBuffer(context, raw, place.0, place.1, place.2);
            let buffer = Value::result(self.scope(), buffer).ok()?;
            let start = q::JS_GetArrayBuffer(context, &raw mut size, buffer.raw());
            let end = (offset as usize).checked_add(length as usize)?;
            if start.is_null() || end > size as usize {
                return None;
            }
            Some(write(std::slice::from_raw_parts_mut(start.add(offset as usize), length as usize)))
        }
    }
}
