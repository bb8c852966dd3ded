//! Every exit code that each verb can end with, by a command line that ends so; and that no verb is left out.

mod fixtures;
mod table;

use std::collections::BTreeSet;

use crate::command::TestFolder;
use fixtures::Targets;
use table::{EXPERIMENTS, LOADS, READS, SCRIPTS, VerbRows};

/// The exit codes of the command, but for scripts.
const CODES: std::ops::RangeInclusive<i32> = 0..=5;

/// What the lines of the table call; the shell's own last status is that of the command.
const FUNCTIONS: &str = "program=$1
plimsoll() { \"$program\" \"$@\"; }
made() { plimsoll \"$@\" > made.txt 2>&1; }
started() { exec \"$program\" \"$@\"; }
";

/// Runs the command lines of a verb, one after the other in one folder, and compares their exit codes with the table.
fn check(verb: &VerbRows, targets: &Targets) {
    let folder = fixtures::folder(targets);
    for (code, line) in verb.rows {
        let script = format!("{FUNCTIONS}{}\n{line}\nexit", targets.exports());
        let ran = folder.plimsoll_after(&script, &[]);
        assert_eq!(
            ran.code,
            Some(*code),
            "{}: {line}\nstdout:\n{}\nstderr:\n{}",
            verb.name,
            ran.stdout,
            ran.stderr
        );
    }
}

/// All at once: most wait for their load to end, or for their targets.
fn check_all(verbs: &[VerbRows]) {
    let targets = &Targets::start();
    std::thread::scope(|scope| {
        for verb in verbs {
            scope.spawn(move || check(verb, targets));
        }
    });
}

#[test]
fn verbs_that_only_read_and_write() {
    check_all(READS);
}

#[test]
fn verbs_that_offer_load_or_watch() {
    check_all(LOADS);
}

#[test]
fn verbs_that_experiment() {
    check_all(EXPERIMENTS);
}

#[test]
fn scripts() {
    check_all(SCRIPTS);
}

/// The verbs of the help, by their manual pages; those that only have verbs of their own are left out.
fn visible_verbs() -> BTreeSet<String> {
    let folder = TestFolder::new("");
    folder.plimsoll(&["man", "--dir", "pages"]).exits_with(0);
    let pages = std::fs::read_dir(folder.path("pages")).unwrap();
    let names = pages.map(|page| page.unwrap().file_name().into_string().unwrap());
    let verbs: BTreeSet<String> = names
        .filter_map(|name| Some(name.strip_prefix("plimsoll-")?.strip_suffix(".1")?.replace('-', " ")))
        .map(|name| if name == "fetch imports" { "fetch-imports".to_owned() } else { name })
        .collect();
    let is_topic =
        |verb: &&String| ["plan", "objectives", "script", "terms", "ci", "workers"].contains(&verb.as_str());
    let has_verbs = |verb: &String| verbs.iter().any(|other| other.starts_with(&format!("{verb} ")));
    verbs.iter().filter(|verb| !has_verbs(verb) && !is_topic(verb)).cloned().collect()
}

#[test]
fn the_table_has_every_visible_verb_with_every_exit_code() {
    let verbs: Vec<&VerbRows> = [READS, LOADS, EXPERIMENTS].into_iter().flatten().collect();
    let named: BTreeSet<String> = verbs.iter().map(|verb| verb.name.to_owned()).collect();
    assert_eq!(named, visible_verbs());
    assert_eq!(verbs.len(), named.len(), "a verb is there twice");
    for verb in verbs {
        let (never, why) = verb.never;
        let mut codes: Vec<i32> =
            verb.rows.iter().map(|(code, _)| *code).chain(never.iter().copied()).collect();
        codes.sort_unstable();
        codes.dedup();
        assert!(codes.iter().copied().eq(CODES), "{}: {codes:?} of {CODES:?}", verb.name);
        assert_eq!(never.is_empty(), why.is_empty(), "{}: say why", verb.name);
        let ends_as = |code: i32| verb.rows.iter().any(|(of, _)| *of == code);
        assert!(never.iter().all(|code| !ends_as(*code)), "{}: a code is both", verb.name);
    }
}

#[test]
fn every_line_of_the_table_ends_with_its_verb() {
    for verb in [READS, LOADS, EXPERIMENTS, SCRIPTS].into_iter().flatten() {
        for (_, line) in verb.rows {
            let line = format!(" {line}").replace(" started ", " plimsoll ");
            let last = line.rsplit(" plimsoll ").next().unwrap();
            let name = verb.name.trim_end_matches(" SCRIPT");
            assert!(last.starts_with(name), "{}: {line}", verb.name);
        }
    }
}

#[test]
fn the_table_has_every_exit_code_that_the_help_of_scripts_names() {
    let folder = TestFolder::new("");
    folder.write("a.js", "export default function () {}");
    let help = folder.plimsoll(&["run", "a.js", "--help"]).exits_with(0).stdout.clone();
    let codes = help.split_once("Exit codes, as k6 has them:").unwrap().1;
    let words = codes.lines().flat_map(|line| {
        let begins = line.split_whitespace().next();
        // `108 the script called exec.test.abort(), 110 exec.test.fail()`
        begins.into_iter().chain(line.split(", ").skip(1).filter_map(|part| part.split_whitespace().next()))
    });
    let named: BTreeSet<i32> = words.filter_map(|word| word.parse().ok()).collect();
    let rows: BTreeSet<i32> = SCRIPTS.iter().flat_map(|verb| verb.rows).map(|(code, _)| *code).collect();
    assert_eq!(rows, named);
}
