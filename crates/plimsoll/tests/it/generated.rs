//! What the command generates from its own definition: completions and manual pages.

use std::process::Command;

use crate::command::TestFolder;

const SHELLS: [&str; 5] = ["bash", "elvish", "fish", "powershell", "zsh"];

#[test]
fn completions_of_each_shell_name_verbs_and_their_options() {
    let folder = TestFolder::new("");
    for shell in SHELLS {
        let script = folder.plimsoll(&["completions", shell]);
        script.exits_with(0).stdout_contains(&[
            "plimsoll",
            "monitor",
            "selftest",
            "time-scale",
            "inconclusive",
        ]);
        // `plimsoll run` with a script is a verb inside only.
        assert!(!script.stdout.contains("run-script"), "{shell}");
        let again = folder.plimsoll(&["completions", shell]);
        assert_eq!(again.stdout, script.stdout, "{shell}: the same command gives the same bytes");
    }
    folder.plimsoll(&["completions", "csh"]).exits_with(2).stderr_contains(&["bash", "fish", "zsh"]);
}

#[test]
fn the_topics_of_help_are_completed_beside_the_verbs() {
    let script = TestFolder::new("").plimsoll(&["completions", "bash"]).stdout.clone();
    let (_, of_help) = script.split_once("plimsoll__subcmd__help)").unwrap();
    let words: Vec<&str> = of_help.lines().nth(1).unwrap().trim_end_matches('"').split(' ').collect();
    for word in ["run", "compare", "plan", "objectives", "script", "terms"] {
        assert!(words.contains(&word), "{word}: {words:?}");
    }
}

/// bash is on every machine that builds this; the others are asked where they are installed.
#[test]
fn shells_accept_their_completions() {
    let folder = TestFolder::new("");
    for shell in ["bash", "zsh", "fish"] {
        let script = folder.plimsoll(&["completions", shell]).stdout;
        folder.write("completions", script);
        let checked = Command::new(shell).arg("-n").arg(folder.path("completions")).output();
        match checked {
            Ok(checked) => {
                assert!(checked.status.success(), "{shell}: {}", String::from_utf8_lossy(&checked.stderr))
            }
            Err(error) => assert_ne!(shell, "bash", "{error}"),
        }
    }
}

#[test]
fn bash_completes_verbs_and_options() {
    let folder = TestFolder::new("");
    folder.write("completions", folder.plimsoll(&["completions", "bash"]).stdout);
    let complete = |words: &str, current: usize| {
        let script = format!(
            "source ./completions; COMP_WORDS=({words}); COMP_CWORD={current}; \
             _plimsoll plimsoll \"${{COMP_WORDS[{current}]}}\" \"${{COMP_WORDS[{}]}}\"; echo \"${{COMPREPLY[@]}}\"",
            current - 1
        );
        let ran = Command::new("bash").args(["-c", &script]).current_dir(folder.path("")).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(complete("plimsoll mon", 1), "monitor");
    assert_eq!(complete("plimsoll run --time-s", 2), "--time-scale");
    assert_eq!(complete("plimsoll selftest ver", 2), "verdicts");
    for name in ["script.js", "run.plimsoll", "notes.txt"] {
        folder.write(name, "");
    }
    assert_eq!(complete("plimsoll run ''", 2), "plan.toml script.js");
    assert_eq!(complete("plimsoll report r", 2), "run.plimsoll");
    assert_eq!(complete("plimsoll run plan.toml --html no", 4), "notes.txt");
    assert_eq!(complete("plimsoll run plan.toml --loops n", 4), "n", "a number is no file");
    assert_eq!(complete("plimsoll help obj", 2), "objectives");
    assert_eq!(complete("plimsoll explain A", 2), "A1");
}

#[test]
fn every_verb_has_a_manual_page_that_names_its_options() {
    let folder = TestFolder::new("");
    let pages = folder.path("pages");
    folder.plimsoll(&["man", "--dir", pages.to_str().unwrap()]).exits_with(0);
    let mut names: Vec<String> = std::fs::read_dir(&pages)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let verbs = folder.plimsoll(&["--help"]).stdout;
    let verbs = verbs.split_once("\nTest:\n").unwrap().1.split_once("\nOptions:\n").unwrap().0;
    // Lines that continue a description are indented further.
    let verbs = verbs.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let verbs = verbs.map(|line| line.split_whitespace().next().unwrap()).filter(|verb| *verb != "help");
    let mut expect: Vec<String> = verbs.map(|verb| format!("plimsoll-{verb}.1")).collect();
    expect.extend(["engine", "experiments", "verdicts"].map(|of| format!("plimsoll-selftest-{of}.1")));
    expect.extend(
        ["plan", "objectives", "script", "terms", "ci", "workers"].map(|topic| format!("plimsoll-{topic}.1")),
    );
    expect.push("plimsoll.1".to_owned());
    expect.sort();
    assert_eq!(names, expect);
    let run = folder.read("pages/plimsoll-run.1");
    assert!(run.starts_with(".ie") || run.contains(".TH plimsoll-run 1"), "{run}");
    for part in [
        "time\\-scale",
        "Multiply every duration of the plan",
        ".SH EXAMPLES\n.nf\n",
        ".SH \"EXIT STATUS\"\n.nf\n",
        "plimsoll\\-plan(1)",
    ] {
        assert!(run.contains(part), "{part} is missing:\n{run}");
    }
    assert_eq!(folder.plimsoll(&["man", "run"]).exits_with(0).stdout, run);
    assert_eq!(
        folder.plimsoll(&["man", "selftest", "engine"]).exits_with(0).stdout,
        folder.read("pages/plimsoll-selftest-engine.1")
    );
    assert_eq!(folder.plimsoll(&["man", "plan"]).exits_with(0).stdout, folder.read("pages/plimsoll-plan.1"));
}

#[test]
fn the_page_of_an_unknown_verb_is_refused() {
    let folder = TestFolder::new("");
    folder
        .plimsoll(&["man", "selftest", "engines"])
        .exits_with(2)
        .stderr_contains(&["there is no verb or topic `selftest engines`; did you mean `engine`?"]);
}

/// groff's warnings are what `man` shows of a page that is wrong; asked where `man` is installed.
#[test]
fn man_formats_every_page_without_a_warning() {
    let folder = TestFolder::new("");
    let pages = folder.path("pages");
    folder.plimsoll(&["man", "--dir", pages.to_str().unwrap()]).exits_with(0);
    for page in std::fs::read_dir(&pages).unwrap() {
        let page = page.unwrap().path();
        let formatted = Command::new("man")
            .args(["--warnings", "-E", "UTF-8", "-l"])
            .arg(&page)
            .envs([("MANWIDTH", "100"), ("LC_ALL", "C.UTF-8")])
            .output();
        let Ok(formatted) = formatted else { return };
        let warnings = String::from_utf8_lossy(&formatted.stderr);
        assert!(formatted.status.success() && warnings.is_empty(), "{}: {warnings}", page.display());
        let shown = String::from_utf8_lossy(&formatted.stdout);
        assert!(shown.contains("NAME"), "{}:\n{shown}", page.display());
    }
}
