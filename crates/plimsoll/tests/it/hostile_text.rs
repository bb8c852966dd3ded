//! Text of a target, a plan or a file that would act on a terminal, or pretend to be a line of the tool, is shown as
//! escapes in whatever the command prints.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::thread;

use archive::{Overwrite, Stored, Writer};
use evidence::{
    Ending, Instant, Manifest, Notice, NoticeKind, Observed, Run as _, RunEnd, Sample, SeriesKey, Sink as _,
};
use testbed::{CannedResponse, Ending as After, GrpcBehaviour, Site};

use crate::command::{CommandOutput, TestFolder, checked, closed};
use crate::preparation::{PROTO, grpc_plan};

/// A command for the terminal, 8-bit too; text from right to left; a tag; a character without width; a separator of
/// lines; a line of the tool.
const HOSTILE: &str = "a\u{1b}[2J\u{9b}31m\u{202e}\u{e0041}\u{200b}\u{2028}\n PASS  forged";
/// The same without control characters, which make a body bytes that are not text.
const HOSTILE_TEXT: &str = "a\u{202e}\u{e0041}\u{200b}\u{2028}\n PASS  forged";
/// The same as TOML and JSON write it.
const HOSTILE_TOML: &str = "a\\u001b[2J\\u009b31m\\u202e\\U000e0041\\u200b\\u2028\\n PASS  forged";
const HOSTILE_JSON: &str = "a\\u001b[2J\\u009b31m\\u202e\\udb40\\udc41\\u200b\\u2028\\n PASS  forged";
/// How a terminal is shown all of it.
const SHOWN: &str = r"a\u{1b}[2J\u{9b}31m\u{202e}\u{e0041}\u{200b}\u{2028}\n PASS  forged";

/// Nothing in it acts on a terminal, and no line is forged.
#[track_caller]
fn harmless(text: &str) {
    let acts = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{200b}' | '\u{2028}' | '\u{202e}' | '\u{e0000}'..='\u{e007f}')
    };
    let found: Vec<char> = text.chars().filter(|c| acts(*c)).collect();
    assert!(found.is_empty(), "{found:?} in:\n{text:?}");
    let forged = text.lines().find(|line| line.trim_start().starts_with("PASS  forged"));
    assert_eq!(forged, None, "in:\n{text}");
}

impl CommandOutput {
    /// Both outputs must be harmless.
    #[track_caller]
    fn is_harmless(&self) -> &CommandOutput {
        harmless(&self.stdout);
        harmless(&self.stderr);
        self
    }
}

/// An HTTP target whose reason, header and body are hostile.
fn http_target(status: u16) -> testbed::Target {
    let text = HOSTILE_TEXT.replace('\n', " ");
    let length = HOSTILE_TEXT.len();
    let head = format!(
        "HTTP/1.1 {status} {text}\r\nx-name: {text}\u{9b}31m\r\ncontent-length: {length}\r\n\r\n{HOSTILE_TEXT}"
    );
    testbed::http(testbed::Behaviour::raw(head, After::Close)).unwrap()
}

#[test]
fn an_exchange_is_shown_without_control_characters_and_its_body_behind_a_mark() {
    let target = http_target(200);
    let folder = TestFolder::new(&closed(target.addr(), 1));
    let ran = folder.plimsoll(&["run", "plan.toml", "--once"]);
    ran.exits_with(0).is_harmless().stdout_contains(&[
        r"< x-name: a\u{202e}\u{e0041}\u{200b}\u{2028}  PASS  forged\u{9b}31m",
        "  | a\\u{202e}\\u{e0041}\\u{200b}\\u{2028}\n  |  PASS  forged\n",
    ]);
}

#[test]
fn a_failed_precheck_shows_the_exchange_in_the_same_way() {
    let target = http_target(403);
    let folder = TestFolder::new(&checked(&closed(target.addr(), 1)));
    let ran = folder.plimsoll(&["run", "plan.toml"]);
    ran.exits_with(2).is_harmless().stderr_contains(&[
        "step `get` failed before the load:\n",
        "< 403\n",
        "\n  |  PASS  forged\n",
    ]);
}

#[test]
fn failures_under_load_are_shown_without_control_characters() {
    let not_http =
        testbed::http(testbed::Behaviour::raw(format!("HTTP/1.1 {HOSTILE}\r\n\r\n"), After::Close));
    for target in [http_target(500), not_http.unwrap()] {
        let folder = TestFolder::new("");
        let url = format!("http://{}/", target.addr());
        let ran =
            folder.plimsoll(&["http", &url, "-n", "20", "-c", "1", "--no-precheck", "-o", "run.plimsoll"]);
        ran.exits_with(3).is_harmless();
        folder.plimsoll(&["report", "run.plimsoll"]).exits_with(3).is_harmless();
    }
}

#[test]
fn the_message_of_a_grpc_status_is_shown_on_one_line() {
    let mut message = String::new();
    HOSTILE.bytes().for_each(|byte| message.push_str(&format!("%{byte:02x}")));
    let target = testbed::grpc(GrpcBehaviour::TrailersOnly { code: 13, message }).unwrap();
    let folder = TestFolder::new(&grpc_plan(target.addr()));
    folder.write("events.proto", PROTO);
    let ran = folder.plimsoll(&["run", "plan.toml", "--once"]);
    ran.exits_with(3).is_harmless().stdout_contains(&[SHOWN]);
}

#[test]
fn what_reflection_answers_is_shown_without_control_characters() {
    let length = u8::try_from(HOSTILE.len()).unwrap();
    // ServerReflectionResponse { error_response = 7: { error_code = 1, error_message = 2 } }.
    let message = [&[0x3a, length + 4, 0x08, 5, 0x12, length], HOSTILE.as_bytes()].concat();
    let framed = [&[0, 0, 0, 0, length + 6], &message[..]].concat();
    // To what it serves, and to what it knows of the service.
    let target = testbed::grpc(GrpcBehaviour::Garbage(framed.repeat(2))).unwrap();
    let plan = grpc_plan(target.addr()).replace("proto = [\"events.proto\"]\n", "");
    let ran = TestFolder::new(&plan).plimsoll(&["run", "plan.toml"]);
    ran.exits_with(2).is_harmless().stderr_contains(&[SHOWN]);
}

/// A page of metrics with a hostile label; the exposition format escapes a line end as `\n`.
fn page() -> testbed::Target {
    let label = HOSTILE.replace('\n', "\\n");
    let page = format!("# TYPE go_goroutines gauge\ngo_goroutines{{queue=\"{label}\"}} 7\n# EOF\n");
    let page = CannedResponse::new(200).header("content-type", "text/plain").body(page);
    testbed::http(Site::new().at("/metrics", page.into())).unwrap()
}

#[test]
fn observed_names_are_shown_without_control_characters() {
    let target = page();
    let folder = TestFolder::new("");
    let url = format!("shop=http://{}/metrics", target.addr());
    let ran = folder.plimsoll(&["monitor", &url, "--for", "2s", "-o", "seen.plimsoll"]);
    ran.exits_with(0).is_harmless().stdout_contains(&["shop  go_goroutines[queue=", r"a\u{1b}[2J"]);
    folder.plimsoll(&["report", "seen.plimsoll"]).exits_with(0).is_harmless();
}

/// A server that answers every command of Redis with a hostile error.
fn redis() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                // Commands come several at a time.
                let errors = format!("-ERR {}\r\n", HOSTILE.replace('\n', " ")).repeat(4);
                let mut command = [0; 4096];
                while stream.read(&mut command).is_ok_and(|n| n > 0) {
                    let _ = stream.write_all(errors.as_bytes());
                }
            });
        }
    });
    address
}

#[test]
fn notices_are_shown_without_control_characters() {
    let target = testbed::http(testbed::Behaviour::ok()).unwrap();
    let observe = format!("[targets.api.observe]\nredis = \"redis://{}\"\n[[scenarios]]", redis());
    let plan = closed(target.addr(), 2).replacen("[[scenarios]]", &observe, 1);
    let ran = TestFolder::new(&plan).plimsoll(&["run", "plan.toml"]);
    let shown = r"a\u{1b}[2J\u{9b}31m\u{202e}\u{e0041}\u{200b}\u{2028}  PASS  forged";
    ran.exits_with(0).is_harmless().stderr_contains(&["api redis", shown]);
}

#[test]
fn the_names_of_a_plan_are_shown_without_control_characters() {
    let plan = closed(([127, 0, 0, 1], 1).into(), 1);
    let folder = TestFolder::new(&plan.replace("name = \"load\"", "name = \"load \\u202e\\U000e0041\""));
    let ran = folder.plimsoll(&["check", "plan.toml"]);
    ran.exits_with(0).is_harmless().stdout_contains(&[r"load \u{202e}\u{e0041}"]);
}

#[test]
fn errors_quote_the_values_of_a_plan_without_control_characters() {
    let plan = closed(([127, 0, 0, 1], 1).into(), 1);
    let wrong = [
        plan.replace("constant-vus", HOSTILE_TOML),
        plan.replace("think =", &format!("\"{HOSTILE_TOML}\" =")),
        plan.replace("${api.url}", &format!("${{{HOSTILE_TOML}}}")),
        format!("{plan}[objectives]\nslow = \"{HOSTILE_TOML}(x) < 5ms\"\n"),
        format!("{plan}[objectives]\nslow = \"p95({HOSTILE_TOML}) < 5ms\"\n"),
        format!("{plan}{HOSTILE}"),
    ];
    for plan in wrong {
        let folder = TestFolder::new(&plan);
        folder.plimsoll(&["check", "plan.toml"]).exits_with(2).is_harmless().stderr_contains(&["plan.toml:"]);
    }
}

#[test]
fn errors_quote_file_names_and_arguments_without_control_characters() {
    let folder = TestFolder::new("");
    let hostile_flag = format!("--{HOSTILE}");
    let commands: [&[&str]; 13] = [
        &["run", HOSTILE],
        &["check", HOSTILE],
        &["report", HOSTILE],
        &["compare", HOSTILE, HOSTILE],
        &["export", HOSTILE, "--profiles", "out"],
        &["leaks", HOSTILE],
        &["profile", HOSTILE],
        &["import", HOSTILE],
        &["explain", HOSTILE],
        &["monitor", HOSTILE],
        &[HOSTILE],
        &["run", "plan.toml", &hostile_flag],
        &["http", "http://127.0.0.1:1/", "-z", HOSTILE],
    ];
    for arguments in commands {
        let ran = folder.plimsoll(arguments);
        ran.exits_with(2).is_harmless();
        let shown = r"a\u{1b}[2J\u{9b}31m\u{202e}\u{e0041}\u{200b}\u{2028}\n PASS";
        assert!(ran.stderr.contains(shown), "{arguments:?}: {}", ran.stderr);
    }
}

#[test]
fn an_error_of_a_plan_keeps_its_lines() {
    let plan = closed(([127, 0, 0, 1], 1).into(), 1) + "[objectives]\nslow = \"p95(get) < fast\"\n";
    let ran = TestFolder::new(&plan).plimsoll(&["check", "plan.toml"]);
    ran.exits_with(2).stderr_contains(&["\n    p95(get) < fast\n    ", "^\n"]);
    let usage = TestFolder::new("").plimsoll(&["run", "plan.toml", "--loop"]);
    usage.exits_with(2).stderr_contains(&["error: unexpected argument '--loop' found\n\n", "\nUsage: "]);
}

/// A run file in which every name is hostile.
fn hostile_run(folder: &TestFolder) {
    folder.write("sealed.plimsoll", include_bytes!("../../../archive/tests/files/version-1.plimsoll"));
    let manifest = Stored::open(&folder.path("sealed.plimsoll")).unwrap().manifest().clone();
    let name = || HOSTILE.to_owned();
    let manifest = Manifest {
        schema_version: evidence::manifest::SCHEMA_VERSION,
        name: name(),
        environment: [(name(), name())].into(),
        targets: [(name(), [(name(), name())].into())].into(),
        ..manifest
    };
    let mut writer = Writer::create(&folder.path("run.plimsoll"), &manifest, Overwrite::Refuse).unwrap();
    let series = SeriesKey::new(HOSTILE, HOSTILE, HOSTILE).part(HOSTILE);
    let at = Instant::from_nanos(500_000_000);
    let notice = Notice { at, observer: name(), instance: None, kind: NoticeKind::Unreadable, text: name() };
    let samples = vec![(series, Sample { at, value: 1.0 })];
    writer.observed(&Observed { samples, notices: vec![notice], ..Observed::default() }).unwrap();
    let end = RunEnd::new(Ending::Aborted(name()), 3);
    writer.end(&end).unwrap();
}

#[test]
fn the_names_of_a_run_file_are_shown_without_control_characters() {
    let folder = TestFolder::new("");
    hostile_run(&folder);
    let written = ["report", "run.plimsoll", "--html", "run.html", "--md", "run.md", "--junit", "run.xml"];
    folder.plimsoll(&written).is_harmless();
    for file in ["run.html", "run.md", "run.xml"] {
        harmless(&folder.read(file).replace(['\n', '\t'], " "));
    }
    for format in ["--html", "--md", "--junit", "--json"] {
        harmless(
            &folder.plimsoll(&["report", "run.plimsoll", format, "-"]).stdout.replace(['\n', '\t'], " "),
        );
    }
    let ran = folder.plimsoll(&["report", "run.plimsoll", "--json", "run.json"]);
    ran.is_harmless();
    assert_eq!(folder.json("run.json")["run"]["name"], HOSTILE, "programs are given names as they are");
    folder.plimsoll(&["compare", "run.plimsoll", "run.plimsoll"]).is_harmless();
    folder.plimsoll(&["leaks", "run.plimsoll"]).is_harmless();
}

#[test]
fn the_names_of_an_imported_file_are_shown_without_control_characters() {
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/../import/tests/fixtures/k6.ndjson");
    let text = fs::read_to_string(fixture).unwrap();
    let folder = TestFolder::new("");
    let name = format!("{HOSTILE}.ndjson");
    folder.write(&name, text.replace("http://127.0.0.1:1/gone", HOSTILE_JSON));
    folder.plimsoll(&["import", &name, "-o", "run.plimsoll"]).exits_with(0).is_harmless();
    folder.write("broken.ndjson", format!("{}\n{{\"type\":\"{HOSTILE_JSON}", text.lines().next().unwrap()));
    folder.plimsoll(&["import", "broken.ndjson", "-o", "x.plimsoll"]).is_harmless();
}
