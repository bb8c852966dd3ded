//! What identifies the targets of two runs: the program, what it was started with, and where.

use std::collections::{BTreeMap, BTreeSet};

use workload::redact::REDACTED;

type Facts = BTreeMap<String, String>;

/// The value of a fact that could not be read, alone or before the reason.
const UNKNOWN: &str = "unknown";

/// What two runs say of their targets.
#[derive(Debug, Default)]
pub(super) struct Identities {
    /// What differs: ``the program of `web` ``.
    pub(super) changed: Vec<String>,
    /// What is not known on both sides: ``of `web` its folder``.
    pub(super) unknown: Vec<String>,
    /// Of targets that had different addresses, where they were: `` `web` 127.0.0.1:8000 in A, :8001 in B``.
    pub(super) moved: Vec<String>,
    /// Targets of which something is known to be equal.
    pub(super) equal: usize,
    /// Targets that one process served in both runs.
    pub(super) same_process: usize,
    pub(super) targets: usize,
}

/// A part of an identity on both sides.
#[derive(Debug, PartialEq, Eq)]
enum Part {
    Same,
    Differs,
    Unknown(&'static str),
}

impl Identities {
    /// Of the baseline's targets and those of the run with this letter.
    pub(super) fn of([some, other]: [&BTreeMap<String, Facts>; 2], letter: char) -> Identities {
        let names: BTreeSet<&String> = some.keys().chain(other.keys()).collect();
        let mut identities = Identities { targets: names.len(), ..Identities::default() };
        let nothing = Facts::new();
        for name in names {
            let sides = [some, other].map(|targets| targets.get(name).unwrap_or(&nothing));
            identities.add(name, sides);
            identities.moved.extend(moved(name, sides, letter));
        }
        identities
    }

    /// Whether the same process served every target.
    pub(super) fn are_the_same_process(&self) -> bool {
        self.targets > 0 && self.same_process == self.targets
    }

    /// Whether everything that identifies a target is known and equal.
    pub(super) fn are_equal(&self) -> bool {
        self.targets > 0 && self.changed.is_empty() && self.unknown.is_empty()
    }

    fn add(&mut self, name: &str, sides: [&Facts; 2]) {
        let program = program(sides);
        let is_other_program = program == Part::Differs;
        let mut parts = vec![
            ("the program", program),
            ("the arguments", arguments(sides)),
            (
                "the names of environment variables",
                equal(sides, "environment_names", "the names of its environment variables"),
            ),
        ];
        // Another build is another program in another folder or image: one change.
        if !is_other_program {
            parts.push(("the folder", equal(sides, "folder", "its folder")));
            parts.push(("the container", container(sides)));
        }
        let differing = parts.iter().filter(|(_, part)| *part == Part::Differs);
        let before = self.changed.len();
        self.changed.extend(differing.map(|(what, _)| format!("{what} of `{name}`")));
        if self.changed.len() == before && is_same_process(sides) {
            self.same_process += 1;
            return;
        }
        self.equal += usize::from(parts.iter().any(|(_, part)| *part == Part::Same));
        let unknown: Vec<&str> = parts
            .iter()
            .filter_map(|(_, part)| match part {
                Part::Unknown(what) => Some(*what),
                Part::Same | Part::Differs => None,
            })
            .collect();
        if !unknown.is_empty() {
            self.unknown.push(format!("of `{name}` {}", unknown.join(", ")));
        }
    }
}

/// The addresses of a target, if they differ; the second without its host where that is the same.
fn moved(name: &str, sides: [&Facts; 2], letter: char) -> Option<String> {
    let address = |facts: &Facts| ["http", "grpc"].iter().find_map(|of| facts.get(*of).cloned());
    let [Some(some), Some(other)] = sides.map(address) else { return None };
    let port = match (some.rsplit_once(':'), other.rsplit_once(':')) {
        (Some((host, _)), Some((same, port))) if host == same => format!(":{port}"),
        _ => other.clone(),
    };
    (some != other).then(|| format!("`{name}` {some} in A, {port} in {letter}"))
}

/// The value on both sides where it is known.
fn known<'f>(sides: [&'f Facts; 2], name: &str) -> [Option<&'f str>; 2] {
    sides.map(|facts| facts.get(name).map(String::as_str).filter(|value| !is_unknown(value)))
}

fn is_unknown(value: &str) -> bool {
    value.strip_prefix(UNKNOWN).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
}

fn equal(sides: [&Facts; 2], name: &str, what: &'static str) -> Part {
    match known(sides, name) {
        [Some(some), Some(other)] if some == other => Part::Same,
        [Some(_), Some(_)] => Part::Differs,
        _ => Part::Unknown(what),
    }
}

/// A process is identified by its id and its start.
fn is_same_process(sides: [&Facts; 2]) -> bool {
    ["pid", "started_unix_s"].iter().all(|name| equal(sides, name, "") == Part::Same)
}

/// The executable and, of an interpreter, the file that it runs.
fn program(sides: [&Facts; 2]) -> Part {
    const FILE: &str = "program_file_sha256";
    let has_file = sides.iter().any(|facts| facts.contains_key(FILE));
    match equal(sides, "exe_sha256", "its program") {
        Part::Same if has_file => equal(sides, FILE, "the file that its interpreter runs"),
        part => part,
    }
}

/// The command line without the names of program and file: a digest identifies those.
fn arguments(sides: [&Facts; 2]) -> Part {
    const UNKNOWN_LINE: Part = Part::Unknown("its command line");
    let [Some(some), Some(other)] = known(sides, "command_line") else { return UNKNOWN_LINE };
    let without_names = |line: &str, facts: &Facts| {
        let names = ["argv0", "program_file"].iter().filter_map(|name| facts.get(*name));
        names.fold(line.to_owned(), |line, name| line.replacen(name.as_str(), "", 1))
    };
    let lines = [without_names(some, sides[0]), without_names(other, sides[1])];
    match lines {
        [some, other] if some != other => Part::Differs,
        [some, _] if some.contains(REDACTED) => Part::Unknown("the redacted part of its command line"),
        _ => Part::Same,
    }
}

/// Each start of a container has an id of its own; its image identifies it.
fn container(sides: [&Facts; 2]) -> Part {
    const NONE: &str = "none visible";
    match known(sides, "container") {
        [Some(some), Some(other)] if some == other => Part::Same,
        [Some(NONE), Some(_)] | [Some(_), Some(NONE)] => Part::Differs,
        [Some(_), Some(_)] => equal(sides, "container_image", "the image of its container"),
        _ => Part::Unknown("its container"),
    }
}
