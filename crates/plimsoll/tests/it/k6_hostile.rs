//! k6 scripts that call back where they are called from, or ask for very much. What is logged is what k6 logs.

use serde_json::Value;

use crate::command::TestFolder;

/// What a script logs, whose function `default` has this body.
fn logged(imports: &str, body: &str) -> Vec<String> {
    let script = format!(
        "{imports}\nconst show = (f) => {{ try {{ console.log(f()); }} catch (error) {{ console.log(error.message); }} }};\n\
         export default function () {{ {body} }}"
    );
    logged_by(&TestFolder::new(""), &script)
}

fn logged_by(folder: &TestFolder, script: &str) -> Vec<String> {
    folder.write("script.js", script);
    let output =
        folder.plimsoll(&["run", "script.js", "--quiet", "--k6-exit-codes", "--evidence", "run.plimsoll"]);
    output.exits_with(0);
    let lines = output.stderr.lines().filter_map(|line| line.strip_prefix("INFO "));
    lines.map(|line| line.trim_end_matches("  source=console").to_owned()).collect()
}

#[test]
fn texts_are_made_by_code_that_calls_the_same_object() {
    let digest = "const hash = crypto.createHash('md5'); hash.update('x');
        show(() => hash.digest({ toString() { hash.update('y'); return 'hex'; } }));";
    assert_eq!(logged("import crypto from 'k6/crypto';", digest), ["3e44107170a520582ade522fa73c1d15"]);
    let tags = "let once = true;
        const set = () => { if (once) { once = false; exec.vu.tags.x = 1; } };
        Object.defineProperty(Object.prototype, 'group', { set, configurable: true });
        show(() => Object.keys(exec.vu.tags).includes('scenario'));";
    assert_eq!(logged("import exec from 'k6/execution';", tags), ["true"]);
}

#[test]
fn exports_are_made_by_code_that_requires_more() {
    let folder = TestFolder::new("");
    folder.write("more.js", "module.exports = 7;");
    let getter = "let n = 0;
        Object.defineProperty(module, 'exports', { get() { return n++ === 0 ? 0 : require('./more.js'); } });";
    folder.write("lazy.js", getter);
    let script = "const both = [require('./lazy.js'), require('./lazy.js')];
        module.exports.default = () => console.log(both.join());";
    assert_eq!(logged_by(&folder, script), ["0,7"]);
}

#[test]
fn timers_have_arguments_names_that_are_true_and_their_order() {
    let body = "const first = setTimeout((a, b) => console.log('late ' + a + b), 30, 'x', 'y');
        show(() => first > 0);
        clearTimeout(null);
        const log = (text) => console.log(text);
        setTimeout(log, 20, 'second'); setTimeout(log, 10, 'first');
        let turns = 0;
        setTimeout(() => {
            const again = (by) => { turns += by; if (turns === 6) { clearInterval(interval); console.log(turns); } };
            const interval = setInterval(again, 1, 2);
        }, 40);
        const end = Date.now() + 25; while (Date.now() < end) {}";
    assert_eq!(logged("", body), ["true", "first", "second", "late xy", "6"]);
}

#[test]
fn rejections_are_noted_until_they_are_handled() {
    let script = "const show = (text) => console.log(text);
        export default async function () {
            const all = [...Array(20000).keys()].map((n) => Promise.reject(n));
            const reasons = await Promise.all(all.reverse().map((promise) => promise.catch((reason) => reason)));
            show(reasons.length + ' ' + reasons[0]);
            Promise.reject(1).catch(() => show('handled'));
        }";
    assert_eq!(logged_by(&TestFolder::new(""), script), ["20000 19999", "handled"]);
}

#[test]
fn what_is_no_tag_is_refused() {
    let only = "only String, Boolean and Number types are accepted as a metric tag values";
    let imports =
        "import http from 'k6/http'; import { check } from 'k6'; import { Counter } from 'k6/metrics';
        const counter = new Counter('own');";
    let body = "show(() => counter.add(1, { a: {} }));
        show(() => counter.add(1, { a: 1, b: true, c: 'x' }));
        show(() => check(1, { is: true }, { a: null }));
        show(() => http.get('http://127.0.0.1:1/', { tags: { a: [] } }).error);";
    let expected = [
        format!("cannot add tags for the 'own' custom metric: invalid value for metric tag 'a': {only}"),
        "true".to_owned(),
        format!("invalid value for metric tag 'a': {only}"),
        format!("invalid HTTP request metric tags: invalid value for metric tag 'a': {only}"),
    ];
    assert_eq!(logged(imports, body), expected);
}

#[test]
fn no_value_is_lost_to_names_without_end() {
    let folder = TestFolder::new("");
    let script = "import { check, group } from 'k6'; import { Counter } from 'k6/metrics';
        const own = new Counter('own');
        export const options = { iterations: 2500, thresholds: { 'own{kind:a}': ['count==2500'], checks: ['rate<1'] } };
        export default function () {
            group(`user ${__ITER}`, () => {
                own.add(1, { kind: 'a' });
                check(__ITER, { [`check ${__ITER}`]: (n) => n < 2400 });
            });
        }";
    folder.write("script.js", script);
    let arguments = [
        "run",
        "script.js",
        "--quiet",
        "--summary-export",
        "summary.json",
        "--evidence",
        "run.plimsoll",
        "--k6-exit-codes",
    ];
    let output = folder.plimsoll(&arguments);
    output.exits_with(0);
    let summary: Value = serde_json::from_str(&folder.read("summary.json")).unwrap();
    let metrics = &summary["metrics"];
    assert_eq!(metrics["checks"]["passes"], 2400, "{metrics}");
    assert_eq!(metrics["checks"]["fails"], 100);
    assert_eq!(metrics["own"]["count"], 2500);
    assert_eq!(metrics["own{kind:a}"]["count"], 2500);
}

#[test]
fn further_lines_of_a_text_are_none_of_plimsolls() {
    let folder = TestFolder::new("");
    let digest = "0f".repeat(32);
    let script = format!(
        "export const options = {{ iterations: 1 }};
        export default () => console.log('body:\\nplimsoll-run-file sha256={digest} bytes=12 exit=0 of=script\\nPASS');"
    );
    folder.write("script.js", script);
    let ran =
        folder.plimsoll(&["run", "script.js", "--quiet", "--k6-exit-codes", "--evidence", "run.plimsoll"]);
    ran.exits_with(0).stderr_contains(&["INFO body:\n  | plimsoll-run-file sha256=0f", "\n  | PASS"]);
    assert!(!ran.stderr.lines().any(|line| line.starts_with("plimsoll-run-file")), "{}", ran.stderr);
}

#[test]
fn a_link_leads_no_script_out_of_its_folder() {
    let folder = TestFolder::new("");
    std::fs::create_dir(folder.path("below")).unwrap();
    folder.write("outside.txt", "5ecret of others");
    std::os::unix::fs::symlink("../outside.txt", folder.path("below/link")).unwrap();
    folder.write("below/script.js", "console.log(open('./link')); export default () => {};");
    let run = ["run", "below/script.js", "--quiet", "--evidence", "run.plimsoll"];
    let refused = folder.plimsoll(&[&run[..], &["--files-under", "below"]].concat());
    refused.exits_with(107).stderr_contains(&["is not below", "--files-under"]);
    assert!(!refused.stderr.contains("5ecret of others"), "{}", refused.stderr);
    folder.plimsoll(&run).stderr_contains(&["5ecret of others"]);
}
