//! Scripts that cannot run, or end early. Exit codes are those that k6 1.8.1 gave for the same scripts; of its messages what
//! is compared is the part that says what is wrong, and where.

use crate::command::{CommandOutput, TestFolder};

/// A script, its exit code, and what is said of it.
struct Case {
    script: &'static str,
    code: i32,
    said: &'static [&'static str],
}

const CASES: &[Case] = &[
    Case {
        script: "export default function () {\n  let = ;\n}",
        code: 107,
        said: &["SyntaxError: ", "script.js:2:7"],
    },
    Case { script: "export default function () { foo( }", code: 107, said: &["SyntaxError: ", "script.js:1:35"] },
    Case {
        script: "const a = 1;\nundefined.x;\nexport default function () {}",
        code: 107,
        said: &["TypeError: cannot read property 'x' of undefined", "script.js:2:"],
    },
    Case {
        script: "function f() { throw new Error('bad init'); }\nf();\nexport default function () {}",
        code: 107,
        said: &["Error: bad init", "at f (", "script.js:1:", "script.js:2:1"],
    },
    Case {
        script: "await Promise.reject(new Error('tla'));\nexport default function () {}",
        code: 107,
        said: &["plimsoll: Error: tla", "script.js:1:"],
    },
    Case {
        script: "export function setup() {\n  throw new Error('no setup');\n}\nexport default function () {}",
        code: 107,
        said: &["Error: no setup", "at setup (", "script.js:2:"],
    },
    Case {
        script: "export function setup() { const a = {}; a.a = a; return a; }\nexport default function () {}",
        code: 255,
        said: &["the result of setup() cannot be written as JSON: TypeError: circular reference"],
    },
    Case {
        script: "export default function () {\n  null.x;\n}",
        code: 0,
        said: &["ERRO TypeError: cannot read property 'x' of null", "at default (", "script.js:2:"],
    },
    Case {
        script: "export default async function () {\n  throw new Error('async');\n}",
        code: 0,
        said: &["ERRO Uncaught (in promise) Error: async", "script.js:2:"],
    },
    Case {
        script: "export default function () {\n  Promise.reject(new Error('unhandled'));\n}",
        code: 0,
        said: &["ERRO Uncaught (in promise) Error: unhandled", "script.js:2:"],
    },
    Case {
        script: "export default function () {}\nexport function teardown() {\n  null.x;\n}",
        code: 107,
        said: &["TypeError: cannot read property 'x' of null", "at teardown (", "script.js:3:"],
    },
    Case { script: "import './missing.js';", code: 107, said: &["can't read", "missing.js"] },
    Case {
        script: "import x from 'k6/nope'; export default function () {}",
        code: 107,
        said: &["the module \"k6/nope\" is not supported"],
    },
    Case {
        script: "import { a } from './uses.js'; export const b = 2; export default function () {}",
        code: 107,
        said: &["ReferenceError: b is not initialized", "uses.js:1:"],
    },
    Case {
        script: "import { a, f } from './circular.js'; export const b = 2; export default function () { console.log(a, f()); }",
        code: 0,
        said: &["INFO 1 2"],
    },
    Case {
        script: "export default function () {\n  open('./script.js');\n}",
        code: 0,
        said: &[
            "the \"open\" function is only available in the init stage (i.e. the global scope)",
            "script.js:2:",
        ],
    },
    Case {
        script: "\nconst a = open('./missing.txt'); export default function () {}",
        code: 107,
        said: &["missing.txt", "script.js:2:"],
    },
    Case {
        script: "const a = open(''); export default function () {}",
        code: 107,
        said: &["open() can't be used with an empty filename", "script.js:1:"],
    },
    Case {
        script: "export const options = { thresholds: { nope: ['count>1'] } }; export default function () {}",
        code: 104,
        said: &["nope"],
    },
    Case {
        script: "export const options = { thresholds: { http_reqs: ['count>>1'] } }; export default function () {}",
        code: 104,
        said: &["count>>1"],
    },
    Case {
        script: "export const options = { thresholds: { http_reqs: ['p(95)<1'] } }; export default function () {}",
        code: 104,
        said: &["p(95)<1", "http_reqs", "count, rate"],
    },
    Case {
        script: "export const options = { vus: 'many' }; export default function () {}",
        code: 104,
        said: &["`vus`", "many"],
    },
    Case { script: "export const options = 5; export default function () {}", code: 104, said: &["options"] },
    Case {
        script: "export const options = { nope: 1 }; export default function () {}",
        code: 0,
        said: &["nope"],
    },
    Case { script: "export default 5;", code: 255, said: &["no exported functions in script"] },
    Case { script: "", code: 255, said: &["no exported functions in script"] },
    Case {
        script: "export function other() {}",
        code: 104,
        said: &["executor default: function 'default' not found in exports; write `export default function () { … }`"],
    },
    Case {
        script: "import { Counter } from 'k6/metrics';\nnew Counter('bad name!');",
        code: 107,
        said: &["Invalid metric name: 'bad name!'", "script.js:2:"],
    },
    Case {
        script: "import { Counter } from 'k6/metrics';\nexport default function () {\n  new Counter('m');\n}",
        code: 0,
        said: &["metrics must be declared in the init context", "script.js:3:"],
    },
    Case {
        script: "export const options = { scenarios: { a: { executor: 'per-vu-iterations', maxDuration: '1s', gracefulStop: '0s' } } };
            export default function () { for (;;) {} }",
        code: 0,
        said: &[],
    },
    Case {
        script: "(function deep() { deep(); })(); export default function () {}",
        code: 107,
        said: &["RangeError: Maximum call stack size exceeded", "script.js:1:"],
    },
    Case {
        script: "export default function () { (function deep() { deep(); })(); }",
        code: 0,
        said: &["ERRO RangeError: Maximum call stack size exceeded", "script.js:1:"],
    },
    Case {
        script: "export default function () {\n  new ArrayBuffer(1 << 30);\n}",
        code: 0,
        said: &["ERRO ", "out of memory", "script.js:2:"],
    },
    Case {
        script: "export default function () {\n  'x'.repeat(1 << 30);\n}",
        code: 0,
        said: &["ERRO RangeError: ", "script.js:2:"],
    },
    Case {
        script: "import { sleep } from 'k6';
            export const options = { setupTimeout: '1s' };
            export function setup() { sleep(3600); } export default function () {}",
        code: 100,
        said: &["setup() execution timed out after 1 seconds", "setupTimeout"],
    },
    Case {
        script: "export const options = { setupTimeout: '100ms' };
            export function setup() { for (;;) {} } export default function () {}",
        code: 100,
        said: &["setup() execution timed out after 0 seconds", "setupTimeout"],
    },
    Case {
        script: "import { sleep } from 'k6';
            export const options = { teardownTimeout: '100ms' };
            export function teardown() { sleep(3600); } export default function () {}",
        code: 101,
        said: &["teardown() execution timed out after 0 seconds", "teardownTimeout"],
    },
    Case {
        script: "export default function () {
                let ticks = 0;
                const id = setInterval(() => { ticks += 1; if (ticks === 3) { clearInterval(id); console.log('ticks', ticks); } }, 1);
                try { setInterval(5, 1); } catch (e) { console.log(e.name); }
                clearInterval(999);
            }",
        code: 0,
        said: &["INFO TypeError", "INFO ticks 3"],
    },
];

fn run(folder: &TestFolder, more: &[&str]) -> CommandOutput {
    let fixed = ["run", "script.js", "--quiet", "--k6-exit-codes", "--force", "--evidence", "run.plimsoll"];
    folder.plimsoll(&[&fixed[..], more].concat())
}

#[test]
fn each_bad_script_has_the_exit_code_of_k6_and_a_message_with_its_place() {
    let folder = TestFolder::new("");
    folder.write(
        "circular.js",
        "import { b } from './script.js'; export const a = 1; export const f = () => b;",
    );
    folder.write("uses.js", "import { b } from './script.js'; export const a = b + 1;");
    for Case { script, code, said } in CASES {
        folder.write("script.js", script);
        let ran = run(&folder, &[]);
        assert_eq!(ran.code, Some(*code), "{script}\n{}", ran.stderr);
        for part in *said {
            assert!(ran.stderr.contains(part), "{script}\n{part}\n{}", ran.stderr);
        }
    }
}

#[test]
fn a_script_that_is_no_text_is_refused() {
    let folder = TestFolder::new("");
    std::fs::write(folder.path("script.js"), b"\xff\xfe\x00\x01").unwrap();
    run(&folder, &[]).exits_with(107).stderr_contains(&["script.js\" is not UTF-8"]);
}

#[test]
fn files_outside_of_the_folder_are_refused() {
    let folder = TestFolder::new("");
    std::fs::create_dir(folder.path("inside")).unwrap();
    folder.write("inside/script.js", "\nconst a = open('../outside.txt'); export default function () {}");
    folder.write("outside.txt", "text");
    let arguments = ["run", "inside/script.js", "--files-under", "inside", "--evidence", "run.plimsoll"];
    folder.plimsoll(&arguments).exits_with(107).stderr_contains(&["as --files-under asks", "script.js:2:"]);
}

#[test]
fn a_response_that_is_no_text_is_shown_with_replacements() {
    let body = testbed::CannedResponse::new(200).body(&b"a\xff\xfeb\x80"[..]);
    let target = testbed::http(testbed::Behaviour::from(body)).unwrap();
    let folder = TestFolder::new("");
    folder.write(
        "script.js",
        "import http from 'k6/http';
        export default function () {
            const codes = [...http.get(__ENV.BASE).body].map((c) => c.charCodeAt(0));
            console.log(codes.join(), http.get(__ENV.BASE, { responseType: 'binary' }).body.byteLength);
            try { http.get(__ENV.BASE).json(); } catch (e) { console.log('no JSON'); }
        }",
    );
    let base = format!("BASE=http://{}", target.addr());
    run(&folder, &["-e", &base])
        .exits_with(0)
        .stderr_contains(&["INFO 97,65533,65533,98,65533 5", "INFO no JSON"]);
}
