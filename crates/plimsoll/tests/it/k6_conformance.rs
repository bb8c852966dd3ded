//! Scripts whose outcome was recorded from a real k6: `tests/conformance/NAME.js` and what came of it in `NAME.json`.
//!
//! Compared are the exit code, what was logged by `console.log`, the values of metrics that do not depend on time, checks by group,
//! and thresholds. With `K6_PROGRAM` in the environment each script is run by that k6 first, and its recording is written anew;
//! with `K6_SCRIPTS`, names separated by commas, only these are compared.
//! `docs/k6-compatibility.md` names every script.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use peers::websocket::WebSocketServer;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use testbed::{Behaviour, CannedResponse, Ending, GrpcBehaviour, Site};

use crate::command::TestFolder;

/// What came of a script.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct ScriptResult {
    exit_code: i32,
    /// Lines of virtual users that run beside each other have no order.
    console: Vec<String>,
    metrics: BTreeMap<String, Value>,
    checks: BTreeMap<String, Value>,
}

/// What the comments at the beginning of a script say of it.
#[derive(Debug, Default)]
struct ScriptHeader {
    /// After `// flags: `, for both tools.
    flags: Vec<String>,
    /// After `// variables: `, NAME=VALUE.
    variables: Vec<(String, String)>,
    /// Metrics whose values depend on when the run ends: the words after `approximately:`.
    approximate: Vec<String>,
}

impl ScriptHeader {
    fn of(script: &Path) -> ScriptHeader {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let variable = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let text = std::fs::read_to_string(script).unwrap();
        let mut header = ScriptHeader::default();
        for line in text.lines().map_while(|line| line.strip_prefix("// ")) {
            if let Some(flags) = line.strip_prefix("flags: ") {
                header.flags = words(flags);
            } else if let Some(variables) = line.strip_prefix("variables: ") {
                header.variables = variables
                    .split_whitespace()
                    .map(|word| variable(word.split_once('=').unwrap()))
                    .collect();
            } else if let Some((_, metrics)) = line.split_once("approximately:") {
                header.approximate = words(metrics);
            }
        }
        header
    }
}

/// Metrics whose values depend on time: only that they are there is compared.
const TIMED: [&str; 8] = [
    "http_req_",
    "iteration_duration",
    "group_duration",
    "grpc_req_duration",
    "data_",
    "ws_connecting",
    "ws_session_duration",
    "ws_ping",
];
/// Metrics that k6 reads once a second, so that short runs have none.
const READ_EACH_SECOND: [&str; 2] = ["vus", "vus_max"];
/// How far a number may be off that depends on when a run ends.
const ABOUT: f64 = 2.0;

/// Where sessions of WebSocket are opened; it ends with this process.
static SESSIONS: LazyLock<WebSocketServer> = LazyLock::new(|| WebSocketServer::start().unwrap());

/// A document with forms and links.
const PAGE: &str = r#"<title>shop</title><a name=nowhere>x</a><a href="next?a=1#part">next</a><a class=up href="../other">up</a>
    <form id=search action="/search?old=1"><input name=q value="red shoes"><input type=submit name=go value=Go></form>
    <form id=login method=post action="login"><input type=hidden name=token value="t&amp;1"><input name=user>
      <input name=off disabled=disabled value=x><input type=checkbox name=keep checked=checked><input type=checkbox name=no>
      <select name=many multiple><option selected>1<option selected value=two>2<option>3</select><textarea name=note>a b</textarea>
      <button type=submit name=how>Log in</button></form>
    <form id=here method=PUT><input name=a value=1></form>"#;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance")
}

fn site() -> Site<Behaviour> {
    let to = |location: &str| CannedResponse::new(302).body("").header("location", location).into();
    let object = json!({ "name": "anna", "list": [1, 2, 3], "deep": { "a": { "b": true } } });
    let cookies = CannedResponse::new(200)
        .body("set")
        .header("set-cookie", "a=1; Path=/")
        .header("set-cookie", "b=2; Path=/below; HttpOnly");
    let twice = CannedResponse::new(200).json(&object).header("x-twice", "1").header("x-twice", "2");
    let page = CannedResponse::new(200).body(PAGE).header("content-type", "text/html").header("x-page", "1");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(b"packed").unwrap();
    let gzip = gzip.finish().unwrap();
    let deep = format!("{}1{}", "[".repeat(300), "]".repeat(300));
    let texts = [
        ("document", include_str!("../conformance/files/selected.json")),
        ("list", r#"[{"a": 1}, {"a": 2, "b": [1]}, [3, 4], 5]"#),
        ("string", r#""text {a}""#),
        ("number", " 12 "),
        ("nothing", "null"),
        ("broken", r#"{"a": 1"#),
        ("lines", "{\"a\": 1}\n{\"a\": 2}"),
        ("deep", &deep),
    ];
    let json = |site: Site<Behaviour>, (name, text): (&str, &str)| {
        site.at(&format!("/json/{name}"), CannedResponse::new(200).body(text.to_owned()).into())
    };
    texts
        .into_iter()
        .fold(Site::new(), json)
        .at("/object", twice.into())
        .at("/shop/page", page.into())
        .at("/text", CannedResponse::new(200).body("no object").into())
        .at("/status/404", CannedResponse::new(404).body("none").into())
        .at("/status/500", CannedResponse::new(500).body("broken").into())
        .at("/slow", CannedResponse::new(200).body("late").after(std::time::Duration::from_secs(2)).into())
        .at("/redirect", to("/landed"))
        .at("/redirect-twice", to("/redirect"))
        .at("/loop", to("/loop"))
        .at("/set-cookie", cookies.into())
        .at("/gzip", CannedResponse::new(200).body(gzip).header("content-encoding", "gzip").into())
        .at(
            "/reset",
            Behaviour::Raw { delay: std::time::Duration::ZERO, bytes: Vec::new(), then: Ending::Reset },
        )
        .otherwise(Behaviour::Echo)
}

/// What is called by `files/echo.proto`.
fn grpc_site() -> Site<GrpcBehaviour> {
    Site::new()
        .at("/t.Echo/Do", GrpcBehaviour::Echo)
        .at("/t.Echo/Fail", GrpcBehaviour::Status { code: 5, message: "not here".to_owned() })
        .at("/t.Echo/Late", GrpcBehaviour::after(std::time::Duration::from_secs(2)))
}

/// What a tool makes of a script.
fn run(program: &Path, own: &[&str], script: &Path) -> ScriptResult {
    let header = ScriptHeader::of(script);
    let target = testbed::http(site()).unwrap();
    let grpc = testbed::grpc(grpc_site()).unwrap();
    let place = TestFolder::new("");
    let mut command = Command::new(program);
    command.current_dir(place.path("")).args(["run", "--quiet", "--summary-export=summary.json"]).args(own);
    command.env("K6_NO_USAGE_REPORT", "true").env_remove("K6_PROGRAM");
    command.envs(header.variables).args(header.flags);
    let sessions = &*SESSIONS;
    command.arg(format!("--env=WS=ws://{}", sessions.plain()));
    command.arg(format!("--env=WSS=wss://{}", sessions.secure()));
    command.arg(format!("--env=BASE=http://{}", target.addr())).arg(format!("--env=GRPC={}", grpc.addr()));
    command.arg(script);
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let summary: Value = match std::fs::read(place.path("summary.json")) {
        Ok(text) => serde_json::from_slice(&text).unwrap(),
        Err(_) => Value::Null,
    };
    let mut checks = BTreeMap::new();
    checks_of(&summary["root_group"], &mut checks);
    let metrics = summary["metrics"].as_object().into_iter().flatten();
    let metrics = metrics.filter(|(name, _)| !READ_EACH_SECOND.contains(&name.as_str()));
    ScriptResult {
        exit_code: output.status.code().unwrap_or(-1),
        console: console(&stderr),
        metrics: metrics.map(|(name, values)| (name.clone(), compared(name, values))).collect(),
        checks,
    }
}

/// What was written by `console.log`, sorted: by k6 as `level=info msg="TEXT" source=console`, by Plimsoll as `INFO TEXT  source=console`.
fn console(stderr: &str) -> Vec<String> {
    let line = |line: &str| match line.split_once("level=info msg=") {
        Some((_, text)) => {
            let text = text.strip_suffix(" source=console")?;
            Some(serde_json::from_str(text).unwrap_or_else(|_| text.to_owned()))
        }
        None => line.strip_prefix("INFO ")?.strip_suffix("  source=console").map(str::to_owned),
    };
    let mut lines: Vec<String> = stderr.lines().filter_map(line).collect();
    lines.sort();
    lines
}

fn checks_of(group: &Value, all: &mut BTreeMap<String, Value>) {
    for check in group["checks"].as_object().into_iter().flat_map(|checks| checks.values()) {
        all.insert(check["path"].as_str().unwrap().to_owned(), json!([check["passes"], check["fails"]]));
    }
    for inner in group["groups"].as_object().into_iter().flat_map(|groups| groups.values()) {
        checks_of(inner, all);
    }
}

/// Of a metric what can be compared between two runs.
fn compared(name: &str, values: &Value) -> Value {
    let is_timed = TIMED.iter().any(|timed| name.starts_with(timed)) && !name.starts_with("http_req_failed");
    let keys: &[&str] = match is_timed {
        true => &["thresholds"],
        false => &["thresholds", "count", "passes", "fails", "value", "min", "max", "avg"],
    };
    let kept = keys.iter().filter_map(|key| Some(((*key).to_owned(), values.get(key)?.clone())));
    let mut kept: serde_json::Map<String, Value> = kept.collect();
    // Of a rate `value` is the share of `passes`, in summaries only.
    if kept.contains_key("passes") {
        kept.remove("value");
    }
    Value::Object(kept)
}

/// Whether two values are the same; numbers nearly, where the script says so in its first line.
fn is_same(ours: &Value, recorded: &Value, off: f64) -> bool {
    match (ours, recorded) {
        (Value::Number(ours), Value::Number(recorded)) => {
            let (ours, recorded) = (ours.as_f64().unwrap(), recorded.as_f64().unwrap());
            (ours - recorded).abs() <= off + recorded.abs() * 1e-9
        }
        (Value::Object(ours), Value::Object(recorded)) => {
            ours.len() == recorded.len()
                && ours
                    .iter()
                    .all(|(key, value)| recorded.get(key).is_some_and(|other| is_same(value, other, off)))
        }
        (ours, recorded) => ours == recorded,
    }
}

/// What is not as it was recorded.
fn differences(ours: &ScriptResult, recorded: &ScriptResult, approximate: &[String]) -> Vec<String> {
    let mut all = Vec::new();
    if ours.exit_code != recorded.exit_code {
        all.push(format!("exit code {}, of k6 {}", ours.exit_code, recorded.exit_code));
    }
    if ours.console != recorded.console {
        let only = |these: &[String], those: &[String]| {
            these.iter().filter(|line| !those.contains(line)).cloned().collect::<Vec<_>>().join("\n    ")
        };
        let (own, theirs) = (only(&ours.console, &recorded.console), only(&recorded.console, &ours.console));
        all.push(format!("console has\n    {own}\n  k6's has\n    {theirs}"));
    }
    let names = ours.metrics.keys().chain(recorded.metrics.keys());
    for name in names.collect::<BTreeSet<_>>() {
        let metric = name.split('{').next().unwrap_or(name);
        let off = if approximate.iter().any(|name| name == metric) { ABOUT } else { 0.0 };
        let [own, theirs] = [ours, recorded].map(|one| one.metrics.get(name).unwrap_or(&Value::Null));
        // Of a run that ends in `setup` k6 has a summary with bytes that are 0; here there is no summary.
        let has_no_summary = ours.metrics.is_empty() && *theirs == json!({});
        if !has_no_summary && !is_same(own, theirs, off) {
            all.push(format!("metric {name}: {own}, of k6 {theirs}"));
        }
    }
    if ours.checks != recorded.checks {
        all.push(format!("checks {:?}, of k6 {:?}", ours.checks, recorded.checks));
    }
    all
}

fn scripts() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let is_script = |path: &PathBuf| path.extension().is_some_and(|end| end == "js" || end == "ts");
    let mut scripts: Vec<PathBuf> = entries.filter(is_script).collect();
    scripts.sort();
    scripts
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

#[test]
fn scripts_come_to_what_they_come_to_in_k6() {
    let recorder = std::env::var_os("K6_PROGRAM").map(PathBuf::from);
    let one = |script: &PathBuf| {
        let recording = script.with_extension("json");
        if let Some(k6) = &recorder {
            let result = run(k6, &[], script);
            std::fs::write(&recording, serde_json::to_string_pretty(&result).unwrap() + "\n").unwrap();
        }
        let recorded =
            std::fs::read(&recording).unwrap_or_else(|_| panic!("{} is missing", recording.display()));
        let recorded: ScriptResult = serde_json::from_slice(&recorded).unwrap();
        let plimsoll = Path::new(env!("CARGO_BIN_EXE_plimsoll"));
        let ours = run(plimsoll, &["--evidence=run.plimsoll", "--k6-exit-codes"], script);
        let name = file_name(script);
        let found = differences(&ours, &recorded, &ScriptHeader::of(script).approximate);
        found.into_iter().map(|difference| format!("{name}: {difference}")).collect::<Vec<_>>()
    };
    let only = std::env::var("K6_SCRIPTS").ok();
    let is_asked = |script: &PathBuf| {
        only.as_ref().is_none_or(|only| only.split(',').any(|one| one == file_name(script)))
    };
    let scripts: Vec<PathBuf> = scripts().into_iter().filter(is_asked).collect();
    // Most of them wait more than they work.
    let found: Vec<String> = std::thread::scope(|scope| {
        let parts = scripts.chunks(scripts.len().div_ceil(4));
        let threads: Vec<_> =
            parts.map(|part| scope.spawn(move || part.iter().flat_map(&one).collect::<Vec<_>>())).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_document_of_compatibility_names_every_script_and_no_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("docs/k6-compatibility.md")).unwrap();
    let quoted: BTreeSet<&str> = text.split('`').skip(1).step_by(2).collect();
    let is_script = |name: &&str| name.ends_with(".js") || name.ends_with(".ts");
    let named: BTreeSet<String> = quoted.iter().copied().filter(is_script).map(str::to_owned).collect();
    let scripts: BTreeSet<String> = scripts().iter().map(|script| file_name(script)).collect();
    assert_eq!(named, scripts);
    // Tests are named by their file: beside this one, or from the root of the tree.
    for test in quoted.iter().filter(|name| name.ends_with(".rs")) {
        let path = if test.contains('/') {
            root.join(test)
        } else {
            root.join("crates/plimsoll/tests/it").join(test)
        };
        assert!(path.exists(), "{test}");
    }
}
