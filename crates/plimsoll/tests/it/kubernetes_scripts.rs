//! k6 scripts over pods of a cluster, as far as no cluster is needed: what is made of a script, that a pod can run it from that
//! alone, and what the command makes of what a pod hands out.

use std::path::Path;

use serde_json::Value;
use testbed::{Behaviour, Target};

use crate::command::TestFolder;
use crate::kubernetes::{digest_of, list, reached, with_kubectl};

const SCRIPT: &str = r"
import http from 'k6/http';
import exec from 'k6/execution';
import { SharedArray } from 'k6/data';
import { Counter } from 'k6/metrics';
import { path } from '../lib/path.js';

const users = new SharedArray('users', () => JSON.parse(open('../data/users.json')));
const asked = new Counter('asked');
export const options = {
    scenarios: { all: { executor: 'per-vu-iterations', vus: 4, iterations: 3 } },
    thresholds: { asked: ['count>=12'] },
};
export default () => {
    asked.add(1);
    const number = exec.scenario.iterationInTest;
    http.get(`${__ENV.BASE}/${path}/${users[number % users.length]}?n=${number}&token=${__ENV.TOKEN}`);
};
";

fn script_folder() -> TestFolder {
    let folder = TestFolder::new("");
    for part in ["scripts", "lib", "data"] {
        std::fs::create_dir(folder.path(part)).unwrap();
    }
    folder.write("scripts/load.js", SCRIPT);
    folder.write("lib/path.js", "export const path = 'users';");
    folder.write("data/users.json", r#"["ann", "ben", "cyd"]"#);
    folder.write("options.json", r#"{"userAgent": "from the configuration"}"#);
    folder
}

const IN_CLUSTER: [&str; 4] = ["--kubernetes", "2", "--image", "registry/plimsoll:1"];

#[test]
fn a_repository_gets_a_script_with_its_files_and_no_value_of_a_variable() {
    let folder = script_folder();
    let manifest = ["manifest", "scripts/load.js", "-e", "TOKEN=5ecret", "-e", "BASE=http://api", "-u", "7"];
    let printed = folder.plimsoll(&[&manifest[..], &IN_CLUSTER, &["--name", "nightly"]].concat());
    printed.exits_with(0).stdout_contains(&[
        "kubectl create secret generic nightly --from-file=run.pem --from-literal=SCRIPT_ENV_BASE=… --from-literal=SCRIPT_ENV_TOKEN=…",
        "- /run/plimsoll/plan/scripts/load.js",
        "- \"--vus=7\"",
        "\"--env=TOKEN=$(SCRIPT_ENV_TOKEN)\"",
        "path: data/users.json",
        "path: lib/path.js",
        "path: scripts/load.js",
    ]);
    for absent in ["5ecret", "kind: Secret", "http://api"] {
        assert!(!printed.stdout.contains(absent), "{absent} is printed:\n{}", printed.stdout);
    }
    let claim = folder.plimsoll(&[&manifest[..], &IN_CLUSTER, &["--files-in", "claim:scripts"]].concat());
    claim.exits_with(0).stdout_contains(&["claimName: scripts", "/run/plimsoll/plan/scripts/load.js"]);
    let image = folder.plimsoll(&[&manifest[..], &IN_CLUSTER, &["--files-in", "/k6"]].concat());
    image.exits_with(0).stdout_contains(&["- /k6/scripts/load.js"]);
    for printed in [claim, image] {
        assert!(!printed.stdout.contains("kind: ConfigMap"));
    }
}

/// A script that has its private key in this way, in a folder with a certificate and its key.
fn with_key(name: &str, options: &str) -> TestFolder {
    let folder = script_folder();
    folder.plimsoll(&["worker", "--make-keys", "all.pem"]).exits_with(0);
    let all = folder.read("all.pem");
    let (certificates, key) = all.split_at(all.find("-----BEGIN PRIVATE").unwrap());
    let certificate = certificates.split_inclusive("-----END CERTIFICATE-----\n").last().unwrap();
    folder.write("scripts/cert.pem", certificate);
    folder.write("scripts/key.pem", key);
    folder.write("scripts/parts.json", serde_json::json!(key.lines().collect::<Vec<_>>()).to_string());
    folder.write("scripts/tls.json", serde_json::json!({ "key": key }).to_string());
    let options = options.replace("KEY", &serde_json::json!(key).to_string());
    let script = format!(
        "import http from 'k6/http';
        const cert = open('./cert.pem');
        {options}
        export default () => http.get('https://x.test/');"
    );
    folder.write(name, script);
    folder
}

#[test]
fn private_keys_of_a_script_are_in_its_secret_alone() {
    let auth = "export const options = { iterations: 1, tlsAuth: [{ domains: ['x.test'], cert, key }] };";
    for (case, options, secret) in [
        ("a file", format!("const key = open('./key.pem');{auth}"), "key.pem"),
        ("a literal", format!("const key = KEY;{auth}"), "load.js"),
        ("JSON", format!("const {{ key }} = JSON.parse(open('./tls.json'));{auth}"), "tls.json"),
        ("parts", format!("const key = JSON.parse(open('./parts.json')).join('\\n');{auth}"), "parts.json"),
        (
            "what options do not have",
            "const key = open('./key.pem'); export const options = { iterations: 1 };".to_owned(),
            "key.pem",
        ),
    ] {
        let folder = with_key("scripts/load.js", &options);
        let key = folder.read("scripts/key.pem");
        let content = key.lines().nth(1).unwrap();
        let manifest = ["manifest", "scripts/load.js", "--name", "nightly"];
        let printed = folder.plimsoll(&[&manifest[..], &IN_CLUSTER].concat());
        printed.exits_with(0).stdout_contains(&[&format!("path: {secret}")]);
        for absent in ["PRIVATE KEY", content] {
            assert!(!printed.stdout.contains(absent), "{case}: {absent} is printed:\n{}", printed.stdout);
        }
        with_kubectl(&folder, "create) cat > made-$(ls | grep -c ^made-); echo an-identity;;\nversion) ;;");
        let run = ["run", "scripts/load.js"];
        reached(&folder, &[&run[..], &IN_CLUSTER, &["--detach"]].concat()).exits_with(0);
        let others = folder.json("made-1");
        for item in others["items"].as_array().unwrap() {
            let is_secret = item["kind"] == "Secret";
            assert!(is_secret || !item.to_string().contains(content), "{case}: {item}");
            if is_secret {
                let files = item["data"].as_object().unwrap();
                assert!(files.keys().any(|name| name.ends_with(secret)), "{case}: {:?}", files.keys());
            }
        }
    }
}

#[test]
fn what_pods_cannot_do_is_refused_before_anything_is_made() {
    let folder = script_folder();
    folder.write("elsewhere.txt", "x");
    let elsewhere = folder.path("elsewhere.txt").display().to_string();
    folder.write("absolute.js", format!("open('{elsewhere}'); export default () => {{}};"));
    let refused = |arguments: &[&str], why: &str| {
        let ran = folder.plimsoll(&[&["run"], arguments, &IN_CLUSTER].concat());
        assert!(ran.code.is_some_and(|code| code != 0), "{arguments:?}");
        ran.stderr_contains(&[why]);
    };
    refused(&["absolute.js"], "by an absolute path, which pods do not have");
    refused(&["scripts/load.js", "-o", "json=values.json"], "-o writes every single value");
    refused(
        &["scripts/load.js", "--summary-export", "summary.json"],
        "--summary-export is a file of the first pod",
    );
    refused(&["-"], "write standard input to one");
}

/// What the objects of a run are made of: the arguments of its pods after the file, and the environment.
struct Made {
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
}

/// Make the objects, and put the files of the ConfigMap into a folder as a pod has them.
fn made(folder: &TestFolder, arguments: &[&str], pod: &Path) -> Made {
    with_kubectl(folder, "create) cat > made-$(ls | grep -c ^made-); echo an-identity;;\nversion) ;;");
    reached(folder, &[&["run"], arguments, &IN_CLUSTER, &["--detach"]].concat()).exits_with(0);
    let (job, others) = (folder.json("made-0"), folder.json("made-1"));
    let of_kind = |kind: &str| {
        let items = others["items"].as_array().unwrap();
        items.iter().find(|item| item["kind"] == kind).unwrap_or_else(|| panic!("{kind}: {others}"))
    };
    let pod_spec = &job["spec"]["template"]["spec"];
    let files =
        pod_spec["volumes"].as_array().unwrap().iter().find(|volume| volume["name"] == "plan").unwrap();
    for item in files["projected"]["sources"][0]["configMap"]["items"].as_array().unwrap() {
        let path = pod.join(item["path"].as_str().unwrap());
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let content = &of_kind("ConfigMap")["data"][item["key"].as_str().unwrap()];
        std::fs::write(path, content.as_str().unwrap()).unwrap();
    }
    let container = &pod_spec["containers"][0];
    let secret = &of_kind("Secret")["stringData"];
    let variables = container["env"].as_array().unwrap().iter();
    let of_secret = variables.filter_map(|variable| variable["valueFrom"]["secretKeyRef"]["key"].as_str());
    let environment = of_secret.map(|name| (name.to_owned(), secret[name].as_str().unwrap().to_owned()));
    let words: Vec<String> = serde_json::from_value(container["args"].clone()).unwrap();
    let run = words.iter().position(|word| word == "--").unwrap();
    Made { arguments: words[run + 1..].to_vec(), environment: environment.collect() }
}

/// Every request that the target has read, in alphabetical order.
fn requests(target: &Target) -> Vec<(String, String, String)> {
    let log = target.log().into_iter();
    let mut all: Vec<_> = log
        .map(|served| (served.header("user-agent").unwrap_or_default().to_owned(), served.path, served.query))
        .collect();
    all.sort();
    all
}

#[test]
fn a_pod_runs_the_script_that_was_read_here() {
    let (here, there) = (testbed::http(Behaviour::ok()).unwrap(), testbed::http(Behaviour::ok()).unwrap());
    let folder = script_folder();
    let [base_here, base_there] =
        [&here, &there].map(|target: &Target| format!("BASE=http://{}", target.addr()));
    fn arguments(base: &str) -> [&str; 11] {
        ["scripts/load.js", "-e", base, "-e", "TOKEN=a $(b) c", "-c", "options.json", "-i", "8", "-u", "2"]
    }
    let local = [&["run"], &arguments(&base_here)[..], &["--quiet", "--evidence", "run.plimsoll"]].concat();
    folder.plimsoll(&local);
    let pod = TestFolder::new("");
    let made = made(&folder, &arguments(&base_there), &pod.path(""));
    // What the kubelet does: variables for `$(NAME)`, and the files at their paths.
    let expanded = |word: &String| {
        let known =
            |text: String, (name, value): &(String, String)| text.replace(&format!("$({name})"), value);
        let word = made.environment.iter().fold(word.clone(), known);
        word.replace(
            "/run/plimsoll/plan/",
            &format!("{}/", pod.path("").display().to_string().trim_end_matches('/')),
        )
    };
    let words: Vec<String> = made.arguments.iter().map(expanded).collect();
    let mut in_pod = vec!["run"];
    in_pod.extend(words.iter().map(String::as_str));
    in_pod.extend(["--quiet", "--workers", "2", "--mark-report", "--evidence", "run.plimsoll"]);
    let printed = pod.plimsoll(&in_pod).stdout;
    let (summary, report) =
        printed.split_once("\nplimsoll-report\n").expect("the report has a line before it");
    assert!(summary.contains("iterations") && report.contains("Objectives"), "{printed}");
    let asked = requests(&here);
    assert_eq!(asked.len(), 8);
    assert_eq!(asked[0].0, "from the configuration");
    assert!(asked[0].2.contains("token=a"), "{}", asked[0].2);
    assert_eq!(requests(&there), asked);
}

#[test]
fn the_exit_code_and_the_summary_are_those_of_the_script() {
    let folder = script_folder();
    folder.write("short.js", "export const options = { iterations: 3 }; export default () => {};");
    folder.plimsoll(&["run", "short.js", "--quiet", "--evidence", "whole.plimsoll"]);
    let whole = std::fs::read(folder.path("whole.plimsoll")).unwrap();
    let line =
        format!("plimsoll-run-file sha256={} bytes={} exit=99 of=script", digest_of(&whole), whole.len());
    let of_pod = "  iterations: 3 of the pod\nplimsoll-report\nPASS  the pod's report\n";
    folder.write("log", format!("0:01 / 0:01\n{line}\n{of_pod}"));
    folder.write("list", list(1));
    folder.write("job", serde_json::from_str::<Value>(&list(0)).unwrap()["items"][0].to_string());
    with_kubectl(
        &folder,
        "get) case $2 in job,pod) cat list;; *) cat job;; esac;;\nlogs) cat log;;\nexec) cat whole.plimsoll;;\ndelete) ;;",
    );
    let fetched = reached(&folder, &["fetch", "x", "-o", "fetched.plimsoll"]);
    fetched.exits_with(99).stdout_contains(&["iterations: 3 of the pod", "fetched.plimsoll"]);
    assert!(!fetched.stdout.contains("the pod's report"), "there are two reports:\n{}", fetched.stdout);
    assert_eq!(std::fs::read(folder.path("fetched.plimsoll")).unwrap(), whole);
}
