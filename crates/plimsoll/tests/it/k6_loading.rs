//! How k6 scripts are loaded: languages, kinds of modules, places, flags and variables. What is expected was recorded from
//! k6 1.8.1.

use testbed::{CannedResponse, Site, Target};

use crate::command::{CommandOutput, TestFolder};

const FIXED: [&str; 4] = ["-q", "--evidence", "run.plimsoll", "--k6-exit-codes"];

/// Run the first of these files.
fn run(files: &[(&str, &str)], more: &[&str]) -> CommandOutput {
    let folder = TestFolder::new("");
    for (name, text) in files {
        folder.write(name, text);
    }
    folder.plimsoll(&[&["run", files[0].0][..], &FIXED, more].concat())
}

#[test]
fn types_are_left_out_and_places_stay() {
    let main = "import { Options } from 'k6/options';
import { User, Kind, total } from './lib.ts';
export const options: Options = { iterations: 1 };
export default function (): void {
  const user: User = { id: 1 };
  console.log(JSON.stringify([user!.id as number, Kind.A, Kind[5], total(user)]));
  throw new Error('here');
}
";
    let library = "export interface User { id: number }
        export enum Kind { A, B = 5 }
        namespace Sums { export const more: number = 7 }
        export function total<T extends User>(user: T): number { return user.id + Sums.more; }";
    run(&[("main.ts", main), ("lib.ts", library)], &[]).exits_with(0).stderr_contains(&[
        r#"INFO [1,0,"B",8]"#,
        "ERRO Error: here",
        "main.ts:7:",
    ]);
    run(&[("main.ts", "export default function () {\n  const a: = 1;\n}")], &[])
        .exits_with(107)
        .stderr_contains(&["SyntaxError: ", "main.ts:2:12"]);
}

#[test]
fn a_commonjs_script_is_run() {
    let main = "const { sleep } = require('k6'); const half = require('./half.js');
        exports.options = { iterations: 2 };
        exports.default = function () {
            let late; try { require('./half.js'); } catch (error) { late = error.message; }
            console.log(typeof sleep, half(4), late);
        };";
    run(&[("main.cjs", main), ("half.js", "module.exports = (x) => x / 2;")], &[])
        .exits_with(0)
        .stderr_contains(&["INFO function 2 the \"require\" function is only available in the init stage (i.e. the global scope)"]);
}

#[test]
fn imports_by_url_are_read_from_the_cache_and_nowhere_else() {
    let main = "import { value } from 'https://example.com/lib/a.js';
        export default function () { console.log(value); }";
    const FILE: &str = "fecb90769e981ed7516916a3b0c33b8b918ff447377e187b33d2b598dd8334a6.js";
    let cached = [("main.js", main), (FILE, "export const value = 'cached';")];
    run(&cached, &["--import-cache", "."]).exits_with(0).stderr_contains(&["INFO cached"]);
    run(&cached, &["--import-cache", "empty"]).exits_with(107).stderr_contains(&[
        "\"https://example.com/lib/a.js\" is not in the import cache",
        &format!("curl -fsSL --create-dirs -o 'empty/{FILE}' 'https://example.com/lib/a.js'"),
    ]);
}

/// Serves these modules below `/lib/`.
fn serve(modules: &[(&str, &str)]) -> Target {
    let site = modules.iter().fold(Site::new(), |site, (name, text)| {
        site.at(&format!("/lib/{name}"), CannedResponse::new(200).body((*text).to_owned()).into())
    });
    testbed::http(site.otherwise(CannedResponse::new(404).body("none").into())).unwrap()
}

#[test]
fn imports_by_url_are_fetched_once_and_locked() {
    let served = serve(&[
        ("main.js", "export { value } from './value.js';"),
        ("value.js", "export const value = 'fetched';"),
        ("own.js", "module.exports = { own: 1 };"),
    ]);
    let base = format!("http://{}/lib", served.addr());
    let folder = TestFolder::new("");
    folder.write(
        "main.js",
        format!("import {{ value }} from '{base}/main.js'; import './lib.js'; export default function () {{ console.log(value); }}"),
    );
    folder.write("lib.js", format!("require('{base}/own.js');"));
    let cache = ["--import-cache", "."];
    let fetch = |more: &[&str]| folder.plimsoll(&[&["fetch-imports", "main.js"], &cache[..], more].concat());
    let run = || folder.plimsoll(&[&["run", "main.js"][..], &FIXED, &["--force"], &cache].concat());
    run().exits_with(107).stderr_contains(&["is not in the import cache", "`plimsoll fetch-imports SCRIPT`"]);
    fetch(&[]).exits_with(0).stderr_contains(&[
        &format!("fetched {base}/value.js (31 B)"),
        "3 modules of main.js in ., locked by",
    ]);
    run().exits_with(0).stderr_contains(&["INFO fetched"]);
    let locked = folder.read("plimsoll-imports.lock");
    assert_eq!(locked.lines().count(), 3, "{locked}");
    fetch(&[]).exits_with(0);
    assert_eq!(served.requests(), 3, "what is there is not fetched again");
    // Somebody changes a module in the cache: no run uses it, and the server's is fetched again.
    let changed = folder.files(".js").into_iter().find(|name| folder.read(name).contains("'fetched'"));
    let changed = changed.unwrap_or_else(|| panic!("{:?}", folder.files(".js")));
    folder.write(&changed, "export const value = 'changed';");
    run().exits_with(107).stderr_contains(&["value.js\" has the SHA-256", "plimsoll-imports.lock has"]);
    fetch(&[]).exits_with(0).stderr_contains(&["fetched"]);
    run().exits_with(0).stderr_contains(&["INFO fetched"]);
    assert_eq!(folder.read("plimsoll-imports.lock"), locked);
}

#[test]
fn what_a_server_changed_is_accepted_only_when_asked_for() {
    let folder = TestFolder::new("");
    let served = serve(&[("a.js", "export const value = 2;")]);
    let url = format!("http://{}/lib/a.js", served.addr());
    folder.write(
        "main.js",
        format!("import {{ value }} from '{url}'; export default function () {{ console.log(value); }}"),
    );
    // Of `export const value = 1;`, by sha256sum.
    let locked = format!("fcbcb7aece718d280178457c2c5a3bfb8e8743b8331374c29a50397f38d511e4  {url}\n");
    folder.write("plimsoll-imports.lock", locked.as_str());
    let fetch = |more: &[&str]| {
        folder.plimsoll(&[&["fetch-imports", "main.js", "--import-cache", "cache"], more].concat())
    };
    fetch(&[]).exits_with(2).stderr_contains(&["--update` accepts what its server has now"]);
    assert_eq!(folder.read("plimsoll-imports.lock"), locked);
    fetch(&["--update"]).exits_with(0);
    let run = [&["run", "main.js", "--import-cache", "cache"][..], &FIXED].concat();
    folder.plimsoll(&run).exits_with(0).stderr_contains(&["INFO 2"]);
    folder.write("main.js", format!("import '{url}.gone';"));
    fetch(&[])
        .exits_with(2)
        .stderr_contains(&["cannot fetch", "a.js.gone: its server answers with status 404"]);
    folder.write("plimsoll-imports.lock", "none");
    folder.plimsoll(&run).exits_with(255).stderr_contains(&["line 1 of plimsoll-imports.lock"]);
}

#[test]
fn a_script_may_come_through_standard_input() {
    let folder = TestFolder::new("");
    folder.write(
        "x.js",
        "import { value } from './lib.js'; export default function () { console.log(value, __ENV.HOME, __ENV.A); }",
    );
    folder.write("lib.js", "export const value = 'beside';");
    let arguments = ["run", "-", "-q", "-e", "A=b", "--include-system-env-vars=false"];
    folder
        .plimsoll_after("exec < x.js", &arguments)
        .stderr_contains(&["INFO beside undefined b"])
        .stdout_contains(&["iterations"]);
    assert!(folder.files(".plimsoll")[0].starts_with("script-"));
}

#[test]
fn typescript_may_come_through_standard_input() {
    let folder = TestFolder::new("");
    folder.write(
        "x.ts",
        "const value: string = 'typed'; export default function (): void { console.log(value); }",
    );
    folder.plimsoll_after("exec < x.ts", &["run", "-", "-q"]).stderr_contains(&["INFO typed"]);
}

#[test]
fn a_script_may_have_any_ending_and_none() {
    let script = "export default function () { console.log('run'); }";
    for name in ["script.es6", "script.mts", "script.jsx", "script.tsx", "script"] {
        run(&[(name, script)], &[]).exits_with(0).stderr_contains(&["INFO run"]);
    }
}

#[test]
fn a_script_that_is_not_there_is_255() {
    let folder = TestFolder::new("");
    folder.plimsoll(&["run", "nope.js"]).exits_with(255).stderr_contains(&["cannot read", "nope.js"]);
}

#[test]
fn debug_lines_are_printed_with_verbose_only() {
    let script =
        ("script.js", "export default function () { console.debug('hidden'); console.log('shown'); }");
    let ran = run(&[script], &[]);
    ran.exits_with(0).stderr_contains(&["INFO shown"]);
    assert!(!ran.stderr.contains("hidden"));
    run(&[script], &["-v"]).exits_with(0).stderr_contains(&["DEBU hidden"]);
}

#[test]
fn variables_of_k6_without_effect_are_named() {
    let folder = TestFolder::new("");
    folder.write("script.js", "export default function () { console.log(__ENV.K6_OWN); }");
    let variables = "export K6_WEB_DASHBOARD=true K6_INFLUXDB_DB=x K6_OWN=1 K6_ITERATIONS=1";
    let ran = folder.plimsoll_after(variables, &[&["run", "script.js"][..], &FIXED].concat());
    ran.exits_with(0).stderr_contains(&["K6_INFLUXDB_DB, K6_WEB_DASHBOARD have no effect: --live"]);
}

#[test]
fn runs_of_one_second_have_files_of_their_own() {
    let folder = TestFolder::new("");
    folder.write("same.js", "export default function () {}");
    let runs: Vec<_> =
        (0..4).map(|_| folder.plimsoll(&["run", "same.js", "-q", "--k6-exit-codes"])).collect();
    for run in &runs {
        run.exits_with(0);
    }
    assert_eq!(folder.files(".plimsoll").len(), 4);
}

#[test]
fn the_load_is_shown_before_it_begins() {
    let folder = TestFolder::new("");
    folder.write("script.js", "export default function () {}");
    let fixed =
        ["run", "script.js", "--evidence", "run.plimsoll", "--force", "-o", "json=a.json", "-o", "csv"];
    let header = "     execution: local
        script: script.js
        output: json (a.json), csv (file.csv)

     scenarios: (100.00%) 1 scenario, 1 max VUs, 10m30s max duration (incl. graceful stop):
              * default: 1 iterations for each of 1 VUs (maxDuration: 10m0s, gracefulStop: 30s)
";
    folder.plimsoll(&fixed).stdout_contains(&[header]);
    let quiet = folder.plimsoll(&[&fixed[..], &["--quiet"]].concat());
    quiet.stdout_contains(&["iterations"]);
    assert!(!folder.read("stdout.txt").contains("execution: local"));
}

#[test]
fn each_flag_of_k6_is_accepted_or_refused_by_name() {
    let script = ("script.js", "export const options = { iterations: 1 }; export default function () {}");
    for accepted in [
        "--no-color",
        "--verbose",
        "-l",
        "--paused",
        "--http-debug=full",
        "--http-debug",
        "--address=localhost:6565",
        "--profiling-enabled",
        "--type=js",
        "--compatibility-mode=base",
        "--log-output=stderr",
        "--log-format=logfmt",
        "--traces-output=none",
    ] {
        run(&[script], &[accepted]).exits_with(0);
    }
    for (refused, code, message) in [
        ("--type=archive", 255, "--type 'archive' is not supported"),
        ("--compatibility-mode=foo", 255, "--compatibility-mode 'foo' is not supported"),
        ("--console-output=nosuch/c.txt", 255, "cannot write nosuch/c.txt"),
        ("--log-output=loki", 255, "there is no log output `loki`: write stderr, stdout, none or file=PATH"),
        ("--log-output=file=l.txt,foo=1", 255, "takes level=NAME, not `foo=1`"),
        ("--log-format=xml", 255, "there is no log format `xml`: write text, json or raw"),
        ("--secret-source=file=x", 255, "--secret-source 'file=x' is not supported"),
        ("--new-machine-readable-summary", 255, "--new-machine-readable-summary 'true' is not supported"),
        ("--nosuch", 255, "--nosuch"),
        ("--summary-mode=foo", 255, "--summary-mode"),
    ] {
        run(&[script], &[refused]).exits_with(code).stderr_contains(&[message]);
    }
    let folder = TestFolder::new("");
    folder.plimsoll(&["run", "archive.tar"]).exits_with(255).stderr_contains(&["archives are not read"]);
}

#[test]
fn variables_replace_flags_that_are_not_given() {
    let folder = TestFolder::new("");
    folder.write("script.js", "export default function () {}");
    folder.write("options.json", r#"{ "vus": 2, "iterations": 6 }"#);
    let variables = "export K6_CONFIG=options.json K6_SUMMARY_EXPORT=summary.json K6_SUMMARY_MODE=disabled K6_OUT=json=a.json";
    let ran = folder.plimsoll_after(variables, &[&["run", "script.js"][..], &FIXED].concat());
    ran.exits_with(0);
    assert_eq!(folder.json("summary.json")["metrics"]["iterations"]["count"], 6);
    assert!(!folder.read("stdout.txt").contains("TOTAL RESULTS"));
    assert!(folder.read("a.json").contains(r#""metric":"iterations""#));
    let refused =
        folder.plimsoll_after("export K6_LOG_OUTPUT=loki", &[&["run", "script.js"][..], &FIXED].concat());
    refused.exits_with(255).stderr_contains(&["there is no log output `loki`"]);
}

/// What the files have was recorded from k6 1.8.1 with the same script and flags; only the time differs.
#[test]
fn the_log_goes_where_flags_and_variables_say() {
    let folder = TestFolder::new("");
    folder.write(
        "script.js",
        "export default function () { console.log('hello \"x\" a=b'); console.warn('w\\nline2'); console.error({a: 1}); }",
    );
    let run = |preparation: &str, more: &[&str]| {
        folder.plimsoll_after(preparation, &[&["run", "script.js", "--force"][..], &FIXED, more].concat())
    };
    let without_time = |name: &str| -> Vec<String> {
        folder
            .read(name)
            .lines()
            .map(|line| line.split_once("Z\" ").map_or(line, |(_, rest)| rest).to_owned())
            .collect()
    };
    folder.write("c.txt", "before\n");
    let ran = run("true", &["--console-output=c.txt"]);
    ran.exits_with(0);
    assert!(!ran.stderr.contains("hello"), "{}", ran.stderr);
    assert_eq!(
        without_time("c.txt"),
        [
            "before",
            r#"level=info msg="hello \"x\" a=b""#,
            r#"level=warning msg="w\nline2""#,
            r#"level=error msg="{ a: 1 }""#
        ]
    );
    run("export K6_LOG_OUTPUT=file=l.txt,level=error", &[]).exits_with(0);
    assert_eq!(without_time("l.txt"), [r#"level=error msg="{ a: 1 }" source=console"#]);
    run("true", &["--log-output=file=raw.txt", "--log-format=raw"]).exits_with(0);
    assert_eq!(folder.read("raw.txt"), "hello \"x\" a=b\nw\nline2\n{ a: 1 }\n");
    let silent = run("true", &["--log-output=none"]);
    assert!(!silent.stderr.contains("hello") && !silent.stdout.contains("hello"));
    let stdout = run("true", &["--log-output=stdout", "--log-format=json"]);
    assert!(stdout.stdout.contains(r#""msg":"hello \"x\" a=b","source":"console""#), "{}", stdout.stdout);
}

/// As of a plan, beside an output of k6.
#[test]
fn o_with_the_name_of_a_run_file_names_the_run_file() {
    let folder = TestFolder::new("");
    folder.write("x.js", "export default function () {}");
    folder.plimsoll(&["run", "x.js", "-q", "-o", "json=values.json", "-o", "run.plimsoll"]).exits_with(0);
    assert_eq!(folder.files(".plimsoll"), ["run.plimsoll"]);
    assert!(folder.read("values.json").contains("iterations"));
}
