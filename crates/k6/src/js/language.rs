//! Which parts of the language the contexts of a script have. Typed arrays and collections are a third of an empty context, and
//! few scripts name them.

use std::ffi::c_int;

use rquickjs_sys as q;

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

/// What contexts have whose script contains one of these words.
const NAMED: [(AddPart, &[&str]); 2] = [
    (q::JS_AddIntrinsicMapSet, &["Map", "Set"]),
    (
        q::JS_AddIntrinsicTypedArrays,
        &["ArrayBuffer", "8Array", "16Array", "32Array", "64Array", "ClampedArray", "DataView", "Atomics"],
    ),
];

/// Code that names what it uses while it runs may use anything.
const ANYTHING: [&str; 3] = ["globalThis", "eval(", "Function("];

/// The parts of the language that a script needs beside those that it always has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Language {
    is_needed: [bool; NAMED.len()],
}

impl Language {
    /// All of it.
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

    /// Add it to a context that has nothing yet; false where the heap has no space for it.
    ///
    /// # Safety
    /// The context is alive, and was made without any part of the language.
    pub(super) unsafe fn add_to(self, context: *mut q::JSContext) -> bool {
        let named =
            NAMED.iter().zip(self.is_needed).filter(|(_, is_needed)| *is_needed).map(|((add, _), _)| *add);
        // SAFETY: as the caller says.
        ALWAYS.into_iter().chain(named).all(|add| unsafe { add(context) } >= 0)
    }
}

/// Add typed arrays to a context that lacks them.
///
/// # Safety
/// The context is alive.
pub(super) unsafe fn ensure_typed_arrays(context: *mut q::JSContext) {
    // SAFETY: as the caller says; the name ends with a null, and the value is released.
    unsafe {
        let globals = q::JS_GetGlobalObject(context);
        let known = q::JS_GetPropertyStr(context, globals, c"ArrayBuffer".as_ptr());
        if q::JS_IsUndefined(known) {
            q::JS_AddIntrinsicTypedArrays(context);
        }
        q::JS_FreeValue(context, known);
        q::JS_FreeValue(context, globals);
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
