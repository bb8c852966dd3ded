//! What the modules give scripts. Values are those that k6 gives.

mod commonjs;
mod crypto;
mod execution;
mod globals;
mod heaps;
mod library;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use workload::{Files, FilesInMemory};

use crate::loading::ScriptSource;
use crate::script::{LogSink, Script, ScriptError};
use crate::sources::ImportCache;

/// `show(f)` logs what `f` returns, as JSON or as bytes; or `!` and what it throws.
const SHOW: &str = "
const show = (f) => {
    try {
        const value = f();
        if (value instanceof ArrayBuffer) { console.log(`bytes ${[...new Uint8Array(value)]}`); }
        else { console.log(value === undefined ? 'undefined' : JSON.stringify(value)); }
    } catch (error) { console.log(`!${error}`); }
};
";

/// What a script has logged.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Lines {
    fn sink(&self) -> LogSink {
        let lines = self.clone();
        Arc::new(move |line| lines.0.lock().unwrap_or_else(PoisonError::into_inner).push(line.text))
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Load a script; [`SHOW`] is between its imports and the rest.
fn load(imports: &str, script: &str, lines: &Lines) -> Result<Script, ScriptError> {
    let files: Arc<dyn Files + Send + Sync> =
        Arc::new(FilesInMemory::one("test.js", format!("{imports}\n{SHOW}\n{script}")));
    let source = ScriptSource {
        path: PathBuf::from("test.js"),
        files: files.clone(),
        files_under: None,
        remote: Some(Arc::new(ImportCache {
            folder: PathBuf::from("/cache"),
            lock: None,
            files: files.clone(),
        })),
        env: BTreeMap::new(),
        withheld_env: Vec::new(),
        shared_arrays: BTreeMap::new(),
    };
    Script::load(source, lines.sink())
}

/// What a script logs when it is loaded.
fn shown(imports: &str, script: &str) -> Vec<String> {
    let lines = Lines::default();
    let script = format!("{script}\nexport default function () {{}}");
    if let Err(error) = load(imports, &script, &lines) {
        panic!("{error}");
    }
    lines.take()
}

/// The calls of `show` with these expressions.
fn calls(cases: &[(&str, &str)]) -> String {
    cases.iter().map(|(expression, _)| format!("show(() => {expression});\n")).collect()
}

/// Compare what was shown of each expression.
fn compare(cases: &[(&str, &str)], shown: &[String]) {
    let given: Vec<(&str, &str)> =
        cases.iter().map(|case| case.0).zip(shown.iter().map(String::as_str)).collect();
    assert_eq!(given, cases);
    assert_eq!(shown.len(), cases.len());
}

/// Compare what each expression gives when a script is loaded, in the form of [`SHOW`].
fn expect(imports: &str, cases: &[(&str, &str)]) {
    compare(cases, &shown(imports, &calls(cases)));
}
