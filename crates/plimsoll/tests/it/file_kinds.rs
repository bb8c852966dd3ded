//! Files of the wrong kind: each verb that takes a file says in one line what the file is and which command takes it.

use crate::command::{TestFolder, closed, refusal};

/// A kind of file: its name, its content, and what is said of it.
const KINDS: [(&str, &str, &str); 12] = [
    ("api.yaml", "openapi: 3.1.0\npaths: {}\n", "is an OpenAPI description: `plimsoll new api.yaml`"),
    (
        "visit.har",
        "{\"log\": {\"entries\": []}}",
        "is a recording of a browser (HAR): `plimsoll new visit.har`",
    ),
    (
        "visit.js",
        "import http from 'k6/http';\nexport default function () {}\n",
        "is a k6 script: `plimsoll run visit.js`",
    ),
    ("users.csv", "id,name\n1,a\n", "is a table (CSV): a plan reads it as data"),
    (
        EXPERIMENT,
        "plan = \"plan.toml\"\n[arms.a]\nstart = \"x\"\n",
        "is an experiment: `plimsoll ab ab.toml`",
    ),
    (
        SEARCH,
        "plan = \"plan.toml\"\n[arms.a]\nstart = \"x\"\n[slo]\n",
        "is a search for capacity: `plimsoll capacity search.toml`",
    ),
    (
        "list.txt",
        "GET http://shop.test/\n",
        "is a list of requests (vegeta's format): `plimsoll http --targets list.txt`",
    ),
    ("shop.json", "{\"info\": {\"_postman_id\": \"1\"}, \"item\": []}", "is a Postman collection, which"),
    (
        "locustfile.py",
        "from locust import HttpUser\n",
        "is a Locust file (Python), which Plimsoll does not run: `plimsoll new URL`",
    ),
    ("shop.jmx", "<jmeterTestPlan version=\"1.2\">\n", "is a test plan of JMeter, which"),
    ("Shop.scala", "import io.gatling.core.Predef._\n", "is a simulation of Gatling, which"),
    ("curls.txt", "curl http://shop.test/\n", "has curl commands: `plimsoll new curls.txt`"),
];
const EXPERIMENT: &str = "ab.toml";
const SEARCH: &str = "search.toml";
/// Written by the test.
const PLAN: (&str, &str) = ("plan.toml", "is a plan: `plimsoll run plan.toml`");
const RUN_FILE: (&str, &str) = ("made.plimsoll", "is a run file: `plimsoll report made.plimsoll`");

/// Where a command line has the name of the file.
const FILE: &str = "FILE";

/// A command, and the files that it takes.
const COMMANDS: [(&[&str], &[&str]); 18] = [
    (&["run", FILE], &[PLAN.0, "visit.js"]),
    (&["run", FILE, "--workers", "2"], &[PLAN.0, "visit.js"]),
    (&["check", FILE], &[PLAN.0, "visit.js"]),
    (&["manifest", FILE, "--kubernetes", "2", "--image", "plimsoll"], &[PLAN.0, "visit.js"]),
    (&["quick", "api", "--plan", FILE], &[PLAN.0]),
    (&["monitor", "--plan", FILE], &[PLAN.0]),
    (&["import", "results.json", "-o", "out.plimsoll", "--intent", FILE], &[PLAN.0]),
    (&["import", FILE, "-o", "out.plimsoll"], &["users.csv"]),
    (&["new", FILE, "-o", "out.toml"], &["api.yaml", "visit.har", "curls.txt"]),
    (&["ab", FILE], &[EXPERIMENT]),
    (&["calibrate", FILE], &[EXPERIMENT, PLAN.0]),
    (&["capacity", FILE], &[SEARCH, EXPERIMENT]),
    (&["diagnose", FILE], &[SEARCH, PLAN.0, RUN_FILE.0]),
    (&["report", FILE], &[RUN_FILE.0]),
    (&["compare", FILE, FILE], &[RUN_FILE.0]),
    (&["export", FILE, "--csv", "-"], &[RUN_FILE.0]),
    (&["leaks", FILE], &[RUN_FILE.0]),
    (&["profile", FILE], &[]),
];

/// Every file, and what is said of it.
fn files(folder: &TestFolder) -> Vec<(&'static str, &'static str)> {
    for (name, content, _) in KINDS {
        folder.write(name, content);
    }
    folder.write("results.json", "{\"code\":200,\"timestamp\":\"2026-11-21T09:30:00Z\",\"latency\":5}\n");
    folder.plimsoll(&["import", "results.json", "-o", RUN_FILE.0]).exits_with(0);
    KINDS.iter().map(|(name, _, said)| (*name, *said)).chain([PLAN, RUN_FILE]).collect()
}

#[test]
fn files_of_the_wrong_kind_are_named_in_one_line_with_what_to_do() {
    let folder = TestFolder::new(&closed(refusal().addr(), 1));
    for (file, said) in files(&folder) {
        for (command, accepted) in COMMANDS {
            if accepted.contains(&file) {
                continue;
            }
            let named = |argument: &&'static str| if *argument == FILE { file } else { argument };
            let arguments: Vec<&str> = command.iter().map(named).collect();
            let refused = folder.plimsoll(&arguments);
            refused.exits_with(2).stderr_contains(&[&format!("{file} {said}")]);
            assert!(refused.stderr.lines().count() <= 2, "{arguments:?}: {}", refused.stderr);
        }
    }
}

#[test]
fn pairs_of_runs_that_are_none_are_named_too() {
    let folder = TestFolder::new(&closed(refusal().addr(), 1));
    for (file, said) in files(&folder) {
        let five = [file; 5];
        let arguments = [&["ab", "--from"][..], &five, &["--against"], &five].concat();
        if file != RUN_FILE.0 {
            folder.plimsoll(&arguments).exits_with(2).stderr_contains(&[&format!("{file} {said}")]);
        }
    }
}

/// Files that no command can use: a name, the content, and what is said of it.
const UNUSABLE: [(&str, &[u8], &str); 3] = [
    ("nothing.toml", b"", ": it is empty; "),
    (
        "plan.toml.gz",
        b"\x1f\x8b\x08\0",
        " is compressed (gzip): `gunzip -k plan.toml.gz`, then name plan.toml",
    ),
    ("noise.bin", b"\xff\xfe\0\x01", ": it is not text (UTF-8); "),
];
const FOLDER: (&str, &str) = ("folder", " it is a folder");
/// Each command has a file whose name is like this in the folder.
const ABSENT: [&str; 4] = ["plam.toml", "mabe.plimsoll", "result.json", "apy.yaml"];

#[test]
fn files_that_are_missing_or_hold_nothing_readable_are_told_from_others() {
    let folder = TestFolder::new(&closed(refusal().addr(), 1));
    files(&folder);
    UNUSABLE.iter().for_each(|(name, content, _)| folder.write(name, content));
    std::fs::create_dir(folder.path(FOLDER.0)).unwrap();
    let absent = ABSENT.map(|name| (name, "there is no "));
    let known = UNUSABLE.map(|(name, _, said)| (name, said));
    for (file, said) in known.into_iter().chain([FOLDER]).chain(absent) {
        // What a profile is made of is not text.
        for (command, _) in COMMANDS.iter().filter(|(command, _)| command[0] != "profile") {
            let named = |argument: &&'static str| if *argument == FILE { file } else { argument };
            let arguments: Vec<&str> = command.iter().map(named).collect();
            let refused = folder.plimsoll(&arguments);
            refused.exits_with(2).stderr_contains(&[file, said]);
            assert!(refused.stderr.lines().count() <= 2, "{arguments:?}: {}", refused.stderr);
        }
    }
    for (arguments, said) in [
        (["run", "plam.toml"], "there is no plan plam.toml; did you mean `plan.toml`?"),
        (["report", "mad.plimsoll"], "there is no run file mad.plimsoll; did you mean `made.plimsoll`?"),
        (["report", "zzz"], "its folder has `made.plimsoll`"),
        (["report", "."], "it is a folder; name one in it: `./made.plimsoll`"),
        (["report", "none/zzz"], "the folder none is missing"),
        (["import", "result.json"], "did you mean `results.json`?"),
    ] {
        folder.plimsoll(&arguments).exits_with(2).stderr_contains(&[said]);
    }
}
