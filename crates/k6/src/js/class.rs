//! Objects that hold a value of Rust.

use std::any::TypeId;
use std::ffi::CStr;
use std::ptr;
use std::rc::Rc;

use rquickjs_sys as q;

use super::scope::Scope;
use super::thrown::Thrown;
use super::value::Value;

/// A type whose values can be held by objects. They should hold no [`super::Kept`] value themselves: the collector does not see
/// it, so that the heap is never freed.
pub(crate) trait Shared: 'static {
    /// The name of its class.
    const CLASS: &'static CStr;
}

/// What such an object leads to. The type comes first, so that it can be read before the rest is known.
#[repr(C)]
struct HeldValue<T> {
    of: TypeId,
    value: Rc<T>,
}

impl<'js> Scope<'js> {
    /// An object that holds `value` and inherits from the prototype of its type.
    ///
    /// # Errors
    /// That the heap has no space for it.
    pub(crate) fn hold<T: Shared>(self, value: Rc<T>) -> Result<Value<'js>, Thrown> {
        let class = self.class::<T>()?;
        // SAFETY: the context is alive, the class known. The pointer is freed by the finalizer of the class.
        unsafe {
            let object = Value::result(self, q::JS_NewObjectClass(self.raw(), class))?;
            let held = Box::into_raw(Box::new(HeldValue { of: TypeId::of::<T>(), value }));
            q::JS_SetOpaque(object.raw(), held.cast());
            Ok(object)
        }
    }

    /// Set what objects that hold a `T` inherit from in this context.
    ///
    /// # Errors
    /// That the heap has no space for the class.
    pub(crate) fn set_class_prototype<T: Shared>(self, prototype: Value<'js>) -> Result<(), Thrown> {
        let class = self.class::<T>()?;
        // SAFETY: the context is alive, the class known; the prototype is taken.
        unsafe { q::JS_SetClassProto(self.raw(), class, prototype.into_raw()) };
        Ok(())
    }

    fn class<T: Shared>(self) -> Result<q::JSClassID, Thrown> {
        let runtime = self.runtime();
        let class = runtime.class_of(TypeId::of::<T>(), |class| {
            let definition = q::JSClassDef {
                class_name: T::CLASS.as_ptr(),
                finalizer: Some(finalize::<T>),
                gc_mark: None,
                call: None,
                exotic: ptr::null_mut(),
            };
            // SAFETY: the runtime is alive, and copies the definition.
            unsafe { q::JS_NewClass(runtime.raw(), class, &raw const definition) == 0 }
        });
        class.ok_or_else(|| self.throw("out of memory"))
    }
}

impl Value<'_> {
    /// What it holds; none where it holds no `T`.
    pub(crate) fn held<T: Shared>(&self) -> Option<Rc<T>> {
        let mut class = 0;
        // SAFETY: it is only looked at. Classes that are not JavaScript's own are those of `Scope::class`, whose objects lead to
        // a `HeldValue`, or to nothing before `hold` has returned; the type says which one.
        unsafe {
            let held = q::JS_GetAnyOpaque(self.raw(), &raw mut class);
            if !self.scope().runtime().is_shared_class(class) || held.is_null() {
                return None;
            }
            let is_of = *held.cast::<TypeId>() == TypeId::of::<T>();
            is_of.then(|| (*held.cast::<HeldValue<T>>()).value.clone())
        }
    }
}

unsafe extern "C" fn finalize<T: Shared>(_: *mut q::JSRuntime, object: q::JSValue) {
    let mut class = 0;
    // SAFETY: the object is of the class of `T`: it leads to what `hold` has made, or to nothing.
    unsafe {
        let held = q::JS_GetAnyOpaque(object, &raw mut class).cast::<HeldValue<T>>();
        if !held.is_null() {
            drop(Box::from_raw(held));
        }
    }
}
