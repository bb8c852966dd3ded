//! Modules: of scripts, as bytecode that is compiled once, and native ones.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;

use rquickjs_sys as q;

use super::loaded::Loaded;
use super::promise::PromiseState;
use super::runtime::Runtime;
use super::scope::Scope;
use super::thrown::Thrown;
use super::value::{Value, c_string};

/// Where modules come from.
pub(crate) trait Loader {
    /// The full name of the module that `from` imports as `name`.
    ///
    /// # Errors
    /// Why there is none, for the message of an exception.
    fn resolve(&self, from: &str, name: &str) -> Result<String, String>;

    /// The module of this full name.
    ///
    /// # Errors
    /// Why it cannot be read, for the message of an exception.
    fn load(&self, name: &str) -> Result<ModuleSource, String>;

    /// What the CommonJS module of this full name exports. `wrapper` takes `module`, `exports` and `require`, and runs it.
    ///
    /// # Errors
    /// What it throws.
    fn run_commonjs<'js>(&self, name: &str, wrapper: Value<'js>) -> Result<Value<'js>, Thrown>;
}

/// A loader as it is attached to its runtime.
struct Attached(Box<dyn Loader>);

impl Runtime {
    /// Load modules through this loader.
    pub(crate) fn load_by(&self, loader: Box<dyn Loader>) {
        self.attach(Box::new(Attached(loader)));
        // SAFETY: the runtime is alive; the functions find it by the context that they are given.
        unsafe { q::JS_SetModuleLoaderFunc(self.raw(), Some(normalize), Some(load), ptr::null_mut()) }
    }

    fn loader(&self) -> Result<&dyn Loader, String> {
        let attached = self.attached().and_then(|attached| attached.downcast_ref::<Attached>());
        attached.map(|attached| &*attached.0).ok_or_else(|| "no modules can be loaded".to_owned())
    }
}

/// Makes what a native module exports.
pub(crate) type ModuleExports = for<'js> fn(Scope<'js>) -> Result<Value<'js>, Thrown>;

/// How a module exports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ModuleKind {
    /// By `export`.
    Standard,
    /// By `module.exports`.
    CommonJs,
}

/// A module that was compiled by this process: QuickJS does not verify the bytes.
#[derive(Clone)]
pub(crate) struct Bytecode {
    kind: ModuleKind,
    bytes: Arc<[u8]>,
}

/// What a module is made of.
#[derive(Clone)]
pub(crate) enum ModuleSource {
    Text(Rc<str>),
    /// What [`Scope::compile`] made of one.
    Bytecode(Bytecode),
    /// Properties of an object, and the object itself as `default` where it has no property of that name.
    Native(ModuleExports),
}

impl<'js> Scope<'js> {
    /// The bytecode of a module, which contexts of any runtime can load.
    ///
    /// # Errors
    /// A `SyntaxError`.
    pub(crate) fn compile(self, name: &str, text: &str) -> Result<Bytecode, Thrown> {
        let (kind, module) = self.compiled(name, text)?;
        let mut size = 0;
        // SAFETY: the context and the module are alive; the bytes are copied within their length, then freed.
        unsafe {
            let flags = q::JS_WRITE_OBJ_BYTECODE as c_int;
            let write = || q::JS_WriteObject(self.raw(), &raw mut size, module.raw(), flags);
            let bytes = self.runtime().without_limit(write);
            if bytes.is_null() {
                return Err(Thrown);
            }
            let copy = std::slice::from_raw_parts(bytes, size as usize).into();
            q::js_free(self.raw(), bytes.cast());
            Ok(Bytecode { kind, bytes: copy })
        }
    }

    /// Load a module and those that it imports, and run them as far as they run without waiting.
    ///
    /// # Errors
    /// What they throw.
    pub(crate) fn import(self, name: &str) -> Result<Value<'js>, Thrown> {
        let source =
            self.runtime().loader().and_then(|loader| loader.load(name)).map_err(|why| self.throw(&why))?;
        let (kind, module) = self.made(name, source)?;
        if kind == ModuleKind::CommonJs {
            let exports = self.run_commonjs(name, module)?;
            while self.run_job()? {}
            return Ok(exports);
        }
        let definition = self.resolved(name, &module)?;
        // SAFETY: the context is alive, the value a module, which is evaluated once and lives as long as its context.
        unsafe {
            let promise = Value::result(self, q::JS_EvalFunction(self.raw(), module.clone().into_raw()))?;
            while self.run_job()? {}
            if let PromiseState::Rejected(reason) = promise.promise_state() {
                return Err(self.throw_value(reason));
            }
            Value::result(self, q::JS_GetModuleNamespace(self.raw(), definition))
        }
    }

    /// What the module of this full name exports to `require`.
    ///
    /// # Errors
    /// What it throws, or that it waits for something.
    pub(crate) fn required(self, name: &str) -> Result<Value<'js>, Thrown> {
        let source =
            self.runtime().loader().and_then(|loader| loader.load(name)).map_err(|why| self.throw(&why))?;
        if !matches!(source, ModuleSource::Native(_)) {
            let (kind, module) = self.made(name, source)?;
            if kind == ModuleKind::CommonJs {
                return self.run_commonjs(name, module);
            }
            self.resolved(name, &module)?;
        }
        let name = c_string(name);
        // SAFETY: the context is alive; both names end with a zero.
        let promise = unsafe { q::JS_LoadModule(self.raw(), c"".as_ptr(), name.as_ptr()) };
        let promise = Value::result(self, promise)?;
        while self.run_job()? {}
        match promise.promise_state() {
            PromiseState::Fulfilled(namespace) => Ok(namespace),
            PromiseState::Rejected(reason) => Err(self.throw_value(reason)),
            PromiseState::Pending | PromiseState::NoPromise => {
                Err(self.throw("require() is for modules that are evaluated without waiting"))
            }
        }
    }

    fn run_commonjs(self, name: &str, program: Value<'js>) -> Result<Value<'js>, Thrown> {
        // SAFETY: the context is alive, the value a compiled script, whose reference the call takes.
        let wrapper = Value::result(self, unsafe { q::JS_EvalFunction(self.raw(), program.into_raw()) })?;
        self.runtime().loader().map_err(|why| self.throw(&why))?.run_commonjs(name, wrapper)
    }

    fn compiled(self, name: &str, text: &str) -> Result<(ModuleKind, Value<'js>), Thrown> {
        // Statements of standard modules are syntax errors in a function. What exports nothing in the way of CommonJS need
        // not be tried.
        if ["module", "exports", "require"].iter().any(|word| text.contains(word)) {
            let wrapped = format!("(function (module, exports, require) {{{text}\n}})");
            match self.compiled_as(name, &wrapped, q::JS_EVAL_TYPE_GLOBAL) {
                Ok(script) => return Ok((ModuleKind::CommonJs, script)),
                Err(Thrown) if self.runtime().limit().has_exceeded() => return Err(Thrown),
                Err(Thrown) => drop(self.take_thrown()),
            }
        }
        let compile = || self.compiled_as(name, text, q::JS_EVAL_TYPE_MODULE);
        Ok((ModuleKind::Standard, self.loaded()?.compile(name, compile)?))
    }

    fn compiled_as(self, name: &str, text: &str, kind: u32) -> Result<Value<'js>, Thrown> {
        let (name, text) = (c_string(name), c_string(text));
        let flags = (kind | q::JS_EVAL_FLAG_COMPILE_ONLY) as c_int;
        // SAFETY: both end with a zero, and the length is without it.
        let compiled = unsafe {
            let length = text.as_bytes().len() as _;
            q::JS_Eval(self.raw(), text.as_ptr(), length, name.as_ptr(), flags)
        };
        Value::result(self, compiled)
    }

    /// A module that was made, with all that it imports. From now on it lives as long as its context.
    fn resolved(self, name: &str, module: &Value<'js>) -> Result<*mut q::JSModuleDef, Thrown> {
        let loaded = self.loaded()?;
        // SAFETY: the context is alive, and the value a module that nothing has freed since it was made.
        unsafe {
            let definition = q::JS_VALUE_GET_PTR(module.raw()).cast();
            let failed = q::JS_ResolveModule(self.raw(), module.raw()) < 0;
            loaded.add(definition);
            if failed {
                loaded.break_off(name);
                return Err(Thrown);
            }
            self.set_meta(definition)?;
            Ok(definition)
        }
    }

    /// What the context has loaded.
    fn loaded(self) -> Result<&'js Loaded, Thrown> {
        let data = self.context_data().ok_or_else(|| self.throw("the context of this code is gone"))?;
        Ok(&data.loaded)
    }

    fn made(self, name: &str, source: ModuleSource) -> Result<(ModuleKind, Value<'js>), Thrown> {
        match source {
            ModuleSource::Text(text) => self.compiled(name, &text),
            // SAFETY: only `compile` makes `Bytecode`, with this library in this process.
            ModuleSource::Bytecode(Bytecode { kind, bytes }) => Value::result(self, unsafe {
                let flags = q::JS_READ_OBJ_BYTECODE as c_int;
                q::JS_ReadObject(self.raw(), bytes.as_ptr(), bytes.len() as _, flags)
            })
            .map(|module| (kind, module)),
            ModuleSource::Native(_) => Err(self.throw(&format!("`{name}` is not a script"))),
        }
    }

    /// The module of this full name, for the one that imports it.
    fn load(self, name: &str) -> Result<*mut q::JSModuleDef, Thrown> {
        let found = self.runtime().loader().and_then(|loader| loader.load(name));
        let module = match found.map_err(|why| self.throw(&why))? {
            ModuleSource::Native(exports) => {
                let module = self.module_of(name, exports(self)?)?;
                self.loaded()?.add(module);
                return Ok(module);
            }
            source => match self.made(name, source)? {
                // SAFETY: the value is a module. A module belongs to its context, which does not count the reference that is
                // dropped here; what is returned is resolved at once, before anything could free what is not.
                (ModuleKind::Standard, module) => unsafe { q::JS_VALUE_GET_PTR(module.raw()).cast() },
                (ModuleKind::CommonJs, module) => {
                    let exports = self.run_commonjs(name, module)?;
                    self.module_of(name, as_standard(&exports)?)?
                }
            },
        };
        self.loaded()?.add(module);
        self.set_meta(module)?;
        Ok(module)
    }

    /// Give a module its `import.meta.resolve`, which finds the module by the place of the call.
    fn set_meta(self, module: *mut q::JSModuleDef) -> Result<(), Thrown> {
        // SAFETY: the context is alive, and the module was made in it.
        let meta = Value::result(self, unsafe { q::JS_GetImportMeta(self.raw(), module) })?;
        let resolve = self.function("resolve", 1, |call| {
            let scope = call.scope();
            let (from, name) =
                (scope.caller_file().unwrap_or_default(), call.argument(0).text()?.to_string());
            let full = scope.runtime().loader().and_then(|loader| loader.resolve(&from, &name));
            let full = full.map_err(|why| scope.throw(&why))?;
            let is_path = full.starts_with('/');
            Ok(scope.string(&if is_path { format!("file://{full}") } else { full }))
        });
        meta.set("resolve", &resolve)
    }

    /// A module that has the properties of an object, and the object as `default` where it has no property of that name.
    fn module_of(self, name: &str, exports: Value<'js>) -> Result<*mut q::JSModuleDef, Thrown> {
        let mut names = exports.keys()?;
        if !names.iter().any(|name| name == "default") {
            names.push("default".to_owned());
        }
        let name = c_string(name);
        // SAFETY: the context is alive and takes the exports; each name ends with a zero and is copied.
        let make = || unsafe {
            let module = q::JS_NewCModule(self.raw(), name.as_ptr(), Some(initialise));
            if module.is_null() {
                return Err(Thrown);
            }
            for name in &names {
                q::JS_AddModuleExport(self.raw(), module, c_string(name).as_ptr());
            }
            q::JS_SetModulePrivateValue(self.raw(), module, exports.into_raw());
            Ok(module)
        };
        self.runtime().without_limit(make)
    }
}

/// The exports of a CommonJS module as those of a standard one: `default` is all of them, unless the module was a standard one
/// before it was compiled.
fn as_standard<'js>(exports: &Value<'js>) -> Result<Value<'js>, Thrown> {
    let view = exports.scope().object();
    let names = if exports.is_object() { exports.keys()? } else { Vec::new() };
    for name in names {
        view.set(&name, &exports.get(&name)?)?;
    }
    if !(exports.is_object() && exports.get("__esModule")?.is_truthy()) {
        view.set("default", exports)?;
    }
    Ok(view)
}

/// Gives a native module its exports.
unsafe extern "C" fn initialise(context: *mut q::JSContext, module: *mut q::JSModuleDef) -> c_int {
    // SAFETY: QuickJS calls it for a module that `module_of` made, in a context that is alive.
    unsafe {
        let scope = Scope::of(context);
        let exports = Value::owned(scope, q::JS_GetModulePrivateValue(context, module));
        let set = |name: &str, value: Value<'_>| {
            q::JS_SetModuleExport(context, module, c_string(name).as_ptr(), value.into_raw())
        };
        let names = match exports.keys() {
            Ok(names) => names,
            Err(Thrown) => return -1,
        };
        if !names.iter().any(|name| name == "default") {
            set("default", exports.clone());
        }
        for name in names {
            match exports.get(&name) {
                Ok(value) => set(&name, value),
                Err(Thrown) => return -1,
            };
        }
    }
    0
}

pub(super) unsafe extern "C" fn normalize(
    context: *mut q::JSContext,
    from: *const c_char,
    name: *const c_char,
    _: *mut c_void,
) -> *mut c_char {
    // SAFETY: QuickJS calls it with strings that end with a zero, in a context that is alive;
    // what is returned was allocated as it asks.
    unsafe {
        let runtime = Runtime::of(context);
        let [from, name] = [from, name].map(|text| CStr::from_ptr(text).to_string_lossy());
        runtime.limit().applied(|| {
            let scope = Scope::of(context);
            let full = runtime.loader().and_then(|loader| loader.resolve(&from, &name));
            let full = full.map_err(|why| scope.throw(&why)).and_then(|full| {
                scope.loaded()?.import(&from, &full).map_err(|why| scope.throw(&why))?;
                Ok(full)
            });
            full.map_or(ptr::null_mut(), |full| q::js_strdup(context, c_string(&full).as_ptr()))
        })
    }
}

pub(super) unsafe extern "C" fn load(
    context: *mut q::JSContext,
    name: *const c_char,
    _: *mut c_void,
) -> *mut q::JSModuleDef {
    // SAFETY: as of `normalize`.
    unsafe {
        let name = CStr::from_ptr(name).to_string_lossy();
        let scope = Scope::of(context);
        let module = scope.runtime().limit().applied(|| scope.load(&name));
        module.unwrap_or(ptr::null_mut())
    }
}
