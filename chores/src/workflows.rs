//! The workflows of GitHub, which nothing here can run: their actions are pinned, and the chores that they call exist.

use std::path::Path;

use saphyr_parser::{Event, Parser};

use clap::CommandFactory as _;

use crate::Arguments;

/// Where workflows are: ours, and those that users copy.
const FOLDERS: [&str; 2] = [".github/workflows", "examples/ci"];

/// Every text of the YAML file at `path`, with the key before it or an empty one.
fn texts(path: &Path) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(path).expect("it is there");
    let mut previous = String::new();
    let mut texts = Vec::new();
    for event in Parser::new_from_str(&text) {
        let Event::Scalar(value, ..) = event.expect("the workflow is YAML").0 else {
            previous.clear();
            continue;
        };
        texts.push((std::mem::replace(&mut previous, value.clone().into_owned()), value.into_owned()));
    }
    texts
}

/// Each workflow's file name with its texts.
fn workflows() -> Vec<(String, Vec<(String, String)>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the workspace");
    let files = FOLDERS.iter().flat_map(|folder| std::fs::read_dir(root.join(folder)).expect("it is there"));
    let paths = files.map(|entry| entry.expect("it can be read").path());
    let yaml = paths.filter(|path| path.extension().is_some_and(|end| end == "yml" || end == "yaml"));
    yaml.map(|path| (path.display().to_string(), texts(&path))).collect()
}

/// Whether an action is named by a commit, which cannot be moved, or is a file of this tree.
fn is_pinned(action: &str) -> bool {
    let commit = action.split_once('@').map_or("", |(_, commit)| commit);
    let is_commit =
        commit.len() == 40 && commit.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_commit || action.starts_with("./")
}

/// The chores that a command line calls: as `cargo xtask VERB`, or built otherwise as `-p chores -- VERB`.
fn chores(line: &str) -> Vec<&str> {
    let words: Vec<&str> = line.split_whitespace().filter(|word| *word != "--").collect();
    let calls = words.windows(3).filter(|words| matches!(words[1], "xtask" | "chores"));
    calls.filter(|words| matches!(words[0], "cargo" | "-p" | "--package")).map(|words| words[2]).collect()
}

#[test]
fn every_action_is_pinned_by_its_commit() {
    let mut actions = 0;
    for (name, texts) in workflows() {
        for (_, action) in texts.iter().filter(|(key, _)| key == "uses") {
            assert!(is_pinned(action), "{name}: pin `{action}` by the 40 digits of a commit");
            actions += 1;
        }
    }
    assert!(actions >= 10, "only {actions} actions were found");
}

#[test]
fn every_chore_that_a_workflow_calls_exists() {
    let mut calls = 0;
    let command = Arguments::command();
    for (name, texts) in workflows() {
        for chore in texts.iter().flat_map(|(_, text)| text.lines()).flat_map(chores) {
            assert!(command.find_subcommand(chore).is_some(), "{name}: there is no chore `{chore}`");
            calls += 1;
        }
    }
    assert!(calls >= 8, "only {calls} calls were found");
}

#[test]
fn tags_and_unknown_chores_would_be_found() {
    assert!(is_pinned(&format!("actions/checkout@{}", "0a".repeat(20))) && is_pinned("./.github/build"));
    for moving in ["actions/checkout@v4", "actions/checkout", "actions/checkout@main", "a/b@11bd719"] {
        assert!(!is_pinned(moving), "{moving}");
    }
    assert_eq!(
        chores("sudo cargo xtask dist --check && cargo run -p chores -- bench lag"),
        ["dist", "bench"]
    );
}
