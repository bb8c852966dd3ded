//! Modules that a context has loaded, and two things that QuickJS does not do with them.
//!
//! It frees the modules of a context that goes, whatever still refers to one: functions that wait for a promise at its top level
//! do. And it frees a module of which an import cannot be loaded, but not the others that were loaded for it and import it in turn.

use std::cell::RefCell;
use std::collections::BTreeSet;

use rquickjs_sys as q;

/// What a context has loaded.
#[derive(Default)]
pub(super) struct Loaded {
    /// Each is alive as long as the context: it was resolved.
    modules: RefCell<Vec<*mut q::JSModuleDef>>,
    /// Names of the modules that are being compiled, and so resolved, the innermost last.
    compiling: RefCell<Vec<String>>,
    /// Which of them imports which.
    imports: RefCell<Vec<(String, String)>>,
    /// Modules that import one which was freed.
    broken: RefCell<BTreeSet<String>>,
}

impl Loaded {
    /// Note a module that is resolved now.
    pub(super) fn add(&self, module: *mut q::JSModuleDef) {
        self.modules.borrow_mut().push(module);
    }

    /// Whether something refers to a module beside its context.
    ///
    /// # Safety
    /// The context is alive.
    pub(super) unsafe fn is_referred_to(&self) -> bool {
        // SAFETY: as of the function: its modules are alive too.
        self.modules.borrow().iter().any(|module| unsafe { references(*module) } > 1)
    }

    /// Note that a module imports another one, if that happens while it is compiled.
    ///
    /// # Errors
    /// That the other one cannot be used.
    pub(super) fn import(&self, from: &str, name: &str) -> Result<(), String> {
        if self.broken.borrow().contains(name) {
            return Err(format!("`{name}` imports a module that cannot be loaded"));
        }
        if self.compiling.borrow().last().is_some_and(|compiling| compiling == from) {
            self.imports.borrow_mut().push((from.to_owned(), name.to_owned()));
        }
        Ok(())
    }

    /// Note that a module cannot be used: not all that it imports was found.
    pub(super) fn break_off(&self, name: &str) {
        self.broken.borrow_mut().insert(name.to_owned());
    }

    /// Compile a module, which also loads what it imports.
    pub(super) fn compile<T, E>(&self, name: &str, then: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        self.compiling.borrow_mut().push(name.to_owned());
        let compiled = then();
        self.compiling.borrow_mut().pop();
        if compiled.is_err() {
            self.was_freed(name);
        }
        compiled
    }

    /// What imports this module, or imports what imports it, cannot be used; it itself can be loaded again, unless an earlier one
    /// of this name cannot be used, which QuickJS would find first.
    fn was_freed(&self, name: &str) {
        let broken = &mut *self.broken.borrow_mut();
        let is_earlier_one_broken = broken.contains(name);
        let imports = self.imports.borrow();
        let mut found = vec![name];
        while let Some(freed) = found.pop() {
            let importers = imports.iter().filter(|(_, imported)| imported == freed).map(|(from, _)| from);
            found.extend(importers.filter(|from| broken.insert((*from).clone())).map(String::as_str));
        }
        if !is_earlier_one_broken {
            broken.remove(name);
        }
    }
}

/// The references of a module: QuickJS counts them in front of it.
///
/// # Safety
/// The module is alive.
unsafe fn references(module: *mut q::JSModuleDef) -> i32 {
    // SAFETY: as of the function; `is_counted_in_front` has seen where the count is.
    unsafe { *module.cast::<i32>().sub(1) }
}

/// Whether the references of a module, a value of this context, are counted where [`references`] reads them.
///
/// # Safety
/// Context and value are alive.
pub(super) unsafe fn is_counted_in_front(context: *mut q::JSContext, module: q::JSValue) -> bool {
    // SAFETY: as of the function: what is in front of a module belongs to its allocation.
    unsafe {
        let definition = q::JS_VALUE_GET_PTR(module).cast();
        let before = references(definition);
        let more = q::JS_DupValue(context, module);
        let with_more = references(definition);
        q::JS_FreeValue(context, more);
        (before, with_more, references(definition)) == (2, 3, 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `x` imports `y`, which imports `x`, and then something that cannot be loaded.
    fn with_broken_import() -> Loaded {
        let loaded = Loaded::default();
        let failed: Result<(), String> = loaded.compile("x", || {
            loaded.import("x", "y")?;
            loaded.compile("y", || loaded.import("y", "x"))?;
            Err("there is no `z`".to_owned())
        });
        assert!(failed.is_err());
        loaded
    }

    #[test]
    fn what_imports_a_freed_module_cannot_be_used_and_the_module_can_be_loaded_again() {
        let loaded = with_broken_import();
        assert!(loaded.import("", "y").is_err() && loaded.import("", "x").is_ok());
    }

    #[test]
    fn a_second_attempt_that_fails_does_not_make_the_first_module_usable() {
        let loaded = with_broken_import();
        let second: Result<(), String> = loaded.compile("y", || Err("`x` cannot be loaded".to_owned()));
        assert!(second.is_err() && loaded.import("", "y").is_err());
    }
}
