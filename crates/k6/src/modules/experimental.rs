//! `k6/experimental/fs` and `k6/experimental/csv`: files that are opened while a script is evaluated and read in parts, and their records.

mod records;

use std::cell::RefCell;
use std::ffi::CStr;
use std::rc::Rc;
use std::sync::Arc;

use crate::js::{Call, Scope, Shared, Thrown, Value};
use crate::modules::data;
use crate::modules::defining::add;
use crate::vu::{Stage, Vu};
pub(crate) use records::Records;

/// What scripts get of files and of records.
const FILES: &str = include_str!("experimental/files.js");
const CSV: &str = include_str!("experimental/csv.js");

/// A file that is read.
struct OpenFile {
    bytes: Arc<[u8]>,
}

impl Shared for OpenFile {
    const CLASS: &'static CStr = c"OpenFile";
}

/// The records of a file that were not read yet.
struct OpenRecords(RefCell<Records>);

impl Shared for OpenRecords {
    const CLASS: &'static CStr = c"OpenRecords";
}

/// `k6/experimental/fs`
pub(super) fn files(scope: Scope<'_>) -> Result<Value<'_>, Thrown> {
    let library = library(scope)?;
    let exports = scope.object();
    for name in ["open", "SeekMode"] {
        exports.set(name, &library.get(name)?)?;
    }
    Ok(exports)
}

/// `k6/experimental/csv`
pub(super) fn csv(scope: Scope<'_>) -> Result<Value<'_>, Thrown> {
    let functions = scope.object();
    add(&functions, "records", 2, |call| {
        let scope = call.scope();
        let file = file(&call.argument(0))?;
        let delimiter = call.argument(1).text()?.as_bytes().first().copied().unwrap_or(b',');
        scope.hold(Rc::new(OpenRecords(RefCell::new(Records::new(file.bytes.clone(), delimiter)))))
    })?;
    add(&functions, "next", 1, next_record)?;
    add(&functions, "isInit", 0, is_init)?;
    functions.set("SharedArray", &data::exports(scope)?.get("SharedArray")?)?;
    scope.run(CSV, "k6/experimental/csv")?.call(&scope.undefined(), &[functions, library(scope)?])
}

/// The class of files and what belongs to it, made once in a context.
fn library(scope: Scope<'_>) -> Result<Value<'_>, Thrown> {
    let known = scope.class_prototype::<OpenFile>()?;
    if known.is_object() {
        return Ok(known);
    }
    let functions = scope.object();
    add(&functions, "open", 1, open)?;
    add(&functions, "size", 1, |call| Ok(call.scope().number(file(&call.argument(0))?.bytes.len() as f64)))?;
    add(&functions, "part", 3, |call| {
        let file = file(&call.argument(0))?;
        let place = |index| call.argument(index).as_number().map(|at| (at as usize).min(file.bytes.len()));
        let (from, to) = (place(1)?, place(2)?);
        Ok(call.scope().array_buffer(file.bytes.get(from..to).unwrap_or_default()))
    })?;
    add(&functions, "isInit", 0, is_init)?;
    let library = scope.run(FILES, "k6/experimental/fs")?.call(&scope.undefined(), &[functions])?;
    scope.set_class_prototype::<OpenFile>(library.clone())?;
    Ok(library)
}

fn file(held: &Value<'_>) -> Result<Rc<OpenFile>, Thrown> {
    held.held().ok_or_else(|| held.scope().throw_type_error("not a file"))
}

fn is_init<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    Ok(call.scope().boolean(Vu::of(call.scope()).stage.get() == Stage::Init))
}

/// `open(path)`: a file beside the script that is run, as in k6, not beside the module that calls it.
fn open<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    let script = &Vu::of(scope).shared.script;
    let path = call.argument(0).text()?.to_string();
    let path = path.strip_prefix("file://").unwrap_or(&path);
    let bytes = script.sources().open(script.main(), path).map_err(|why| scope.throw(&why))?;
    scope.hold(Rc::new(OpenFile { bytes }))
}

/// `next(records)`: the next one; `undefined` at the end.
fn next_record<'js>(call: &Call<'js, '_>) -> Result<Value<'js>, Thrown> {
    let scope = call.scope();
    let held: Option<Rc<OpenRecords>> = call.argument(0).held();
    let Some(records) = held else { return Err(scope.throw_type_error("not records")) };
    let record = records.0.borrow_mut().next_record().map_err(|error| scope.throw(&error.to_string()))?;
    let Some(record) = record else { return Ok(scope.undefined()) };
    let fields = scope.array();
    for (index, field) in (0..).zip(record) {
        fields.put(index, scope.string_of(&field))?;
    }
    Ok(fields)
}
