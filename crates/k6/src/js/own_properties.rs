//! Objects whose own properties are made when they are read, and kept from then on where they are objects themselves.

use std::any::TypeId;
use std::cell::RefCell;
use std::ffi::{CStr, c_int};
use std::ptr;
use std::rc::Rc;

use rquickjs_sys as q;

use super::runtime::Runtime;
use super::scope::Scope;
use super::thrown::Thrown;
use super::value::{Value, c_string};

/// A type whose values can be held by objects. They should hold no [`super::Kept`] value themselves: the collector does not see
/// it, so that the heap is never freed.
pub(crate) trait Shared: 'static {
    /// The name of its class.
    const CLASS: &'static CStr;

    /// The names of the properties that its objects have of their own, in their order.
    const PROPERTIES: &'static [&'static str] = &[];

    /// The property at this place of them, which is made when it is read. An object that is not a function is kept by the object that
    /// it is a property of.
    ///
    /// # Errors
    /// What making it throws.
    fn property<'js>(scope: Scope<'js>, _of: &Rc<Self>, _place: usize) -> Result<Value<'js>, Thrown> {
        no_property(scope)
    }
}

/// What such an object leads to. The type comes first, so that it can be read before the rest is known.
#[repr(C)]
pub(super) struct HeldValue<T> {
    pub(super) of: TypeId,
    pub(super) value: Rc<T>,
    /// The names of its class's properties.
    pub(super) names: Rc<[q::JSAtom]>,
    pub(super) own: OwnValues,
}

/// Values that an object keeps, by the place of their property; the collector of the heap sees them.
#[derive(Default)]
pub(super) struct OwnValues(RefCell<Vec<(usize, q::JSValue)>>);

impl OwnValues {
    fn get(&self, place: usize) -> Option<q::JSValue> {
        self.0.borrow().iter().find(|(known, _)| *known == place).map(|(_, value)| *value)
    }

    /// Keep a value, whose reference is taken; what was kept in its place, whose reference is the caller's.
    fn put(&self, place: usize, value: q::JSValue) -> Option<q::JSValue> {
        let mut values = self.0.borrow_mut();
        match values.iter_mut().find(|(known, _)| *known == place) {
            Some((_, kept)) => Some(std::mem::replace(kept, value)),
            None => {
                values.push((place, value));
                None
            }
        }
    }

    /// Free all of them.
    ///
    /// # Safety
    /// The runtime is alive, and that of the values.
    pub(super) unsafe fn free(&self, runtime: *mut q::JSRuntime) {
        for (_, value) in self.0.take() {
            // SAFETY: as of the function; the reference was this list's.
            unsafe { q::JS_FreeValueRT(runtime, value) }
        }
    }
}

/// How QuickJS reads and writes properties of objects that hold a `T`.
pub(super) struct Exotic<T>(std::marker::PhantomData<T>);

impl<T: Shared> Exotic<T> {
    pub(super) const METHODS: q::JSClassExoticMethods = q::JSClassExoticMethods {
        get_own_property: Some(get_own_property::<T>),
        get_own_property_names: Some(get_own_property_names::<T>),
        delete_property: None,
        define_own_property: Some(define_own_property::<T>),
        has_property: None,
        get_property: None,
        set_property: None,
    };
}

/// Mark what an object keeps, for the collector.
pub(super) unsafe extern "C" fn mark<T: Shared>(
    runtime: *mut q::JSRuntime,
    object: q::JSValue,
    mark: q::JS_MarkFunc,
) {
    // SAFETY: QuickJS marks objects of the class of `T`, which are alive, and so is what they keep.
    unsafe {
        let Some(held) = held::<T>(object) else { return };
        for (_, value) in held.own.0.borrow().iter() {
            q::JS_MarkValue(runtime, *value, mark);
        }
    }
}

/// What an object of the class of `T` leads to; none before it holds anything.
///
/// # Safety
/// The object is alive as long as the result is used, and of that class.
unsafe fn held<'a, T: Shared>(object: q::JSValue) -> Option<&'a HeldValue<T>> {
    let mut class = 0;
    // SAFETY: as of the function: what its pointer leads to is freed with the object.
    unsafe { q::JS_GetAnyOpaque(object, &raw mut class).cast::<HeldValue<T>>().as_ref() }
}

unsafe extern "C" fn get_own_property<T: Shared>(
    context: *mut q::JSContext,
    descriptor: *mut q::JSPropertyDescriptor,
    object: q::JSValue,
    name: q::JSAtom,
) -> c_int {
    // SAFETY: QuickJS calls it with an object of the class of `T` that lives until it returns; the descriptor is null or can be
    // written to, and takes the reference of its value.
    unsafe {
        let Some(held) = held::<T>(object) else { return 0 };
        let Some(place) = held.names.iter().position(|known| *known == name) else { return 0 };
        if descriptor.is_null() {
            return 1;
        }
        let value = match held.own.get(place) {
            Some(kept) => q::JS_DupValue(context, kept),
            None => {
                Runtime::of(context).limit().assert_on();
                let scope = Scope::of(context);
                let Ok(value) = T::property(scope, &held.value, place) else { return -1 };
                if value.is_object() && !value.is_function() {
                    let kept = q::JS_DupValue(context, value.raw());
                    free(context, held.own.put(place, kept));
                }
                value.into_raw()
            }
        };
        (*descriptor).flags = q::JS_PROP_C_W_E as c_int;
        (*descriptor).value = value;
        ((*descriptor).getter, (*descriptor).setter) = (q::JS_UNDEFINED, q::JS_UNDEFINED);
        1
    }
}

unsafe extern "C" fn get_own_property_names<T: Shared>(
    context: *mut q::JSContext,
    table: *mut *mut q::JSPropertyEnum,
    length: *mut u32,
    object: q::JSValue,
) -> c_int {
    // SAFETY: as of `get_own_property`; the table has space for all names, and QuickJS frees it and them.
    unsafe {
        let names = held::<T>(object).map_or(&[][..], |held| &held.names);
        let size = names.len().max(1) * size_of::<q::JSPropertyEnum>();
        let all = q::js_malloc(context, size as _).cast::<q::JSPropertyEnum>();
        if all.is_null() {
            return -1;
        }
        for (place, name) in names.iter().enumerate() {
            let atom = q::JS_DupAtom(context, *name);
            all.add(place).write(q::JSPropertyEnum { is_enumerable: true, atom });
        }
        (*table, *length) = (all, names.len() as u32);
        0
    }
}

unsafe extern "C" fn define_own_property<T: Shared>(
    context: *mut q::JSContext,
    object: q::JSValue,
    name: q::JSAtom,
    value: q::JSValue,
    getter: q::JSValue,
    setter: q::JSValue,
    flags: c_int,
) -> c_int {
    // SAFETY: as of `get_own_property`; the values are the caller's.
    unsafe {
        let held = held::<T>(object);
        let place = held.and_then(|held| held.names.iter().position(|known| *known == name));
        match held.zip(place) {
            Some((held, place)) if flags & q::JS_PROP_HAS_VALUE as c_int != 0 => {
                free(context, held.own.put(place, q::JS_DupValue(context, value)));
                1
            }
            _ => {
                let flags = flags | q::JS_PROP_NO_EXOTIC as c_int;
                q::JS_DefineProperty(context, object, name, value, getter, setter, flags)
            }
        }
    }
}

/// # Safety
/// The context is alive; the reference of the value is the caller's.
unsafe fn free(context: *mut q::JSContext, value: Option<q::JSValue>) {
    if let Some(value) = value {
        // SAFETY: as of the function.
        unsafe { q::JS_FreeValue(context, value) }
    }
}

impl<'js> Scope<'js> {
    /// The names of these properties in this heap, which keeps them.
    pub(super) fn property_names(self, names: &[&str]) -> Option<Rc<[q::JSAtom]>> {
        let atoms = names.iter().map(|name| {
            let name = c_string(name);
            // SAFETY: the context is alive; the name ends with a zero and is copied. The reference is never freed: the name is
            // used as long as the heap lives, which frees all names.
            unsafe { q::JS_NewAtom(self.raw(), name.as_ptr()) }
        });
        let atoms: Rc<[q::JSAtom]> = atoms.collect();
        (!atoms.contains(&q::JS_ATOM_NULL)).then_some(atoms)
    }
}

impl<'js> Value<'js> {
    /// What an object that holds a `T` keeps beside its properties.
    pub(crate) fn kept_beside<T: Shared>(&self) -> Option<Value<'js>> {
        let held = self.held_value::<T>()?;
        // SAFETY: the value is kept by this object, which is alive.
        held.own.get(T::PROPERTIES.len()).map(|kept| unsafe { Value::borrowed(self.scope(), kept) })
    }

    /// Have an object that holds a `T` keep a value beside its properties.
    pub(crate) fn keep_beside<T: Shared>(&self, value: &Value<'js>) {
        let Some(held) = self.held_value::<T>() else { return };
        // SAFETY: the context and both values are alive.
        unsafe {
            let kept = q::JS_DupValue(self.scope().raw(), value.raw());
            free(self.scope().raw(), held.own.put(T::PROPERTIES.len(), kept));
        }
    }
}

/// No properties are made by themselves.
pub(super) fn no_property<'js>(scope: Scope<'js>) -> Result<Value<'js>, Thrown> {
    debug_assert!(false, "a class without properties is not asked for one");
    Ok(scope.undefined())
}

pub(super) fn methods<T: Shared>() -> *mut q::JSClassExoticMethods {
    if T::PROPERTIES.is_empty() {
        return ptr::null_mut();
    }
    // QuickJS reads it only.
    let methods: &'static q::JSClassExoticMethods = &Exotic::<T>::METHODS;
    ptr::from_ref(methods).cast_mut()
}
