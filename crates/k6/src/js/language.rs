//! Which parts of the language the contexts of a script have. Typed arrays and collections are a third of an empty context, and
//! few scripts name them.

use std::ffi::{CStr, c_int};

use rquickjs_sys as q;

use super::scope::Scope;
use super::thrown::Thrown;
use super::value::Value;

/// Adds a part of the language to a context; negative when its heap has no space.
type AddPart = unsafe extern "C" fn(*mut q::JSContext) -> c_int;

/// What every context has. What k6 does not know is not among them: `WeakRef`, `atob`, `performance`.
const ALWAYS: [AddPart; 7] = [
    q::JS_AddIntrinsicBaseObjects,
    q::JS_AddIntrinsicDate,
    q::JS_AddIntrinsicEval,
    q::JS_AddIntrinsicRegExp,
    q::JS_AddIntrinsicJSON,
    q::JS_AddIntrinsicProxy,
    q::JS_AddIntrinsicPromise,
];

/// Where typed arrays are in [`NAMED`].
const TYPED_ARRAYS: usize = 1;

/// What contexts have whose script contains one of these words.
const NAMED: [(AddPart, &[&str]); 2] = [
    (q::JS_AddIntrinsicMapSet, &["Map", "Set"]),
    (
        q::JS_AddIntrinsicTypedArrays,
        &["ArrayBuffer", "8Array", "16Array", "32Array", "64Array", "ClampedArray", "DataView", "Atomics"],
    ),
];

/// Through these, QuickJS calls code of a script wherever an error is made, also where it compiles or frees something.
const CALLED_BY_ERRORS: [&CStr; 2] = [c"prepareStackTrace", c"stackTraceLimit"];

/// Code that names what it uses while it runs may use anything.
const ANYTHING: [&str; 3] = ["globalThis", "eval(", "Function("];

/// The parts of the language that a script needs beside those that it always has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Language {
    is_needed: [bool; NAMED.len()],
}

impl Language {
    pub(crate) const WHOLE: Language = Language { is_needed: [true; NAMED.len()] };

    /// What modules with these texts need.
    pub(crate) fn of_texts<'a>(texts: impl Iterator<Item = &'a str> + Clone) -> Language {
        let contains =
            |words: &[&str]| texts.clone().any(|text| words.iter().any(|word| text.contains(word)));
        match contains(&ANYTHING) {
            true => Language::WHOLE,
            false => Language { is_needed: NAMED.map(|(_, words)| contains(words)) },
        }
    }

    /// Whether typed arrays are among it.
    pub(super) fn has_typed_arrays(self) -> bool {
        self.is_needed[TYPED_ARRAYS]
    }

    /// Add it to a context that has nothing yet; false where the heap has no space for it.
    ///
    /// # Safety
    /// The context is alive, and was made without any part of the language.
    pub(super) unsafe fn add_to(self, context: *mut q::JSContext) -> bool {
        let named =
            NAMED.iter().zip(self.is_needed).filter(|(_, is_needed)| *is_needed).map(|((add, _), _)| *add);
        // SAFETY: as the caller says.
        unsafe {
            ALWAYS.into_iter().chain(named).all(|add| add(context) >= 0) && remove_calls_by_errors(context)
        }
    }
}

/// Take away what errors would call; false where the heap has no space for that.
///
/// # Safety
/// The context is alive, and no script ran in it.
unsafe fn remove_calls_by_errors(context: *mut q::JSContext) -> bool {
    // SAFETY: as of the function; each name ends with a zero.
    unsafe {
        let globals = q::JS_GetGlobalObject(context);
        let error = q::JS_GetPropertyStr(context, globals, c"Error".as_ptr());
        let is_removed = CALLED_BY_ERRORS.into_iter().all(|name| {
            let name = q::JS_NewAtom(context, name.as_ptr());
            let is_deleted = q::JS_DeleteProperty(context, error, name, 0) > 0;
            q::JS_FreeAtom(context, name);
            is_deleted
        });
        q::JS_FreeValue(context, error);
        q::JS_FreeValue(context, globals);
        is_removed
    }
}

impl Scope<'_> {
    /// Add typed arrays to a context that lacks them.
    ///
    /// # Errors
    /// That the script has replaced what they are made with: adding them would run its code.
    pub(crate) fn ensure_typed_arrays(self) -> Result<(), Thrown> {
        let has_typed_arrays = self.context_data().map(|data| &data.has_typed_arrays);
        match has_typed_arrays {
            Some(has) if has.get() => return Ok(()),
            Some(has) if self.can_add_typed_arrays()? => has.set(true),
            _ => {
                return Err(
                    self.throw_type_error("a script that replaces globals must name ArrayBuffer to have one")
                );
            }
        }
        // SAFETY: the context is alive and was made without typed arrays. That reads two properties which a script can reach;
        // both are such that nothing of the script runs.
        let added = self.runtime().without_limit(|| unsafe { q::JS_AddIntrinsicTypedArrays(self.raw()) });
        if added < 0 { Err(Thrown) } else { Ok(()) }
    }

    /// Whether `Array.prototype.toString` is as it was, no getter, and `Uint8Array` can be made a global.
    fn can_add_typed_arrays(self) -> Result<bool, Thrown> {
        // SAFETY: the context is alive; the prototype is that of an array that is made here, whatever the script has of it.
        let arrays = unsafe {
            let array = self.array();
            Value::result(self, q::JS_GetPrototype(self.raw(), array.raw()))?
        };
        let globals = self.globals();
        Ok(arrays.has_own_data("toString")? == Some(true)
            && globals.has_own_data("Uint8Array")?.is_none()
            && globals.is_extensible())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_has_what_it_names() {
        let of = |texts: &[&str]| Language::of_texts(texts.iter().copied()).is_needed;
        assert_eq!(of(&["export default function () { return [1].map(String); }"]), [false, false]);
        assert_eq!(of(&["", "new Map()"]), [true, false]);
        assert_eq!(of(&["new WeakSet()", "const bytes = new Uint8Array(3)"]), [true, true]);
        assert_eq!(of(&["new Uint8ClampedArray(1)"]), [false, true]);
        assert_eq!(of(&["globalThis[name]"]), [true, true]);
    }
}
