//! What newcomers try: short addresses, familiar options, objectives without a plan. Where it cannot work, the message
//! says what to write.

use testbed::{Behaviour, CannedResponse, Served, Site};

use crate::command::{self, TestFolder};

#[test]
fn a_port_alone_is_that_of_this_machine_for_every_command() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new("");
    let port = format!(":{}/x", target.addr().port());
    for line in [vec![&port[..], "-n", "5", "-q"], vec!["http", &port, "-n", "5", "--quiet"]] {
        folder.plimsoll(&line).exits_with(0);
    }
    folder.plimsoll(&["new", &port]).exits_with(2);
    folder.plimsoll(&["new", &port, "--force"]).exits_with(0);
    assert!(folder.read("plan.toml").contains(&format!("url = \"http://{}\"", target.addr())));
    // Each run sends its request once before the load.
    assert_eq!(target.requests(), 12);
}

#[test]
fn an_ad_hoc_run_is_judged_by_the_objectives_it_is_asked() {
    let target = testbed::http(Behaviour::status(404)).unwrap();
    let folder = TestFolder::new("");
    let url = format!("http://{}/x", target.addr());
    let fixed = ["http", &url, "-n", "200", "-q", "--no-precheck"];
    let ask = |objective: &str| folder.plimsoll(&[&fixed[..], &["--ask", objective]].concat());
    ask("error_rate(all) < 1%").exits_with(3).stdout_contains(&["FAIL", "error_rate(all) < 1%"]);
    ask("error_rate(all) <= 100%").exits_with(3);
    let ok = testbed::http(Behaviour::ok()).unwrap();
    let url = format!("http://{}/x", ok.addr());
    let line =
        ["http", &url, "-n", "2k", "-q", "--ask", "error_rate(\"GET /x\") <= 0%", "--ask", "p50(all) < 20s"];
    folder.plimsoll(&line).exits_with(0).stdout_contains(&["PASS", "p50(all) < 20s"]);
}

#[test]
fn what_is_wrong_with_an_objective_is_said_before_anything_is_sent() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new("");
    let url = format!("http://{}/x", target.addr());
    for (objective, part) in [
        ("errors < 50%", "did you mean `error_rate`?"),
        ("p95(list) < 50ms", "list"),
        ("p95(all, phase = steady) < 50ms", "steady"),
    ] {
        let ran = folder.plimsoll(&["http", &url, "--ask", objective]);
        ran.exits_with(2).stderr_contains(&["--objective", part]);
    }
    assert_eq!(target.requests(), 0);
}

#[test]
fn options_of_curl_are_understood() {
    let site = Site::new()
        .at("/old", CannedResponse::new(302).header("location", "/new").into())
        .otherwise(Behaviour::ok());
    let target = testbed::http(site).unwrap();
    let folder = TestFolder::new("");
    let url = format!("http://{}/old", target.addr());
    let line = [&url, "-n", "3", "-q", "--no-precheck", "-k", "-L", "-u", "me:secret", "-b", "a=1; b=2"];
    folder.plimsoll(&line).exits_with(0).stdout_contains(&["3 ended, 0 failed"]);
    let followed: Vec<Served> = target.log().into_iter().filter(|served| served.path == "/new").collect();
    assert_eq!(followed.len(), 3);
    for served in &followed {
        assert_eq!(served.header("authorization"), Some("Basic bWU6c2VjcmV0"));
        assert_eq!(served.header("cookie"), Some("a=1; b=2"));
    }
}

#[test]
fn an_objective_without_parentheses_is_about_all_requests() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new("");
    let url = format!("http://{}/x", target.addr());
    // Whether so short a run decides anything is the machine's affair.
    let line = [&url, "-n", "2k", "-q", "--objective", "p(50) < 20s", "-o", "run.plimsoll"];
    folder.plimsoll(&line).stdout_contains(&["  p(50) < 20s\n"]);
    let again = ["report", "run.plimsoll", "--objective", "p50 < 1us", "--json", "again.json"];
    folder.plimsoll(&again).stdout_contains(&["  p50 < 1us\n"]);
    let claims = &folder.json("again.json")["claims"];
    assert_eq!(claims[0]["observed"], claims[1]["observed"], "{claims}");
    assert!(claims[1]["observed"]["value"].as_f64() > claims[1]["bound"]["value"].as_f64(), "{claims}");
    // Nothing is written to the file.
    assert!(!folder.plimsoll(&["report", "run.plimsoll"]).stdout.contains("objective-2"));
}

#[test]
fn a_run_that_is_too_short_for_an_objective_is_warned_of_before_it() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new("");
    let url = format!("http://{}/x", target.addr());
    let line = |requests: &str, objective: &str| {
        folder.plimsoll(&["http", &url, "-q", "-n", requests, "--objective", objective])
    };
    let warned = line("100", "p99 < 20s");
    warned.exits_with(4).stderr_contains(&[
        "warning: `p99 < 20s` cannot pass: it gets 100 requests, and a pass needs at least 897",
    ]);
    let enough = line("20k", "p50 < 20s");
    assert!(!enough.exits_with(0).stderr.contains("warning"), "{}", enough.stderr);
    let plan = command::iterations(target.addr(), 100);
    folder.write(
        "short.toml",
        format!("{plan}[objectives]\nfast = \"p99(get) < 20s\"\nturned = \"p50(get) > 1us\"\n"),
    );
    folder.plimsoll(&["run", "short.toml", "-q"]).exits_with(4).stderr_contains(&[
        "warning: `fast` cannot pass: it gets 100 requests",
        "warning: `turned` requires more than its bound; did you mean `p50(get) < 1us`?",
    ]);
    folder.write("open.toml", plan);
    folder
        .plimsoll(&["run", "open.toml", "-q", "--junit", "gate.xml"])
        .exits_with(0)
        .stderr_contains(&["warning: --junit will report no failure, because there are no objectives"]);
    assert_eq!(folder.plimsoll(&["run", "open.toml", "-q"]).exits_with(0).stderr, "");
}

#[test]
fn quick_sends_the_headers_it_is_given() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new("");
    let url = format!("http://{}/x", target.addr());
    folder.plimsoll(&["quick", &url, "-H", "authorization: Bearer t"]).exits_with(0);
    assert!(target.log().iter().all(|served| served.header("authorization") == Some("Bearer t")));
}

#[test]
fn verbs_are_listed_in_groups_and_topics_are_pages() {
    let folder = TestFolder::new("");
    let help = folder.plimsoll(&["--help"]);
    help.exits_with(0).stdout_contains(&["\nTest:\n  run ", "\nExperiment:\n  ab ", "\nTools:\n  worker "]);
    folder.plimsoll(&["help", "plan"]).exits_with(0).stdout_contains(&["PLAN FILES\n"]);
    folder
        .plimsoll(&["help", "plan", "scenarios"])
        .exits_with(0)
        .stdout_contains(&["SCENARIOS\n", "max_vus"]);
    folder
        .plimsoll(&["help", "run", "file"])
        .exits_with(2)
        .stderr_contains(&["`run` has no verb `file`: `plimsoll help run` lists its options"]);
    for name in [&["man", "k6"][..], &["man", "exit", "codes"]] {
        folder.plimsoll(name).exits_with(0).stdout_contains(&[".TH plimsoll-"]);
    }
    folder.plimsoll(&["man", "rnu"]).exits_with(2).stderr_contains(&["did you mean `run`?"]);
    folder.plimsoll(&["help", "nothing"]).exits_with(2).stderr_contains(&["topics are plan", "Scenarios"]);
    folder
        .plimsoll(&["man", "run"])
        .exits_with(0)
        .stdout_contains(&[".SH SYNOPSIS\nplimsoll run [OPTIONS] <PLAN>\n.SH DESCRIPTION"]);
    folder
        .plimsoll(&["man"])
        .exits_with(0)
        .stdout_contains(&[".SH SYNOPSIS\nplimsoll <COMMAND> [OPTIONS]\n.br\nplimsoll <URL> [OPTIONS]\n"]);
    folder.plimsoll(&["help", "objectives"]).exits_with(0).stdout_contains(&["OBJECTIVES\n", "error_rate"]);
    folder.plimsoll(&["help", "script"]).exits_with(0).stdout_contains(&["handleSummary"]);
    folder.plimsoll(&["help", "extract"]).exits_with(0).stdout_contains(&["STEPS\n", "  extract\n"]);
    folder.plimsoll(&["help", "run"]).exits_with(0).stdout_contains(&["Usage: plimsoll run"]);
    let misspelt = folder.plimsoll(&["rn", "x"]);
    misspelt.exits_with(2).stderr_contains(&["a similar subcommand exists: 'run'"]);
    let (verbs, _) = help.stdout.split_once("\nOptions:\n").unwrap();
    assert!(verbs.lines().skip(1).all(|line| line.len() <= 80), "{verbs}");
}

#[test]
fn the_short_help_of_run_fits_a_screen_and_the_long_one_has_all_in_sections() {
    let folder = TestFolder::new("");
    let short = folder.plimsoll(&["run", "-h"]).exits_with(0).stdout.clone();
    assert!(short.lines().count() <= 48, "{short}");
    let long = folder.plimsoll(&["run", "--help"]);
    long.exits_with(0).stdout_contains(&[
        "\nLoad:\n",
        "\nEvidence and reports:\n",
        "\nLoad from other processes and machines:\n",
        "\nLoad from pods of a Kubernetes cluster:\n",
        "--worker-timeout",
        "--run-file-claim",
        "--no-precheck",
    ]);
}

#[test]
fn every_verb_that_shows_progress_can_be_quiet() {
    let folder = TestFolder::new("");
    for verb in ["run", "ab", "capacity", "calibrate"] {
        let ran = folder.plimsoll(&[verb, "-q", "missing.toml"]);
        ran.exits_with(2).stderr_contains(&["missing.toml"]);
    }
}

/// Command lines, and what is said of each.
const HINTS: &[(&[&str], &[&str])] = &[
    (&["http", "http://127.0.0.1:1/", "-q", "300"], &["`-q` is --quiet", "`-r 300`"]),
    (&["http://127.0.0.1:1/", "-q", "300/s"], &["`-r 300/s`"]),
    (&["http://127.0.0.1:1/", "-d", "5s"], &["a duration is `-z 5s`", "`--body 5s`"]),
    (&["http://127.0.0.1:1/", "--latency", "-n", "1"], &["every report has the distribution"]),
    (&["plan.toml"], &["plimsoll run plan.toml"]),
    (&["run", "plan.toml", "-o", "json"], &["--json FILE"]),
    (&["http", "127.0.0.1:1", "-o", "json"], &["--json FILE"]),
    (&["http://127.0.0.1:1/", "-t4", "-c100", "-d30s"], &["`-t 4s`", "`-z 30s`"]),
    (&["http://127.0.0.1:1/", "-z", "30"], &["without a unit; write `30s`"]),
    (&["http://127.0.0.1:1/", "-z", "-5s"], &["is below 0"]),
    (&["http://127.0.0.1:1/", "-r", "-5"], &["`-5` is not a rate: it is below 0"]),
    (&["http://127.0.0.1:1/", "-c", "abc"], &["expected a whole number"]),
    (&["http://127.0.0.1:1/", "-c", "0"], &["`-c 1` sends one after the other"]),
    (&["http://127.0.0.1:1/", "--concurency", "5"], &["-c NUMBER"]),
    (&["http://127.0.0.1:1/", "--percentiles", "0.95"], &["write `95` for `0.95`"]),
    (&["http://127.0.0.1:80000/"], &["a port is 1 to 65535"]),
    (&["http:/127.0.0.1:1/"], &["two slashes follow it"]),
    (&["wrk", "-t4", "http://127.0.0.1:1/"], &["plimsoll URL -c NUMBER"]),
    (&["run"], &["For example: `plimsoll run plan.toml", "this folder has `plan.toml`"]),
    (&["compare", "a.plimsoll"], &["For example: `plimsoll compare "]),
    (&["leaks", "http://127.0.0.1:1/"], &["plimsoll leaks --for 30m http://127.0.0.1:1/"]),
    (&["leaks", "18941"], &["plimsoll leaks --for 30m 18941"]),
    (&["http://127.0.0.1:1/", "--http3"], &["HTTP/3 is not supported; HTTP/2 is `--http2`"]),
    (&["-n", "1", "127.0.0.1:1/x"], &["nothing answers at 127.0.0.1:1"]),
    (&["http://127.0.0.1:1/", "--max-time", "5"], &["write `-t DURATION` for `--max-time`"]),
    (&["http://127.0.0.1:1/", "--spawn-rate", "2"], &["write `--ramp DURATION` for `--spawn-rate`"]),
    (&["new", "curl", "http://127.0.0.1:1/", "-o", "x.toml"], &["`plimsoll new -o x.toml curl …`"]),
    (
        &["run", "plan.toml", "--workers", "127.0.0.1:7400"],
        &["workers elsewhere are `--worker 127.0.0.1:7400`"],
    ),
    (&["grpc", "demo.Echo/Say", "127.0.0.1:1"], &["`plimsoll grpc 127.0.0.1:1 demo.Echo/Say`"]),
    (
        &["capacity", "http://127.0.0.1:1/", "--objective", "p95 < 5"],
        &["'p95 < 5': ", "write `5s` or `5ms`\n"],
    ),
    (&[], &["plimsoll http://127.0.0.1:8000/", "`plimsoll --help` lists all verbs"]),
    (&["check", "http://127.0.0.1:1/"], &["is a URL and not a plan", "plimsoll new http://127.0.0.1:1/"]),
    (&["new", "plan.toml", "api.yaml"], &["plimsoll new api.yaml -o plan.toml"]),
    (&["new", "nope.yaml"], &["there is no source of a plan nope.yaml"]),
    (&["quick", "plan.toml"], &["`plimsoll quick NAME --plan plan.toml`"]),
    (&["report", "a.plimsoll", "--json"], &["`--json -`"]),
    (&["capacity", "plan.toml"], &["plan.toml is a plan", "add `--running`", "`--start COMMAND`"]),
    (&["ab", "plan.toml"], &["plan.toml is a plan", "add `--a COMMAND --b COMMAND`"]),
    (
        &["ab", "--a", "http://127.0.0.1:1/", "--b", "http://127.0.0.1:2/", "plan.toml"],
        &["`--a` and `--b` are commands"],
    ),
    (
        &["ab", "--from", "a.plimsoll", "--against", "b.plimsoll"],
        &["needs at least 5 run files on each side; there is 1"],
    ),
    (
        &["http://127.0.0.1:1/", "-n", "1", "--objective", "p95", "<", "50ms"],
        &["put the objective in quotes: `--objective 'p95 < 50ms'`"],
    ),
    (
        &["http://127.0.0.1:1/", "-H", "Authorization:", "Bearer", "abc"],
        &["put the header in quotes: `-H 'Authorization: …'`"],
    ),
    (&["http://127.0.0.1:1/", "-H", "no colon"], &["the header `no` has no colon: write it as 'no: value'"]),
    (&["http://127.0.0.1:1/", "-r", "1,000"], &["a number has no commas: write `1000`"]),
    (&["ws://127.0.0.1:1/"], &["WebSockets are not loaded"]),
    (&["http", "http://127.0.0.1:1/", "--live=5665x"], &["`5665x` is not an address", "HOST:PORT"]),
    (
        &["http://127.0.0.1:1/", "-n", "1", "--proxy", "http://127.0.0.1:1"],
        &["nothing answers at 127.0.0.1:1, its proxy"],
    ),
    (&["worker", "7001"], &["`plimsoll worker --listen 0.0.0.0:7400`"]),
    (&[""], &["a verb or a URL is missing"]),
    (&["explain", "p95"], &["`plimsoll help objectives`"]),
    (&["explain", "INCONCLUSIVE"], &["`INCONCLUSIVE` is a verdict and not a rule"]),
    (&["help", "p95"], &["`plimsoll help objectives`"]),
    (&["ab", "a.plimsoll", "b.plimsoll"], &["plimsoll compare BEFORE AFTER"]),
    (&["http", "http://127.0.0.1:1/", "http://127.0.0.1:2/"], &["plimsoll http --targets FILE"]),
];

#[test]
fn options_that_mean_something_else_elsewhere_get_a_hint() {
    let folder = TestFolder::new("version = 1\n[[scenarios]]\n");
    for (line, parts) in HINTS {
        folder.plimsoll(line).exits_with(2).stderr_contains(parts);
    }
    // A name that no help shows.
    let misspelt = folder.plimsoll(&["http", "http://127.0.0.1:1/", "--aks", "p95 < 50ms"]);
    assert!(!misspelt.exits_with(2).stderr.contains("'--ask'"), "{}", misspelt.stderr);
    let words = folder.plimsoll(&["run", "script.js", "--vus", "ten"]);
    words.exits_with(255).stderr_contains(&["A whole number is expected, such as 10"]);
    let misspelt = folder.plimsoll(&["run", "script.js", "--adress", "x"]);
    assert!(!misspelt.stderr.contains("'--address'"), "{}", misspelt.stderr);
}
