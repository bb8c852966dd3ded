//! A run that was not made: no file that an earlier one wrote under the same names passes for its own.

use rustix::process::Signal;
use testbed::Behaviour;

use crate::command::{TestFolder, closed, recorded_seconds, refusal};

const RUN: [&str; 8] = ["run", "plan.toml", "-q", "-o", "run.plimsoll", "--force", "--md", "s.md"];
const PASSES: &str = "[objectives]\nfew = \"error_rate(all) <= 0%\"\n";

/// A folder with the files of a run that passed.
fn passed() -> (TestFolder, testbed::Target) {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new(&(closed(target.addr(), 1) + PASSES));
    folder.plimsoll(&RUN).exits_with(0);
    assert!(folder.read("s.md").contains("PASS"));
    (folder, target)
}

#[test]
fn the_run_file_of_an_earlier_run_is_set_aside_until_there_is_another() {
    let (folder, target) = passed();
    let plan = folder.read("plan.toml");
    folder.write("plan.toml", plan.replace(&target.addr().to_string(), &refusal().addr().to_string()));
    let ran = folder.plimsoll(&RUN);
    ran.exits_with(2)
        .stderr_contains(&["the run file of an earlier run is now run.plimsoll.previous: this run has none"]);
    assert_eq!(folder.files(".plimsoll"), [""; 0]);
    folder.plimsoll(&["report", "run.plimsoll", "--md", "s.md"]).exits_with(2);
    folder.plimsoll(&["report", "run.plimsoll.previous"]).exits_with(0).stdout_contains(&["PASS"]);
    folder.write("plan.toml", plan);
    assert_eq!(folder.plimsoll(&RUN).exits_with(0).stderr, "");
    assert_eq!(folder.files(".previous"), [""; 0]);
}

#[test]
fn the_evidence_of_an_earlier_run_is_set_aside_where_setup_throws() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new("");
    let load = format!(
        "import http from 'k6/http';\nexport const options = {{ iterations: 3 }};\n\
         export default function () {{ http.get('http://{}/'); }}\n",
        target.addr()
    );
    folder.write("shop.js", &load);
    let run = ["run", "shop.js", "-q", "--evidence", "run.plimsoll", "--force"];
    folder.plimsoll(&run).exits_with(0);
    folder.write("shop.js", load + "export function setup() { throw new Error('no users'); }\n");
    folder.plimsoll(&run).exits_with(107).stderr_contains(&["no users", "run.plimsoll.previous"]);
    assert_eq!(folder.files(".plimsoll"), [""; 0]);
}

#[test]
fn a_run_keeps_no_evidence_where_none_is_wanted() {
    let (folder, target) = passed();
    std::fs::remove_file(folder.path("run.plimsoll")).unwrap();
    folder.write(
        "shop.js",
        format!(
            "import http from 'k6/http';\nexport const options = {{ iterations: 3 }};\n\
             export default function () {{ http.get('http://{}/'); }}\n",
            target.addr()
        ),
    );
    for load in ["plan.toml", "shop.js"] {
        let run = ["run", load, "-q", "--no-evidence", "--json", "r.json"];
        let ran = folder.plimsoll(&run);
        ran.exits_with(0);
        assert!(!ran.stdout.contains(".plimsoll"), "{}", ran.stdout);
        assert!(folder.json("r.json")["accounting"]["ok"].as_u64() > Some(0));
        assert_eq!(folder.files(".plimsoll"), [""; 0], "{load}");
    }
    let both = folder.plimsoll(&["run", "plan.toml", "--no-evidence", "-o", "run.plimsoll"]);
    both.exits_with(2).stderr_contains(&["--no-evidence"]);
}

/// CI systems follow a test by its suite and its name.
#[test]
fn junit_calls_a_run_that_was_not_made_as_it_calls_one_that_was() {
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder = TestFolder::new("");
    let url = format!("http://{}/", target.addr());
    let line = ["http", &url, "-n", "4", "-q", "--objective", "p50 < 20s", "--junit", "j.xml"];
    let suite_and_case = |code: i32| {
        folder.plimsoll(&line).exits_with(code);
        let junit = folder.read("j.xml");
        let whole = junit.lines().find(|line| line.contains("(the whole run)")).map(str::trim);
        let suite = junit.split_once("<testsuite name=").and_then(|(_, rest)| rest.split_once(' '));
        (suite.unwrap().0.to_owned(), whole.unwrap().trim_end_matches("/>").to_owned())
    };
    let made = suite_and_case(4);
    assert_eq!(made.0, format!("\"{}\"", target.addr()));
    drop(target);
    assert_eq!(suite_and_case(2), made);
    assert!(folder.read("j.xml").contains("NOT RUN"));
}

#[test]
fn a_command_line_that_cannot_be_used_is_an_error_in_the_reports_that_it_names() {
    let (folder, _target) = passed();
    let reports =
        ["--md=s.md", "--junit", "j.xml", "--html", "r.html", "--card", "card.md", "--json", "r.json"];
    let written = ["s.md", "j.xml", "r.html", "card.md"];
    for (wrong, why) in
        [(&["--forse"][..], "--forse"), (&["--time-scale", "abc"], "abc"), (&["--vus", "3"], "plan")]
    {
        written.iter().chain(&["r.json"]).for_each(|name| folder.write(name, "PASS"));
        folder
            .plimsoll(&[&RUN[..2], wrong, &reports, &RUN[4..6], &["-o", "run.plimsoll"]].concat())
            .exits_with(2);
        for name in written {
            let text = folder.read(name);
            assert!(
                text.contains("NOT RUN") && text.contains(why) && !text.contains("PASS"),
                "{name}: {text}"
            );
        }
        assert_eq!(folder.files("r.json"), [""; 0], "it cannot say so");
        assert_eq!(folder.files("run.plimsoll.previous"), ["run.plimsoll.previous"]);
    }
}

/// What follows an option by mistake is not a report.
#[test]
fn a_command_line_that_cannot_be_used_changes_no_other_file() {
    let (folder, _target) = passed();
    let plan = folder.read("plan.toml");
    folder.write("notes.md", "kept");
    folder.plimsoll(&["run", "--md", "plan.toml", "--forse"]).exits_with(2);
    folder.plimsoll(&["run", "notes.md", "--md", "notes.md", "--forse"]).exits_with(2);
    folder.plimsoll(&["report", "run.plimsoll", "--md", "notes.md", "--forse"]).exits_with(2);
    assert_eq!((folder.read("plan.toml"), folder.read("notes.md")), (plan, "kept".to_owned()));
    folder.plimsoll(&["report", "run.plimsoll"]).exits_with(0);
}

#[test]
fn a_killed_run_leaves_no_report_of_an_earlier_one() {
    let (folder, target) = passed();
    folder.write("plan.toml", closed(target.addr(), 60) + PASSES);
    let mut run = folder.start(&RUN);
    let path = folder.path("run.plimsoll");
    run.until("it has begun", || folder.path("run.plimsoll.previous").exists());
    run.until("it is recorded", || recorded_seconds(&path) >= 1);
    run.signal(Signal::KILL);
    assert_eq!(run.end().code, None);
    let text = folder.read("s.md");
    assert!(text.contains("NOT RUN") && text.contains("has not ended") && !text.contains("PASS"), "{text}");
}
