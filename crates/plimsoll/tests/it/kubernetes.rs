//! Runs in a cluster, as far as no cluster is needed: what is printed for a repository, and failures that a real one does not have
//! when they are wanted. `cargo xtask cluster` does the rest, in a real one.

use std::os::unix::fs::PermissionsExt as _;

use sha2::{Digest as _, Sha256};
use testbed::Behaviour;

use crate::command::{CommandOutput, TestFolder, open};

const RUN: [&str; 6] = ["run", "plan.toml", "--kubernetes", "3", "--image", "registry/plimsoll:1"];

const PLAN: &str = r#"version = 1
[targets.api]
url = "https://api.shop.svc"
tls = { cert = "tls/cert.pem", key = "tls/key.pem" }
[data.users]
file = "users.csv"
[[scenarios]]
name = "load"
executor = "constant-arrival-rate"
rate = "50/s"
duration = "10s"
[[scenarios.steps]]
name = "get"
get = "${api.url}/${users.id}"
headers = { authorization = "Bearer ${env.TOKEN}" }
"#;

fn with_files(plan: &str) -> TestFolder {
    let folder = TestFolder::new(plan);
    let keys = folder.plimsoll(&["worker", "--make-keys", "all.pem"]);
    keys.exits_with(0);
    let all = folder.read("all.pem");
    let (certificates, key) = all.split_at(all.find("-----BEGIN PRIVATE").unwrap());
    std::fs::create_dir(folder.path("tls")).unwrap();
    folder.write("tls/cert.pem", certificates);
    folder.write("tls/key.pem", key);
    folder.write("users.csv", "id\nanna\n");
    folder
}

#[test]
fn a_repository_gets_no_secret() {
    let folder = with_files(PLAN);
    let manifest =
        ["manifest", "plan.toml", "--kubernetes", "3", "--image", "registry/plimsoll:1", "--load", "2"];
    let printed = folder.plimsoll(&manifest);
    printed.exits_with(0).stdout_contains(&[
        "kubectl create secret generic plan --from-file=run.pem --from-literal=TOKEN=… --from-file=0-key.pem=…",
        "completions: 3",
        "path: users.csv",
        "path: tls/cert.pem",
        "path: tls/key.pem",
        "kubernetes.io/metadata.name: shop",
        "- \"--load\"\n        - \"2\"",
    ]);
    for secret in ["env-5ecret-value", "PRIVATE KEY", "kind: Secret"] {
        assert!(!printed.stdout.contains(secret), "{secret} is printed:\n{}", printed.stdout);
    }
}

#[test]
fn files_that_no_config_map_contains_come_from_elsewhere() {
    let folder = with_files(PLAN);
    folder.write("users.csv", format!("id\n{}", "a-user-with-a-long-name\n".repeat(50_000)));
    let manifest = ["manifest", "plan.toml", "--kubernetes", "3", "--image", "registry/plimsoll:1"];
    folder.plimsoll(&manifest).exits_with(2).stderr_contains(&["`--files-in /FOLDER`", "users.csv"]);
    let claim = folder.plimsoll(&[&manifest[..], &["--files-in", "claim:plans"]].concat());
    claim.exits_with(0).stdout_contains(&["claimName: plans", "/run/plimsoll/plan/plan.toml"]);
    assert!(!claim.stdout.contains("kind: ConfigMap"));
    let image = folder.plimsoll(&[&manifest[..], &["--files-in", "/plans"]].concat());
    image.exits_with(0).stdout_contains(&["- /plans/plan.toml"]);
}

/// A folder with a `kubectl` that does this, and notes how it was called.
pub(crate) fn with_kubectl(folder: &TestFolder, script: &str) {
    std::fs::create_dir(folder.path("bin")).unwrap();
    folder.write("bin/kubectl", format!("#!/bin/sh\necho \"$@\" >> calls\ncase $1 in\n{script}\nesac\n"));
    std::fs::set_permissions(folder.path("bin/kubectl"), std::fs::Permissions::from_mode(0o755)).unwrap();
}

pub(crate) fn reached(folder: &TestFolder, arguments: &[&str]) -> CommandOutput {
    folder.plimsoll_after("PATH=$PWD/bin:$PATH", arguments)
}

#[test]
fn a_run_needs_kubectl_and_an_image() {
    let folder = TestFolder::new(PLAN);
    folder.plimsoll(&RUN[..4]).exits_with(2).stderr_contains(&["--image"]);
    let folder = with_files(PLAN);
    let ran = folder.plimsoll_after("PATH=/nowhere", &RUN);
    ran.exits_with(2).stderr_contains(&["kubectl cannot be started", "kubernetes.io/docs/tasks/tools"]);
}

#[test]
fn what_was_made_is_deleted_when_the_rest_is_refused() {
    let folder = with_files(PLAN);
    let create =
        "create) [ -e made ] && { echo 'secrets is forbidden' >&2; exit 1; }; cat > made; echo an-identity;;";
    with_kubectl(&folder, create);
    reached(&folder, &RUN).exits_with(2).stderr_contains(&["secrets is forbidden"]);
    let calls = folder.read("calls");
    let last = calls.lines().last().unwrap();
    assert!(last.starts_with("delete job,service,configmap,secret,networkpolicy --selector="), "{calls}");
    assert!(!folder.read("made").contains("env-5ecret-value"), "the secret is in the Job");
}

pub(crate) fn digest_of(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A run of one second, as its pod would hand it out: `whole.plimsoll`, and in `log` what the pod has printed.
fn handed_out(folder: &TestFolder) -> Vec<u8> {
    folder.plimsoll(&["run", "plan.toml", "--quiet", "-o", "whole.plimsoll"]).exits_with(0);
    let whole = std::fs::read(folder.path("whole.plimsoll")).unwrap();
    let line = format!("plimsoll-run-file sha256={} bytes={} exit=0", digest_of(&whole), whole.len());
    folder.write("log", format!("0:01 / 0:01\n{line}\n"));
    whole
}

/// The Job and so many running pods, as kubectl lists them.
pub(crate) fn list(pods: usize) -> String {
    let labels = r#"{"app.kubernetes.io/name": "plimsoll", "app.kubernetes.io/managed-by": "plimsoll"}"#;
    let job =
        format!(r#"{{"kind": "Job", "metadata": {{"labels": {labels}}}, "spec": {{"completions": 1}}}}"#);
    let annotation = "batch.kubernetes.io/job-completion-index";
    let status = r#"{"phase": "Running", "containerStatuses": [{"state": {"running": {}}}]}"#;
    let pod = |index: usize| {
        let metadata =
            format!(r#"{{"name": "x-{index}-abc", "annotations": {{"{annotation}": "{index}"}}}}"#);
        format!(r#"{{"kind": "Pod", "metadata": {metadata}, "status": {status}}}"#)
    };
    let items: Vec<String> = std::iter::once(job).chain((0..pods).map(pod)).collect();
    format!(r#"{{"items": [{}]}}"#, items.join(", "))
}

#[test]
fn a_file_that_arrives_cut_is_fetched_again_and_judged_here() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new(&open(target.addr(), 1));
    let whole = handed_out(&folder);
    folder.write("cut.plimsoll", &whole[..whole.len() / 2]);
    folder.write("list", list(1));
    folder.write("job", serde_json::from_str::<serde_json::Value>(&list(0)).unwrap()["items"][0].to_string());
    let script = "get) case $2 in job,pod) cat list;; *) cat job;; esac;;\nlogs) cat log;;\n\
                  exec) if [ -e again ]; then cat whole.plimsoll; else touch again; cat cut.plimsoll; fi;;\ndelete) ;;";
    with_kubectl(&folder, script);
    let fetched = reached(&folder, &["fetch", "x", "-o", "fetched.plimsoll", "--namespace", "load"]);
    fetched.exits_with(0).stderr_contains(&["was not received whole", "0:01 / 0:01"]);
    fetched.stdout_contains(&["fetched.plimsoll"]);
    assert_eq!(std::fs::read(folder.path("fetched.plimsoll")).unwrap(), whole);
    let calls = folder.read("calls");
    assert!(
        calls.contains("exec x-0-abc --container=plimsoll --namespace=load -- plimsoll pod send"),
        "{calls}"
    );
    assert!(calls.lines().last().unwrap().starts_with("delete "), "{calls}");
}

/// The time for pods to start is over by the third look at the run, which has lost a pod before the second.
#[test]
fn a_pod_that_is_lost_later_does_not_end_the_run() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new(&open(target.addr(), 1));
    handed_out(&folder);
    folder.write("list", list(3));
    folder.write("fewer", list(2));
    let script = "create) cat > made; echo an-identity;;\nversion) ;;\n\
                  get) case $2 in job,pod) cat list; cp fewer list; echo >> looks;; *) echo '{}';; esac;;\n\
                  logs) if [ $(wc -l < looks) -gt 2 ]; then cat log; else head -1 log; fi;;\n\
                  exec) cat whole.plimsoll;;\ndelete) ;;";
    with_kubectl(&folder, script);
    let ran = reached(&folder, &[&RUN[..], &["--start-timeout", "1", "-o", "fetched.plimsoll"]].concat());
    ran.exits_with(0).stderr_contains(&["3 of 3 pods started", "2 of 3 pods started"]);
}
