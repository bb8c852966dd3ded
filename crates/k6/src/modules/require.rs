//! `require()`: CommonJS modules, each run once by each virtual user.

use crate::js::{Call, Scope, Thrown, Value};
use crate::modules::defining::add;
use crate::vu::{Stage, Vu};

pub(super) fn set(scope: Scope<'_>) -> Result<(), Thrown> {
    add(&scope.globals(), "require", 1, require)
}

fn require<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    let vu = Vu::of(scope);
    if vu.stage.get() != Stage::Init {
        return Err(scope
            .throw("the \"require\" function is only available in the init stage (i.e. the global scope)"));
    }
    let name = call.argument(0).text()?.to_string();
    if name.is_empty() {
        return Err(scope.throw("require() can't be used with an empty specifier"));
    }
    let script = &vu.shared.script;
    let from = scope.caller_file().unwrap_or_else(|| script.main().to_owned());
    let full = script.full_name(&from, &name).map_err(|why| scope.throw(&why))?;
    if let Some(exports) = exports_so_far(scope, &full)? {
        return Ok(exports);
    }
    let exports = scope.required(&full)?;
    // The functions of a native module are properties of its default export.
    if full == "k6" || full.starts_with("k6/") { exports.get("default") } else { Ok(exports) }
}

/// What a module exports that was required before; within a circle it may have more to come.
fn exports_so_far<'js>(scope: Scope<'js>, full: &str) -> Result<Option<Value<'js>>, Thrown> {
    // Not borrowed while it is read: a getter may require further modules.
    let module = Vu::of(scope).commonjs.borrow().get(full).map(|module| scope.kept(module));
    module.map(|module| module.get("exports")).transpose()
}

/// Run a module, unless that was done before, and return what it exports.
pub(crate) fn run_commonjs<'js>(name: &str, wrapper: &Value<'js>) -> Result<Value<'js>, Thrown> {
    let scope = wrapper.scope();
    if let Some(exports) = exports_so_far(scope, name)? {
        return Ok(exports);
    }
    let (module, exports) = (scope.object(), scope.object());
    module.set("exports", &exports)?;
    Vu::of(scope).commonjs.borrow_mut().insert(name.to_owned(), module.keep());
    let require = scope.globals().get("require")?;
    wrapper.call(&exports, &[module.clone(), exports.clone(), require])?;
    module.get("exports")
}
