//! CommonJS modules. What is expected was recorded from k6.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use workload::{Files, FilesInMemory};

use super::Lines;
use crate::loading::ScriptSource;
use crate::script::{Script, ScriptError};
use crate::sources::ImportCache;

/// Load the first of these files, and return it with what it logs.
pub(super) fn load(files: &[(&'static str, &'static str)]) -> (Result<Script, ScriptError>, Vec<String>) {
    let lines = Lines::default();
    let paths = |(name, text): &(&str, &'static str)| {
        [(format!("/t/{name}"), *text), (format!("/cache/{name}"), *text)]
    };
    let read: Arc<dyn Files + Send + Sync> =
        Arc::new(files.iter().flat_map(paths).collect::<FilesInMemory>());
    let source = ScriptSource {
        path: PathBuf::from("/t").join(files[0].0),
        files: read.clone(),
        files_under: None,
        remote: Some(Arc::new(ImportCache {
            folder: PathBuf::from("/cache"),
            lock: None,
            files: read.clone(),
        })),
        env: BTreeMap::new(),
        withheld_env: Vec::new(),
        shared_arrays: BTreeMap::new(),
    };
    (Script::load(source, lines.sink()), lines.take())
}

const LIBRARIES: [(&str, &str); 5] = [
    (
        "cjs.js",
        "const b = require('./cyc.js'); exports.named = 'n'; module.exports.other = b.x; exports.late = () => 1;",
    ),
    (
        "cyc.js",
        "const c = require('./cjs.js'); exports.x = 'x' + typeof c.named; exports.seen = () => c.named;",
    ),
    ("fn.js", "module.exports = function (x) { return x * 2; };"),
    ("esm.js", "export default function () {} export const e = 1;"),
    (
        "sub/x.js",
        "const double = require('../fn.js'); module.exports = { four: double(2), text: open('./t.txt') };",
    ),
];

/// What a main module logs beside the libraries.
fn logged(main: (&'static str, &'static str)) -> Vec<String> {
    let files = [&[main, ("sub/t.txt", "tt")][..], &LIBRARIES].concat();
    let (script, lines) = load(&files);
    script.unwrap();
    lines
}

#[test]
fn modules_of_both_kinds_are_required() {
    let main = "
        const http = require('k6/http'), { sleep } = require('k6'), utils = require('https://jslib.k6.io/k6-utils/1.4.0/index.js');
        const a = require('./cjs.js'), esm = require('./esm.js'), fn = require('./fn.js'), x = require('./sub/x.js');
        let missing; try { require('./zzz.js'); } catch (error) { missing = error.message; }
        console.log(JSON.stringify([typeof http.get, typeof http.default, typeof sleep, typeof utils.uuidv4]));
        console.log(JSON.stringify([a.named, a.other, Object.keys(a), require('./cyc.js').seen(), require('./cjs.js') === a]));
        console.log(JSON.stringify([typeof esm.default, esm.e, fn(3), x, typeof module, typeof exports, typeof require]));
        console.log(missing);
        exports.options = { iterations: 1 };
        exports.default = function () {};";
    assert_eq!(
        logged(("main.js", main)),
        [
            r#"["function","undefined","function","function"]"#,
            r#"["n","xundefined",["named","other","late"],"n",true]"#,
            r#"["function",1,6,{"four":4,"text":"tt"},"object","object","function"]"#,
            "can't read \"/t/zzz.js\": entity not found",
        ]
    );
}

#[test]
fn standard_modules_import_commonjs_ones() {
    let main = "
        import all, { named } from './cjs.js'; import * as namespace from './cjs.js'; import double from './fn.js';
        import compiled, { x } from './compiled.js';
        console.log(JSON.stringify([all, named, typeof namespace.late, double(2), require('./esm.js').e, compiled, x]));
        export default function () {}";
    let compiled = "Object.defineProperty(exports, '__esModule', { value: true }); exports.default = 'DD'; exports.x = 1;";
    let files = [&[("main.js", main), ("compiled.js", compiled)][..], &LIBRARIES].concat();
    let (script, lines) = load(&files);
    script.unwrap();
    assert_eq!(lines, [r#"[{"named":"n","other":"xundefined"},"n","function",4,1,"DD",1]"#]);
}

#[test]
fn a_script_may_be_a_commonjs_module() {
    let (script, _) = load(&[(
        "main.js",
        "module.exports = { options: { iterations: 7 }, default() {}, setup() {}, other() {} };",
    )]);
    let script = script.unwrap();
    assert_eq!(script.options()["iterations"], 7);
    assert_eq!(script.functions(), ["default", "setup", "other"]);
    let (no_functions, _) = load(&[("main.js", "module.exports = function () {};")]);
    assert!(matches!(no_functions.unwrap().require_functions(), Err(ScriptError::NoFunctions)));
}

#[test]
fn what_a_required_module_throws_has_its_place() {
    let main = "require('./throws.js'); exports.default = function () {};";
    let (thrown, _) = load(&[("main.js", main), ("throws.js", "\n\nthrow new Error('at load');")]);
    let text = thrown.map(drop).unwrap_err().to_string();
    assert!(text.contains("Error: at load") && text.contains("/t/throws.js:3"), "{text}");
    let (wrong, _) = load(&[("main.js", main), ("throws.js", "module.exports = 4 4;")]);
    let text = wrong.map(drop).unwrap_err().to_string();
    assert!(text.contains("SyntaxError") && text.contains("/t/throws.js:1"), "{text}");
}

#[test]
fn modules_by_url_are_read_from_the_cache() {
    let main = "import { value } from 'https://example.com/lib/a.js'; console.log(value);
        export default function () {}";
    let (script, lines) = load(&[
        ("main.js", main),
        (
            "fecb90769e981ed7516916a3b0c33b8b918ff447377e187b33d2b598dd8334a6.js",
            "export { value } from './b.js';",
        ),
        (
            "1b6dd44bddaa0122b2ba38548e437c557a2470ba0f83a1a0712c9b00641c63af.js",
            "export const value = 'from b';",
        ),
    ]);
    script.unwrap();
    assert_eq!(lines, ["from b"]);
}
