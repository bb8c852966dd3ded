//! `TextEncoder` and `TextDecoder`, which k6 has since 2.2. They are made when a script first reads one of them: few do.

use crate::js::{Call, Scope, Thrown, Value};
use crate::modules::defining::add;

/// Both classes, of a text as bytes and of bytes as text.
const CLASSES: &str = "(bytesOf, textOf) => {
    class TextEncoder {
        get encoding() { return 'utf-8'; }
        encode(text = '') { return new Uint8Array(bytesOf(String(text))); }
        encodeInto(text, into) {
            let [read, written] = [0, 0];
            for (const character of String(text)) {
                const bytes = this.encode(character);
                if (written + bytes.length > into.length) { break; }
                into.set(bytes, written);
                read += character.length;
                written += bytes.length;
            }
            return { read, written };
        }
    }
    class TextDecoder {
        constructor(label = 'utf-8', { fatal = false, ignoreBOM = false } = {}) {
            if (!['utf-8', 'utf8', 'unicode-1-1-utf-8'].includes(String(label).trim().toLowerCase())) {
                throw new RangeError(`the encoding \"${label}\" is not supported: only utf-8 is`);
            }
            Object.assign(this, { encoding: 'utf-8', fatal: Boolean(fatal), ignoreBOM: Boolean(ignoreBOM) });
        }
        decode(bytes, { stream = false } = {}) {
            if (stream) { throw new TypeError('decode() with stream is not supported'); }
            const text = bytes === undefined ? '' : textOf(bytes, this.fatal);
            return this.ignoreBOM || text[0] !== '\\ufeff' ? text : text.slice(1);
        }
    }
    return { TextEncoder, TextDecoder };
}";

/// Set what the globals are made by.
pub(super) fn set(scope: Scope<'_>) -> Result<(), Thrown> {
    let globals = scope.globals();
    let encoder = scope.function("TextEncoder", 0, |call| made(call, "TextEncoder"));
    let decoder = scope.function("TextDecoder", 0, |call| made(call, "TextDecoder"));
    for (name, getter) in [("TextEncoder", encoder), ("TextDecoder", decoder)] {
        globals.set_accessors(name, getter, scope.undefined())?;
    }
    Ok(())
}

/// Make both classes, which replace what has made them.
fn made<'js>(call: &Call<'js, '_>, asked: &str) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    let functions = scope.object();
    add(&functions, "bytesOf", 1, |call| Ok(call.scope().array_buffer(call.argument(0).text()?.as_bytes())))?;
    add(&functions, "textOf", 2, text_of)?;
    let classes = scope.run(CLASSES, "TextEncoder")?;
    let classes = classes.call(&scope.undefined(), &[functions.get("bytesOf")?, functions.get("textOf")?])?;
    let define = scope.run(
        "(globals, classes) => { for (const [name, value] of Object.entries(classes)) {
            Object.defineProperty(globals, name, { value, writable: true, enumerable: false, configurable: true }); } }",
        "TextEncoder",
    )?;
    define.call(&scope.undefined(), &[scope.globals(), classes.clone()])?;
    classes.get(asked)
}

/// `textOf(bytes, fatal)`
fn text_of<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    let Some(bytes) = call.argument(0).bytes() else {
        return Err(scope.throw_type_error("decode() takes an ArrayBuffer or a typed array"));
    };
    if call.argument(1).is_truthy() && str::from_utf8(&bytes).is_err() {
        return Err(scope.throw_type_error("the bytes are not valid UTF-8"));
    }
    Ok(scope.string_of(&bytes))
}
