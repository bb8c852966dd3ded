//! `plimsoll new`: the plan that it writes is valid, and runs against a real service.

use testbed::{Behaviour, Target};

use crate::command::TestFolder;

fn target() -> Target {
    testbed::http(Behaviour::ok()).unwrap()
}

/// Write a plan of this source, check it, send each step once, and offer a twentieth of its time.
#[track_caller]
fn runs(folder: &TestFolder, source: &[&str]) {
    folder.plimsoll(&[&["new"], source].concat()).exits_with(0);
    folder.plimsoll(&["check", "made.toml"]).exits_with(0);
    folder.plimsoll(&["run", "made.toml", "--once"]).exits_with(0);
    let run =
        ["run", "made.toml", "--quiet", "--time-scale", "0.05", "--inconclusive", "warn", "-o", "a.plimsoll"];
    folder.plimsoll(&run).exits_with(0);
}

#[test]
fn a_plan_of_a_url_runs() {
    let (target, folder) = (target(), TestFolder::new(""));
    let url = format!("http://{}/items?page=${{random(1, 5)}}", target.addr());
    runs(&folder, &[&url, "-o", "made.toml"]);
    let log = target.log();
    // Once, once more before the load, then twenty a second for 3.5 seconds.
    assert_eq!(log.len(), 72);
    assert!(
        log.iter().all(|served| served.path == "/items" && served.query.starts_with("page=")),
        "{:?}",
        log[0]
    );
}

#[test]
fn a_plan_of_a_curl_command_runs_without_quotes_around_it() {
    let (target, folder) = (target(), TestFolder::new(""));
    let url = format!("http://{}/items", target.addr());
    let token = "authorization: Bearer geheim1";
    runs(
        &folder,
        &[
            "-o",
            "made.toml",
            "curl",
            &url,
            "-H",
            token,
            "-d",
            "{\"a\":1}",
            "-H",
            "content-type: application/json",
        ],
    );
    let log = target.log();
    assert!(log.iter().all(|served| served.method == "POST"), "{:?}", log[0]);
    assert_eq!(log[0].header("authorization"), Some("Bearer env-5ecret-value"));
    assert!(!folder.read("made.toml").contains("geheim1"));
}

#[test]
fn a_plan_of_an_api_description_runs() {
    let (target, folder) = (target(), TestFolder::new(""));
    let description = concat!(env!("CARGO_MANIFEST_DIR"), "/../../services/challenge/openapi.json");
    let server = format!("http://{}", target.addr());
    runs(&folder, &[description, "--server", &server, "-o", "made.toml"]);
    let log = target.log();
    assert!(log.iter().all(|served| served.method == "GET" && served.path.starts_with("/challenge/")));
    folder
        .plimsoll(&["new", description, "--server", &server, "-o", "made.toml", "--all", "--force"])
        .exits_with(0);
    folder.plimsoll(&["run", "made.toml", "--once"]).exits_with(0);
    assert!(target.log().iter().any(|served| served.method == "PUT"));
}

#[test]
fn a_plan_of_a_recording_runs() {
    let (target, folder) = (target(), TestFolder::new(""));
    let entry = |second: u32, path: &str| {
        format!(
            r#"{{"startedDateTime": "2026-01-31T12:00:0{second}.000Z", "time": 900,
                "request": {{"method": "GET", "url": "http://{}{path}", "headers": []}},
                "response": {{"status": 200, "content": {{"mimeType": "text/html"}}}}}}"#,
            target.addr()
        )
    };
    let entries = [entry(0, "/"), entry(1, "/a.css"), entry(2, "/list?all=1")].join(",");
    folder.write("a.har", format!("{{\"log\": {{\"entries\": [{entries}]}}}}"));
    runs(&folder, &["a.har", "-o", "made.toml"]);
    let paths: Vec<String> = target.log().iter().take(2).map(|served| served.path.clone()).collect();
    assert_eq!(paths, ["/", "/list"]);
    assert!(folder.read("made.toml").contains("think = \"100ms\""), "{}", folder.read("made.toml"));
}

#[test]
fn a_plan_that_is_there_is_not_replaced_unless_asked() {
    let folder = TestFolder::new("mine");
    let new = folder.plimsoll(&["new", "http://127.0.0.1:1/"]);
    new.exits_with(2).stderr_contains(&["plan.toml is there already", "--force"]);
    assert_eq!(folder.read("plan.toml"), "mine");
    folder.plimsoll(&["new", "http://127.0.0.1:1/", "--force"]).exits_with(0);
    assert!(folder.read("plan.toml").contains("[[scenarios]]"));
    let shown = folder.plimsoll(&["new", "127.0.0.1:1", "-o", "-"]);
    shown.exits_with(0).stdout_contains(&["[[scenarios.steps]]", "get = \"${api.url}/\""]);
}

#[test]
fn a_source_that_cannot_be_used_is_named_with_its_place() {
    let folder = TestFolder::new("");
    folder.write("a.json", "{\n \"openapi\": 3,\n}");
    folder.write("b.yaml", "openapi: 3.1.0\npaths:\n  /x: [\n");
    folder.write("c.txt", "curl http://h/\ncurl --nope h:80\n");
    folder.write("d.har", "{\"log\": {\"entries\": [{}]}}");
    folder.write("e.bin", b"\xff\xfe");
    for (source, parts) in [
        (vec!["nope.har"], vec!["there is no source of a plan nope.har", "its folder has", "`d.har`"]),
        (vec!["a.json"], vec!["a.json:3:1", "JSON"]),
        (vec!["b.yaml"], vec!["b.yaml:4:", "YAML"]),
        (vec!["c.txt"], vec!["c.txt:2", "--nope"]),
        (vec!["d.har"], vec!["d.har: log.entries[0]"]),
        (vec!["e.bin"], vec!["e.bin is not a source of a plan: it is not text"]),
        (vec!["ftp://h/x"], vec!["the URL", "ftp://h"]),
        (vec!["http://h/", "http://i/"], vec!["one source", "http://i/"]),
        (vec!["curl", "-d"], vec!["the curl command", "no value"]),
    ] {
        let new = folder.plimsoll(&[&["new", "-o", "made.toml"], source.as_slice()].concat());
        new.exits_with(2).stderr_contains(&parts);
    }
    assert!(!folder.path("made.toml").exists());
}

/// The proof of the second security reading: a description that would send a variable of the environment to its author.
#[test]
fn no_text_of_a_description_reads_the_environment() {
    let (target, folder) = (target(), TestFolder::new(""));
    let description = format!(
        r#"{{"openapi": "3.0.0", "info": {{"title": "shop"}}, "servers": [{{"url": "http://{}/"}}],
            "paths": {{"/items": {{"get": {{"operationId": "list", "parameters": [{{
                "name": "lang=${{env.AWS_SECRET_ACCESS_KEY}}; theme", "in": "cookie", "required": true,
                "schema": {{"type": "string"}}}}], "responses": {{"200": {{"description": "ok"}}}}}}}}}}}}"#,
        target.addr()
    );
    folder.write("evil.json", description);
    folder.plimsoll(&["new", "evil.json", "-o", "made.toml"]).exits_with(0);
    folder.plimsoll(&["run", "made.toml", "--once"]).exits_with(0);
    let log = target.log();
    let sent = log[0].header("cookie");
    assert_eq!(sent, Some("lang%3D%24%7Benv.AWS_SECRET_ACCESS_KEY%7D%3B%20theme=text"));
}

#[test]
fn a_file_of_commands_takes_files_below_its_folder_only_and_each_is_named() {
    let folder = TestFolder::new("");
    std::fs::create_dir_all(folder.path("below/bodies")).unwrap();
    folder.write("secret.txt", "geheim");
    folder.write("below/bodies/a.txt", "a body");
    std::os::unix::fs::symlink("../secret.txt", folder.path("below/link.txt")).unwrap();
    for outside in ["../secret.txt", "link.txt", "/etc/hostname"] {
        for option in [format!("-d @{outside}"), format!("-F x=@{outside}"), format!("-T {outside}")] {
            folder.write("below/commands.txt", format!("curl http://127.0.0.1:1/ {option}\n"));
            let new = folder.plimsoll(&["new", "below/commands.txt", "-o", "made.toml"]);
            new.exits_with(2).stderr_contains(&["below/commands.txt:1", outside]);
        }
    }
    folder.write("below/commands.txt", "curl http://127.0.0.1:1/ --data-binary @bodies/a.txt\n");
    let new = folder.plimsoll(&["new", "below/commands.txt", "-o", "made.toml"]);
    new.exits_with(0).stderr_contains(&["bodies/a.txt is part of the plan"]);
    assert!(folder.read("made.toml").contains("a body"));
    // Who types a command may name any file.
    folder.plimsoll(&["new", "-o", "typed.toml", "curl", "h:1", "-d", "@secret.txt"]).exits_with(0);
}
