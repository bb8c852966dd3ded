//! C8: what identifies a target, on both sides.

use evidence::Provenance;

use super::{between, judgement, later, sound};
use crate::testing::TestRun;

/// A Python server as it is recorded.
const SCRIPT: [(&str, &str); 9] = [
    ("exe_sha256", "py311"),
    ("argv0", "python3"),
    ("command_line", "python3 shop.py --port 8000"),
    ("program_file", "shop.py"),
    ("program_file_sha256", "aa11"),
    ("folder", "/srv"),
    ("environment_names", "HOME PATH"),
    ("container", "none visible"),
    ("pid", "7"),
];

/// A run against [`SCRIPT`] with these facts changed; a start of its own, by `started_unix_s`.
fn run(test_run: TestRun, started_unix_s: &str, changed: &[(&str, &str)]) -> TestRun {
    let mut test_run = test_run;
    test_run.edit(|manifest| {
        let started = [("started_unix_s", started_unix_s)];
        let facts = SCRIPT.iter().chain(&started).chain(changed);
        let facts = facts.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        manifest.targets.insert("web".to_owned(), facts);
    });
    test_run
}

/// The finding of C8 on two starts, of which the second has these facts changed.
fn restarted(changed: &[(&str, &str)]) -> String {
    between("C8", &run(sound(), "5", &[]), &run(later(), "65", changed))
}

#[test]
fn a_restart_of_the_same_program_is_an_aa_run() {
    insta::assert_snapshot!(restarted(&[]), @r"
    info [0, 1] Program, arguments, folder, names of environment variables and container of the target are equal on both sides, under the same load: this is an A/A run. Differences are noise, unless values of environment variables or files that the program reads were changed: they are not recorded.
    refusals: 0
    ");
    let because = |new: &TestRun| {
        judgement([(&run(sound(), "5", &[]), Provenance::Intact), (new, Provenance::Intact)]).because
    };
    insta::assert_snapshot!(because(&run(later(), "65", &[])), @"Two runs of one program, as far as is recorded: what differs between them is how much runs differ here.");
    insta::assert_snapshot!(because(&run(later(), "65", &[("program_file", "fast")])), @"Two runs side by side: a description, no verdict on their differences.");
}

#[test]
fn two_scripts_of_one_interpreter_are_two_programs() {
    let other = [
        ("command_line", "python3 fast.py --port 8000"),
        ("program_file", "fast.py"),
        ("program_file_sha256", "bb22"),
    ];
    insta::assert_snapshot!(restarted(&other), @r"
    info [0, 1] Of what was recorded, one thing was changed: the program of `web`.
    refusals: 0
    ");
    // The same name with other content.
    insta::assert_snapshot!(restarted(&[("program_file_sha256", "bb22")]), @r"
    info [0, 1] Of what was recorded, one thing was changed: the program of `web`.
    refusals: 0
    ");
    // A module in another folder.
    let base = run(
        sound(),
        "5",
        &[("command_line", "python3 -m shop"), ("program_file", "none"), ("program_file_sha256", "none")],
    );
    let moved = run(
        later(),
        "65",
        &[
            ("command_line", "python3 -m shop"),
            ("program_file", "none"),
            ("program_file_sha256", "none"),
            ("folder", "/srv2"),
        ],
    );
    insta::assert_snapshot!(between("C8", &base, &moved), @r"
    info [0, 1] Of what was recorded, one thing was changed: the folder of `web`.
    refusals: 0
    ");
}

#[test]
fn the_same_program_with_other_arguments_or_variables_was_changed() {
    insta::assert_snapshot!(restarted(&[("command_line", "python3 shop.py --port 8000 --cache")]), @r"
    info [0, 1] Of what was recorded, one thing was changed: the arguments of `web`.
    refusals: 0
    ");
    let two = [("command_line", "python3 shop.py --cache"), ("environment_names", "HOME PATH WORKERS")];
    insta::assert_snapshot!(restarted(&two), @r"
    caution [0, 1] More than one thing was changed: the arguments of `web`, the names of environment variables of `web`. Their effects cannot be separated.
    refusals: 0
    ");
}

#[test]
fn what_could_not_be_read_is_unknown_and_named() {
    let hidden =
        [("environment_names", "unknown: permission denied"), ("folder", "unknown: permission denied")];
    insta::assert_snapshot!(restarted(&hidden), @r"
    info [0, 1] Nothing that was recorded differs, and the load is the same. Differences may be noise, or come from what is unknown: of `web` the names of its environment variables, its folder.
    refusals: 0
    ");
    // Equal words for what is unknown are not equal facts.
    let base = run(sound(), "5", &hidden);
    insta::assert_snapshot!(between("C8", &base, &run(later(), "65", &hidden)), @r"
    info [0, 1] Nothing that was recorded differs, and the load is the same. Differences may be noise, or come from what is unknown: of `web` the names of its environment variables, its folder.
    refusals: 0
    ");
    let secret = [("command_line", "python3 shop.py --token [redacted]")];
    insta::assert_snapshot!(between("C8", &run(sound(), "5", &secret), &run(later(), "65", &secret)), @r"
    info [0, 1] Nothing that was recorded differs, and the load is the same. Differences may be noise, or come from what is unknown: of `web` the redacted part of its command line.
    refusals: 0
    ");
}

#[test]
fn containers_are_compared_by_their_images() {
    let container = |id, image| [("container", id), ("container_image", image)];
    let pair = |one: &[(&str, &str)], other: &[(&str, &str)]| {
        between("C8", &run(sound(), "5", one), &run(later(), "65", other))
    };
    insta::assert_snapshot!(pair(&container("c1", "sha256:1"), &container("c2", "sha256:1")), @r"
    info [0, 1] Program, arguments, folder, names of environment variables and container of the target are equal on both sides, under the same load: this is an A/A run. Differences are noise, unless values of environment variables or files that the program reads were changed: they are not recorded.
    refusals: 0
    ");
    insta::assert_snapshot!(pair(&container("c1", "sha256:1"), &container("c2", "sha256:2")), @r"
    info [0, 1] Of what was recorded, one thing was changed: the container of `web`.
    refusals: 0
    ");
    insta::assert_snapshot!(pair(&container("c1", "unknown"), &container("c2", "unknown")), @r"
    info [0, 1] Nothing that was recorded differs, and the load is the same. Differences may be noise, or come from what is unknown: of `web` the image of its container.
    refusals: 0
    ");
    insta::assert_snapshot!(pair(&[], &container("c2", "sha256:2")), @r"
    info [0, 1] Of what was recorded, one thing was changed: the container of `web`.
    refusals: 0
    ");
}

#[test]
fn targets_of_which_the_address_alone_is_known_are_told_apart_by_it() {
    let at = |mut test_run: TestRun, address: &str| {
        test_run.edit(|manifest| {
            let facts = [("http".to_owned(), address.to_owned())].into();
            manifest.targets = [("web".to_owned(), facts)].into();
        });
        test_run
    };
    let base = at(sound(), "127.0.0.1:8000");
    insta::assert_snapshot!(between("C8", &base, &at(later(), "127.0.0.1:8001")), @r"
    info [0, 1] What was changed between the two is unknown: nothing that was recorded distinguishes their targets but their addresses: `web` 127.0.0.1:8000 in A, :8001 in B.
    refusals: 0
    ");
    insta::assert_snapshot!(between("C8", &base, &at(later(), "other:8000")), @r"
    info [0, 1] What was changed between the two is unknown: nothing that was recorded distinguishes their targets but their addresses: `web` 127.0.0.1:8000 in A, other:8000 in B.
    refusals: 0
    ");
    insta::assert_snapshot!(between("C8", &base, &at(later(), "127.0.0.1:8000")), @r"
    info [0, 1] What was changed between the two is unknown: nothing that was recorded distinguishes their targets.
    refusals: 0
    ");
}

#[test]
fn a_comparison_has_the_objectives_of_each_run() {
    let judgement = judgement([(&sound(), Provenance::Intact), (&later(), Provenance::Intact)]);
    assert_eq!(judgement.objectives.len(), 2);
    assert_eq!(judgement.objectives[0].len(), sound().workload.objectives.len());
}
