//! Objects that hold a value of Rust.

use std::any::TypeId;
use std::rc::Rc;

use rquickjs_sys as q;

use super::own_properties::{self, HeldValue, OwnValues, Shared};
use super::runtime::Class;
use super::scope::Scope;
use super::thrown::Thrown;
use super::value::Value;

impl<'js> Scope<'js> {
    /// An object that holds `value` and inherits from the prototype of its type.
    ///
    /// # Errors
    /// That the heap has no space for it.
    pub(crate) fn hold<T: Shared>(self, value: Rc<T>) -> Result<Value<'js>, Thrown> {
        let Class { id, names } = self.class::<T>()?;
        // SAFETY: the context is alive, the class known. The pointer is freed by the finalizer of the class.
        unsafe {
            let object = Value::result(self, q::JS_NewObjectClass(self.raw(), id))?;
            let (of, own) = (TypeId::of::<T>(), OwnValues::default());
            let held = Box::into_raw(Box::new(HeldValue { of, value, names, own }));
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
        unsafe { q::JS_SetClassProto(self.raw(), class.id, prototype.into_raw()) };
        Ok(())
    }

    /// What objects that hold a `T` inherit from in this context.
    ///
    /// # Errors
    /// That the heap has no space for the class.
    pub(crate) fn class_prototype<T: Shared>(self) -> Result<Value<'js>, Thrown> {
        let class = self.class::<T>()?;
        // SAFETY: the context is alive, the class known; the result is the caller's.
        Ok(unsafe { Value::owned(self, q::JS_GetClassProto(self.raw(), class.id)) })
    }

    fn class<T: Shared>(self) -> Result<Class, Thrown> {
        let runtime = self.runtime();
        let class = runtime.class_of(TypeId::of::<T>(), |id| {
            let mark: q::JSClassGCMark = Some(own_properties::mark::<T>);
            let definition = q::JSClassDef {
                class_name: T::CLASS.as_ptr(),
                finalizer: Some(finalize::<T>),
                gc_mark: mark,
                call: None,
                exotic: own_properties::methods::<T>(),
            };
            let names = self.property_names(T::PROPERTIES)?;
            // SAFETY: the runtime is alive, and copies the definition; the methods live as long as the program.
            let is_made = unsafe { q::JS_NewClass(runtime.raw(), id, &raw const definition) == 0 };
            is_made.then_some(Class { id, names })
        });
        class.ok_or_else(|| self.throw("out of memory"))
    }
}

impl Value<'_> {
    /// What it holds; none where it holds no `T`.
    pub(crate) fn held<T: Shared>(&self) -> Option<Rc<T>> {
        self.held_value().map(|held: &HeldValue<T>| held.value.clone())
    }

    /// What it leads to; none where it holds no `T`.
    pub(super) fn held_value<T: Shared>(&self) -> Option<&HeldValue<T>> {
        let mut class = 0;
        // SAFETY: it is only looked at. Classes that are not JavaScript's own are those of `Scope::class`, whose objects lead to
        // a `HeldValue`, or to nothing before `hold` has returned; the type says which one.
        unsafe {
            let held = q::JS_GetAnyOpaque(self.raw(), &raw mut class);
            if !self.scope().runtime().is_shared_class(class) || held.is_null() {
                return None;
            }
            let is_of = *held.cast::<TypeId>() == TypeId::of::<T>();
            is_of.then(|| &*held.cast::<HeldValue<T>>())
        }
    }
}

unsafe extern "C" fn finalize<T: Shared>(runtime: *mut q::JSRuntime, object: q::JSValue) {
    let mut class = 0;
    // SAFETY: the object is of the class of `T`: it leads to what `hold` has made, or to nothing.
    unsafe {
        let held = q::JS_GetAnyOpaque(object, &raw mut class).cast::<HeldValue<T>>();
        if !held.is_null() {
            let held = Box::from_raw(held);
            held.own.free(runtime);
        }
    }
}
