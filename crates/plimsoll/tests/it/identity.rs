//! What a run file says of the process behind a target, and what a comparison makes of it.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use testbed::{Behaviour, Target};

use crate::command::{TestFolder, closed};

/// A process that an interpreter runs; it ends when its input does.
struct Script(Child);

impl Script {
    /// `sh ARGUMENTS…` in `folder`, with one environment variable.
    fn start(folder: &Path, arguments: &[&str]) -> Script {
        let mut shell = Command::new("/bin/sh");
        shell.args(arguments).current_dir(folder).env_clear().env("API_KEY", "s3cret-value");
        Script(shell.stdin(Stdio::piped()).spawn().unwrap())
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        drop(self.0.wait());
    }
}

/// Make a run of a second of which `sh ARGUMENTS…` is the target's process.
fn run(folder: &TestFolder, target: &Target, arguments: &[&str], file: &str) {
    let script = Script::start(&folder.path(""), arguments);
    let process = format!("[targets.api]\nprocess = {{ pid = {} }}\n", script.0.id());
    folder.write("plan.toml", closed(target.addr(), 1).replace("[targets.api]\n", &process));
    folder
        .plimsoll(&["run", "plan.toml", "--quiet", "-o", file, "--json", "run.json", "--html", "run.html"])
        .exits_with(0);
}

fn target() -> (TestFolder, Target) {
    let folder = TestFolder::new("");
    for script in ["a.sh", "b.sh"] {
        folder.write(script, format!("# {script}\nread line\n"));
    }
    (folder, testbed::http(Behaviour::ok()).unwrap())
}

#[test]
fn two_scripts_of_one_interpreter_are_no_aa_run() {
    let (folder, target) = target();
    run(&folder, &target, &["a.sh", "--fast"], "a.plimsoll");
    run(&folder, &target, &["a.sh", "--fast"], "again.plimsoll");
    run(&folder, &target, &["b.sh", "--fast"], "b.plimsoll");
    run(&folder, &target, &["a.sh", "--slow"], "slow.plimsoll");
    let compare = |other: &str| {
        let ran = folder.plimsoll(&["compare", "a.plimsoll", other, "--json", "c.json"]);
        ran.exits_with(0);
        let findings = folder.json("c.json")["judgement"]["findings"].clone();
        let of_rule = findings.as_array().unwrap().iter().find(|finding| finding["rule"] == "C8");
        of_rule.unwrap()["what"].as_str().unwrap().to_owned()
    };
    let again = compare("again.plimsoll");
    assert!(again.contains("this is an A/A run"), "{again}");
    assert_eq!(compare("b.plimsoll"), "Of what was recorded, one thing was changed: the program of `api`.");
    assert_eq!(
        compare("slow.plimsoll"),
        "Of what was recorded, one thing was changed: the arguments of `api`."
    );
}

#[test]
fn command_line_folder_and_names_of_variables_are_recorded_without_secrets() {
    let (folder, target) = target();
    run(
        &folder,
        &target,
        &["a.sh", "--db", "postgres://shop:hunter2@db/shop", "--token", "t0ps3cret"],
        "a.plimsoll",
    );
    let report = folder.json("run.json");
    let facts = &report["run"]["targets"]["api"];
    assert_eq!(
        facts["command_line"],
        "/bin/sh a.sh --db postgres://shop:[redacted]@db/shop --token [redacted]"
    );
    assert_eq!(facts["folder"], folder.path("").canonicalize().unwrap().display().to_string());
    assert_eq!(facts["environment_names"], "API_KEY");
    assert_eq!(
        (&facts["program_file"], facts["program_file_sha256"].as_str().map(str::len)),
        (&"a.sh".into(), Some(64))
    );
    assert_eq!(facts["exe_sha256"].as_str().map(str::len), Some(64));
    assert!(folder.read("run.html").contains("--token [redacted]"));
    for file in ["a.plimsoll", "run.json", "run.html"] {
        let bytes = std::fs::read(folder.path(file)).unwrap();
        for secret in ["hunter2", "t0ps3cret", "s3cret-value"] {
            let found = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!found, "{secret} is in {file}");
        }
    }
}
