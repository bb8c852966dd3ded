//! What the guides in `docs/` show: their plans are valid and run, and their command lines are those of the command.

use std::path::Path;

use testbed::Behaviour;

use crate::command::TestFolder;

fn guide(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The contents of the blocks of code in this language.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    let blocks = text.split(&fence).skip(1);
    blocks.filter_map(|rest| rest.split("```").next()).map(str::to_owned).collect()
}

/// The blocks that are whole plans.
fn plans(text: &str) -> Vec<String> {
    blocks(text, "toml").into_iter().filter(|block| block.contains("version = 1\n")).collect()
}

#[test]
fn the_first_plan_of_the_reference_has_twelve_lines_and_runs() {
    let plan = plans(&guide("plan.md")).remove(0);
    let lines = plan.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).count();
    assert_eq!(lines, 12, "{plan}");
    assert_eq!(plans(&guide("../README.md"))[0], plan, "the README shows another first plan");
    let target = testbed::http(Behaviour::ok()).unwrap();
    let folder =
        TestFolder::new(&plan.replace("http://127.0.0.1:8000", &format!("http://{}", target.addr())));
    folder.plimsoll(&["check", "plan.toml"]).exits_with(0);
    let run =
        ["run", "plan.toml", "--quiet", "--time-scale", "0.02", "--inconclusive", "warn", "--no-precheck"];
    folder.plimsoll(&run).exits_with(0);
    assert_eq!(target.requests(), 120);
}

#[test]
fn the_plan_of_the_tutorial_is_valid_and_runs() {
    let plan = plans(&guide("tutorial.md")).remove(0);
    let folder = TestFolder::new(&plan);
    let check = folder.plimsoll(&["check", "plan.toml"]);
    check.exits_with(0);
    let shown = guide("tutorial.md");
    assert!(
        shown.contains(check.stdout.trim_end()),
        "the tutorial shows another output of `check`:\n{}",
        check.stdout
    );
    let target = testbed::http(Behaviour::ok()).unwrap();
    let api = format!("api=http://{}", target.addr());
    let mut run = vec!["run", "plan.toml", "--quiet", "--time-scale", "0.05"];
    run.extend(["--inconclusive", "warn", "--no-precheck", "--target", &api]);
    folder.plimsoll(&run).exits_with(0);
    let log = target.log();
    assert_eq!(log.len(), 70);
    assert!(log.iter().all(|served| served.header("x-mock-user-id").unwrap().starts_with("player-")));
}

/// Each option is known, and each value of one can be read: `--help` at the end makes the command do nothing else.
#[test]
fn the_command_lines_of_the_guides_are_those_of_the_command() {
    let folder = TestFolder::new("");
    let mut tried = 0;
    for name in ["tutorial.md", "new.md", "adhoc.md"] {
        for line in blocks(&guide(name), "sh").iter().flat_map(|block| block.lines()) {
            let line = line.split("   #").next().unwrap_or_default().trim_end();
            // All that follows `curl` is its own.
            if !line.starts_with("plimsoll ") || line.starts_with("plimsoll new curl") {
                continue;
            }
            let script = format!("plimsoll() {{ \"$0\" \"$@\" --help; }}; {line}");
            let binary = env!("CARGO_BIN_EXE_plimsoll");
            let ran = std::process::Command::new("sh").args(["-c", &script, binary]).output().unwrap();
            assert!(ran.status.success(), "{name}: {line}: {}", String::from_utf8_lossy(&ran.stderr));
            tried += 1;
        }
    }
    assert!(tried >= 15, "only {tried} command lines were found");
    assert!(folder.files(".plimsoll").is_empty());
}
