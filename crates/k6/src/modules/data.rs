//! `k6/data`: data that all virtual users share.

use crate::js::{Call, Scope, Thrown, Value};
use crate::modules::defining::add;
use crate::vu::{Stage, Vu};

/// An array that is read one element at a time, each parsed when it is read.
const SHARED_ARRAY: &str = "(make, length, element) => class SharedArray {
  constructor(name, build) {
    make(name, build);
    const wrong = () => { throw new TypeError('SharedArray is immutable'); };
    const at = (key) => typeof key === 'string' && /^(0|[1-9][0-9]*)$/.test(key) && Number(key) < length(name);
    return new Proxy([], {
      get: (target, key, receiver) => key === 'length' ? length(name)
        : at(key) ? element(name, Number(key)) : Reflect.get(target, key, receiver),
      has: (target, key) => at(key) || key in target,
      ownKeys: () => [...Array(length(name)).keys()].map(String).concat('length'),
      getOwnPropertyDescriptor: (target, key) => at(key)
        ? { value: element(name, Number(key)), enumerable: true, configurable: true, writable: false }
        : Reflect.getOwnPropertyDescriptor(target, key),
      set: wrong, deleteProperty: wrong, defineProperty: wrong,
    });
  }
}";

pub(super) fn exports(scope: Scope<'_>) -> Result<Value<'_>, Thrown> {
    let functions = scope.object();
    add(&functions, "make", 2, make)?;
    add(&functions, "length", 1, length)?;
    add(&functions, "element", 2, element)?;
    let class = scope.run(SHARED_ARRAY, "k6/data")?;
    let arguments = [functions.get("make")?, functions.get("length")?, functions.get("element")?];
    let exports = scope.object();
    exports.set("SharedArray", &class.call(&scope.undefined(), &arguments)?)?;
    Ok(exports)
}

fn make<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    let vu = Vu::of(scope);
    if vu.stage.get() != Stage::Init {
        return Err(scope.throw("new SharedArray must be called in the init context"));
    }
    let name = call.argument(0).text()?.to_string();
    if name.is_empty() {
        return Err(scope.throw("empty name provided to SharedArray's constructor"));
    }
    let sources = vu.shared.script.sources();
    if sources.shared_array(&name).is_some() {
        return Ok(scope.undefined());
    }
    let build = call.argument(1);
    if !build.is_function() {
        return Err(scope.throw("a function is expected as the second argument of SharedArray's constructor"));
    }
    let array = build.call(&scope.undefined(), &[])?;
    if !array.is_array() {
        return Err(scope.throw("only arrays can be made into SharedArray"));
    }
    let mut elements = Vec::new();
    for index in 0..array.length()? {
        elements.push(array.at(index)?.json()?.unwrap_or_else(|| "null".to_owned()));
    }
    sources.set_shared_array(&name, elements);
    Ok(scope.undefined())
}

fn length<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let name = call.argument(0).text()?;
    let array = Vu::of(call.scope()).shared.script.sources().shared_array(&name);
    Ok(call.scope().number(array.map_or(0, |array| array.len()) as f64))
}

fn element<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    let name = call.argument(0).text()?;
    let index = call.argument(1).as_number()? as usize;
    let array = Vu::of(scope).shared.script.sources().shared_array(&name);
    match array.as_ref().and_then(|array| array.get(index)) {
        Some(json) => {
            let element = scope.parse_json(json, "SharedArray")?;
            element.freeze()?;
            Ok(element)
        }
        None => Ok(scope.undefined()),
    }
}
