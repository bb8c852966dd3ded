//! Values.

use std::ffi::{CString, c_int};
use std::fmt;
use std::ops::Deref;
use std::ptr;
use std::rc::Rc;

use rquickjs_sys as q;

use super::runtime::Runtime;
use super::scope::Scope;
use super::thrown::Thrown;

/// A value; freed with it.
pub(crate) struct Value<'js> {
    raw: q::JSValue,
    scope: Scope<'js>,
}

impl<'js> Value<'js> {
    /// # Safety
    /// The value is of the scope's runtime, and its reference the caller's.
    pub(super) unsafe fn owned(scope: Scope<'js>, raw: q::JSValue) -> Value<'js> {
        Value { raw, scope }
    }

    /// # Safety
    /// The value is of the scope's runtime, and alive.
    pub(super) unsafe fn borrowed(scope: Scope<'js>, raw: q::JSValue) -> Value<'js> {
        // SAFETY: as of the function.
        Value { raw: unsafe { q::JS_DupValue(scope.raw(), raw) }, scope }
    }

    /// What QuickJS returned, whose reference is the caller's; an error where it is an exception.
    pub(super) fn result(scope: Scope<'js>, raw: q::JSValue) -> Result<Value<'js>, Thrown> {
        let value = Value { raw, scope };
        value.require_made()?;
        Ok(value)
    }

    /// That it is a value, not what making one leaves where the heap has no space: nothing may refer to that.
    fn require_made(&self) -> Result<(), Thrown> {
        if self.tag() == q::JS_TAG_EXCEPTION { Err(Thrown) } else { Ok(()) }
    }

    pub(super) fn raw(&self) -> q::JSValue {
        self.raw
    }

    /// The value, which the caller frees.
    pub(super) fn into_raw(self) -> q::JSValue {
        let raw = self.raw;
        std::mem::forget(self);
        raw
    }

    pub(crate) fn scope(&self) -> Scope<'js> {
        self.scope
    }

    fn tag(&self) -> i32 {
        // SAFETY: it is only looked at.
        unsafe { q::JS_VALUE_GET_TAG(self.raw) }
    }

    pub(crate) fn is_undefined(&self) -> bool {
        self.tag() == q::JS_TAG_UNDEFINED
    }

    pub(crate) fn is_null(&self) -> bool {
        self.tag() == q::JS_TAG_NULL
    }

    /// Whether it is `undefined` or `null`.
    pub(crate) fn is_nullish(&self) -> bool {
        self.is_undefined() || self.is_null()
    }

    pub(crate) fn is_string(&self) -> bool {
        matches!(self.tag(), q::JS_TAG_STRING | q::JS_TAG_STRING_ROPE)
    }

    pub(crate) fn is_boolean(&self) -> bool {
        self.tag() == q::JS_TAG_BOOL
    }

    pub(crate) fn is_number(&self) -> bool {
        matches!(self.tag(), q::JS_TAG_INT | q::JS_TAG_FLOAT64)
    }

    pub(crate) fn is_object(&self) -> bool {
        self.tag() == q::JS_TAG_OBJECT
    }

    pub(crate) fn is_array(&self) -> bool {
        // SAFETY: it is only looked at.
        unsafe { q::JS_IsArray(self.raw) }
    }

    pub(crate) fn is_error(&self) -> bool {
        // SAFETY: it is only looked at.
        unsafe { q::JS_IsError(self.raw) }
    }

    pub(crate) fn is_function(&self) -> bool {
        // SAFETY: it is only looked at.
        unsafe { q::JS_IsFunction(self.scope.raw(), self.raw) }
    }

    /// Whether it is a function whose result is a promise.
    ///
    /// # Errors
    /// That the heap has no space for the one that it is compared with.
    pub(crate) fn is_async_function(&self) -> Result<bool, Thrown> {
        // SAFETY: the value is only looked at.
        let class = |value: &Value<'_>| unsafe { q::JS_GetClassID(value.raw) };
        let known = &self.scope.runtime().async_class;
        let async_class = match known.get() {
            Some(known) => *known,
            None => {
                let example = self.scope.run("(async () => 0)", "async")?;
                *known.get_or_init(|| class(&example))
            }
        };
        Ok(class(self) == async_class)
    }

    /// Whether it counts as true in a condition.
    pub(crate) fn is_truthy(&self) -> bool {
        // SAFETY: the context and the value are alive. No code of the script runs for it.
        unsafe { q::JS_ToBool(self.scope.raw(), self.raw) != 0 }
    }

    /// Whether both are the same object, or equal in the sense of `===`.
    pub(crate) fn is_same(&self, other: &Value<'js>) -> bool {
        // SAFETY: both values are alive. No code of the script runs for it.
        unsafe { q::JS_IsStrictEqual(self.scope.raw(), self.raw, other.raw) }
    }

    /// As a number: `Number(x)`.
    ///
    /// # Errors
    /// What the value's own conversion throws.
    pub(crate) fn as_number(&self) -> Result<f64, Thrown> {
        let mut number = 0.0;
        // SAFETY: the context and the value are alive.
        let failed = unsafe { q::JS_ToFloat64(self.scope.raw(), &raw mut number, self.raw) } != 0;
        if failed { Err(Thrown) } else { Ok(number) }
    }

    /// As text: `String(x)`.
    ///
    /// # Errors
    /// What the value's own conversion throws.
    pub(crate) fn text(&self) -> Result<Text<'js>, Thrown> {
        let mut length = 0;
        // SAFETY: the context and the value are alive.
        let bytes = unsafe { q::JS_ToCStringLen(self.scope.raw(), &raw mut length, self.raw) };
        if bytes.is_null() {
            return Err(Thrown);
        }
        Ok(Text { bytes: bytes.cast(), length, scope: self.scope })
    }

    /// As a JSON text; none of what has none, such as `undefined` or a function.
    ///
    /// # Errors
    /// What a `toJSON` throws, or that it refers to itself.
    pub(crate) fn json(&self) -> Result<Option<String>, Thrown> {
        // SAFETY: the context and the value are alive.
        let text =
            unsafe { q::JS_JSONStringify(self.scope.raw(), self.raw, q::JS_UNDEFINED, q::JS_UNDEFINED) };
        let text = Value::result(self.scope, text)?;
        if text.is_undefined() { Ok(None) } else { Ok(Some(text.text()?.to_string())) }
    }

    /// The bytes of an `ArrayBuffer` or of a typed array; none of anything else. They are copied: a script may change them.
    pub(crate) fn bytes(&self) -> Option<Vec<u8>> {
        if !self.is_object() {
            return None;
        }
        // SAFETY: the context and the value are alive, and no code of the script runs before the bytes are copied.
        unsafe {
            let context = self.scope.raw();
            let mut size = 0;
            if q::JS_IsArrayBuffer(self.raw) {
                let start = q::JS_GetArrayBuffer(context, &raw mut size, self.raw);
                return (!start.is_null()).then(|| std::slice::from_raw_parts(start, size as usize).to_vec());
            }
            if q::JS_GetTypedArrayType(self.raw) < 0 {
                return None;
            }
            let (mut offset, mut length, mut each) = (0, 0, 0);
            let buffer =
                q::JS_GetTypedArrayBuffer(context, self.raw, &raw mut offset, &raw mut length, &raw mut each);
            let buffer = Value::result(self.scope, buffer).ok()?;
            let start = q::JS_GetArrayBuffer(context, &raw mut size, buffer.raw());
            let end = (offset as usize).checked_add(length as usize)?;
            if start.is_null() || end > size as usize {
                return None;
            }
            Some(std::slice::from_raw_parts(start.add(offset as usize), length as usize).to_vec())
        }
    }

    /// A property, `undefined` where there is none.
    ///
    /// # Errors
    /// What a getter throws.
    pub(crate) fn get(&self, name: &str) -> Result<Value<'js>, Thrown> {
        let name = Atom::new(self.scope, name)?;
        // SAFETY: the context, the value and the name are alive.
        Value::result(self.scope, unsafe { q::JS_GetProperty(self.scope.raw(), self.raw, name.raw) })
    }

    /// An element of an array.
    ///
    /// # Errors
    /// What a getter throws.
    pub(crate) fn at(&self, index: u32) -> Result<Value<'js>, Thrown> {
        // SAFETY: the context and the value are alive.
        Value::result(self.scope, unsafe { q::JS_GetPropertyUint32(self.scope.raw(), self.raw, index) })
    }

    /// How many elements it has: its `length`.
    ///
    /// # Errors
    /// What a getter throws.
    pub(crate) fn length(&self) -> Result<u32, Thrown> {
        let mut length = 0;
        // SAFETY: the context and the value are alive.
        let failed = unsafe { q::JS_GetLength(self.scope.raw(), self.raw, &raw mut length) } != 0;
        if failed { Err(Thrown) } else { Ok(u32::try_from(length).unwrap_or(u32::MAX)) }
    }

    /// Whether it has a property of its own with a value, rather than a getter; none where it has none of that name.
    ///
    /// # Errors
    /// What a proxy throws.
    pub(super) fn has_own_data(&self, name: &str) -> Result<Option<bool>, Thrown> {
        let name = Atom::new(self.scope, name)?;
        let [value, getter, setter] = [q::JS_UNDEFINED; 3];
        let mut found = q::JSPropertyDescriptor { flags: 0, value, getter, setter };
        // SAFETY: the context, the value and the name are alive; what is found is the caller's.
        unsafe {
            match q::JS_GetOwnProperty(self.scope.raw(), &raw mut found, self.raw, name.raw) {
                0 => return Ok(None),
                1.. => {}
                _ => return Err(Thrown),
            }
            for part in [found.value, found.getter, found.setter] {
                drop(Value::owned(self.scope, part));
            }
        }
        Ok(Some(found.flags & q::JS_PROP_GETSET as c_int == 0))
    }

    /// Whether it is an object, no proxy, that can get further properties.
    pub(super) fn is_extensible(&self) -> bool {
        // SAFETY: the context and the value are alive.
        unsafe { q::JS_IsExtensible(self.scope.raw(), self.raw) > 0 }
    }

    /// Set a property.
    ///
    /// # Errors
    /// What a setter throws, or that the property cannot be set.
    pub(crate) fn set(&self, name: &str, value: &Value<'js>) -> Result<(), Thrown> {
        value.require_made()?;
        let name = Atom::new(self.scope, name)?;
        // SAFETY: the context, both values and the name are alive; the value is taken, as a reference of its own.
        let result = unsafe {
            let value = q::JS_DupValue(self.scope.raw(), value.raw);
            q::JS_SetProperty(self.scope.raw(), self.raw, name.raw, value)
        };
        if result < 0 { Err(Thrown) } else { Ok(()) }
    }

    /// Set an element of an array.
    ///
    /// # Errors
    /// What a setter throws, or that the element cannot be set.
    pub(crate) fn put(&self, index: u32, value: Value<'js>) -> Result<(), Thrown> {
        value.require_made()?;
        // SAFETY: the context and both values are alive; the value is taken.
        let result = unsafe { q::JS_SetPropertyUint32(self.scope.raw(), self.raw, index, value.into_raw()) };
        if result < 0 { Err(Thrown) } else { Ok(()) }
    }

    /// Set what a property is read and, where there is a setter, written by.
    ///
    /// # Errors
    /// That it cannot be defined.
    pub(crate) fn set_accessors(
        &self,
        name: &str,
        getter: Value<'js>,
        setter: Value<'js>,
    ) -> Result<(), Thrown> {
        let name = Atom::new(self.scope, name)?;
        let flags = (q::JS_PROP_CONFIGURABLE | q::JS_PROP_ENUMERABLE) as _;
        // SAFETY: the context, the values and the name are alive; getter and setter are taken.
        let result = unsafe {
            let (getter, setter) = (getter.into_raw(), setter.into_raw());
            q::JS_DefinePropertyGetSet(self.scope.raw(), self.raw, name.raw, getter, setter, flags)
        };
        if result < 0 { Err(Thrown) } else { Ok(()) }
    }

    /// Freezes it, as `Object.freeze` does.
    ///
    /// # Errors
    /// What a proxy throws.
    pub(crate) fn freeze(&self) -> Result<(), Thrown> {
        // SAFETY: the context and the value are alive.
        if unsafe { q::JS_FreezeObject(self.scope.raw(), self.raw) } < 0 { Err(Thrown) } else { Ok(()) }
    }

    /// The names of its own enumerable properties, in their order.
    ///
    /// # Errors
    /// What a proxy throws.
    pub(crate) fn keys(&self) -> Result<Vec<String>, Thrown> {
        let flags = (q::JS_GPN_STRING_MASK | q::JS_GPN_ENUM_ONLY) as _;
        let (mut table, mut count) = (ptr::null_mut(), 0);
        // SAFETY: the context and the value are alive; the table is read within its length and then freed.
        unsafe {
            let context = self.scope.raw();
            if q::JS_GetOwnPropertyNames(context, &raw mut table, &raw mut count, self.raw, flags) < 0 {
                return Err(Thrown);
            }
            let names = (0..count as usize).map(|index| {
                let name = q::JS_AtomToString(context, (*table.add(index)).atom);
                Ok(Value::owned(self.scope, name).text()?.to_string())
            });
            let names = names.collect();
            q::JS_FreePropertyEnum(context, table, count);
            names
        }
    }

    /// Call it.
    ///
    /// # Errors
    /// What it throws.
    pub(crate) fn call(&self, this: &Value<'js>, arguments: &[Value<'js>]) -> Result<Value<'js>, Thrown> {
        arguments.iter().try_for_each(Value::require_made)?;
        let mut raw: Vec<q::JSValue> = arguments.iter().map(|argument| argument.raw).collect();
        // SAFETY: the context and every value are alive, and arguments are not taken.
        let result =
            unsafe { q::JS_Call(self.scope.raw(), self.raw, this.raw, raw.len() as _, raw.as_mut_ptr()) };
        Value::result(self.scope, result)
    }

    /// Keep it beyond the scope.
    pub(crate) fn keep(&self) -> Kept {
        let (runtime, context): (*const Runtime, _) = (self.scope.runtime(), self.scope.raw());
        // SAFETY: the pointer is that of an `Rc`'s content, of which one more is counted; the value is alive.
        unsafe {
            Rc::increment_strong_count(runtime);
            let raw = q::JS_DupValue(context, self.raw);
            Kept { raw, context, runtime: Rc::from_raw(runtime) }
        }
    }
}

impl Clone for Value<'_> {
    fn clone(&self) -> Self {
        // SAFETY: the value is alive.
        unsafe { Value::borrowed(self.scope, self.raw) }
    }
}

impl Drop for Value<'_> {
    fn drop(&mut self) {
        // Only negative tags are of references.
        if self.tag() < 0 {
            // SAFETY: the reference is this value's.
            unsafe { q::JS_FreeValue(self.scope.raw(), self.raw) }
        }
    }
}

impl fmt::Debug for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Value").field("tag", &self.tag()).finish_non_exhaustive()
    }
}

/// A value that outlives its scope. It keeps its runtime alive.
pub(crate) struct Kept {
    raw: q::JSValue,
    /// Where it was made; only compared.
    context: *mut q::JSContext,
    runtime: Rc<Runtime>,
}

impl Kept {
    pub(super) fn raw_in(&self, scope: Scope<'_>) -> q::JSValue {
        let is_own = ptr::eq(scope.runtime(), &raw const *self.runtime) && ptr::eq(scope.raw(), self.context);
        assert!(is_own, "a kept value is used in its own context");
        self.raw
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // SAFETY: the runtime is alive, and the reference is this value's.
        unsafe { q::JS_FreeValueRT(self.runtime.raw(), self.raw) }
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kept").finish_non_exhaustive()
    }
}

/// The text of a value, as UTF-8; a half of a surrogate pair without the other becomes U+FFFD.
pub(crate) struct Text<'js> {
    bytes: *const u8,
    length: usize,
    scope: Scope<'js>,
}

impl Text<'_> {
    /// Its bytes, which may contain halves of surrogate pairs in the form of UTF-8.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        // SAFETY: pointer and length are those that QuickJS gave, until it is asked to free them.
        unsafe { std::slice::from_raw_parts(self.bytes, self.length) }
    }
}

impl Deref for Text<'_> {
    type Target = str;

    /// The text up to what is not UTF-8.
    fn deref(&self) -> &str {
        match std::str::from_utf8(self.as_bytes()) {
            Ok(text) => text,
            Err(error) => std::str::from_utf8(&self.as_bytes()[..error.valid_up_to()]).unwrap_or_default(),
        }
    }
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(self.as_bytes()))
    }
}

impl Drop for Text<'_> {
    fn drop(&mut self) {
        // SAFETY: the bytes are those that QuickJS gave.
        unsafe { q::JS_FreeCString(self.scope.raw(), self.bytes.cast()) }
    }
}

/// The name of a property.
struct Atom<'js> {
    raw: q::JSAtom,
    scope: Scope<'js>,
}

impl<'js> Atom<'js> {
    /// # Errors
    /// That the heap has no space for it.
    fn new(scope: Scope<'js>, name: &str) -> Result<Atom<'js>, Thrown> {
        // SAFETY: pointer and length are those of the name, which is copied.
        let raw = unsafe { q::JS_NewAtomLen(scope.raw(), name.as_ptr().cast(), name.len() as _) };
        if raw == q::JS_ATOM_NULL { Err(Thrown) } else { Ok(Atom { raw, scope }) }
    }
}

impl Drop for Atom<'_> {
    fn drop(&mut self) {
        // SAFETY: the reference is this name's.
        unsafe { q::JS_FreeAtom(self.scope.raw(), self.raw) }
    }
}

/// A C string for QuickJS, in which a zero byte ends nothing.
pub(super) fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}
