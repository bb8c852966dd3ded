//! Programs that the tree starts: each is installed by the step `needs`, or it is one that every Debian has, or the code that
//! starts it does without. A machine that happens to have a program hides that the step does not install it.

use super::complaint::Complaint;
use super::lexer::{Code, literal_end};
use super::shell;
use super::tree::{Source, Tree};
use crate::needs::NEEDS;

/// In packages that Debian marks as required, so that every installation has them.
const REQUIRED: &str = "apt-get bash cat chmod cp date dpkg dpkg-deb env grep gzip head install ldd ln ls mkdir mkfifo mount \
                        mv nsenter perl prlimit rm sed seq setsid sh sha256sum sleep sort tail tar taskset touch true \
                        unshare wc";

/// Programs beyond these, each with the only place where it may be started, and why the test command passes without it.
const EXCEPTIONS: &[(&str, &str)] = &[
    // The cluster's chore names the packages that it needs.
    ("containerd", "chores/src/cluster/"),
    ("ctr", "chores/src/cluster/"),
    ("etcd", "chores/src/cluster/"),
    ("openssl", "chores/src/cluster/"),
    // Benchmarks compare with what is installed.
    ("sqlite3", "chores/src/bench/"),
    ("vegeta", "chores/src/bench/"),
    ("wrk", "chores/src/bench/"),
    // These chores name its package.
    ("prometheus", "chores/src/receivers/"),
    ("promtool", "chores/src/receivers/"),
    // What is asked only where it is installed: the test of wheels, those of manual pages, profiles of targets.
    ("python3", "chores/src/dist/"),
    ("man", "chores/src/dist/check.rs"),
    ("man", "crates/plimsoll/tests/it/generated.rs"),
    ("perf", "crates/observe/src/perf.rs"),
    // It is the user's. Tests write one.
    ("kubectl", "crates/kubernetes/src/"),
    // It comes with cargo.
    ("rustc", "chores/src/sanitizer.rs"),
    // It comes with `postgres`.
    ("psql", "crates/observe/tests/"),
    // A test of what is missing.
    ("no-such-binary-anywhere", "xtask/src/child.rs"),
];

/// Every program that a fresh machine need not have.
pub(super) fn check(tree: &Tree) -> Vec<Complaint> {
    let of_source = |source| {
        let started = started(source).into_iter().filter(|start| !is_known(tree, source, &start.program));
        started.map(|Start { program, at }| complaint(source, at, &program)).collect::<Vec<_>>()
    };
    tree.sources.iter().flat_map(of_source).collect()
}

fn complaint(source: &Source, at: usize, program: &str) -> Complaint {
    Complaint {
        path: source.path.clone(),
        line: source.line_at(at),
        wrong: format!("`{program}` is started, and the step `needs` does not install it"),
        instead:
            "do without it, add it to NEEDS in chores/src/needs.rs with its package, or give the reason in \
                  chores/src/tidy/programs.rs"
                .to_owned(),
    }
}

fn is_known(tree: &Tree, source: &Source, program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or_default();
    let is_ours = || {
        ["crates", "services"].iter().any(|layer| tree.text(&format!("{layer}/{name}/Cargo.toml")).is_some())
    };
    REQUIRED.split(' ').any(|program| program == name)
        || NEEDS.iter().any(|need| need.binary() == name)
        || EXCEPTIONS.iter().any(|(program, path)| *program == name && source.path.starts_with(path))
        || is_ours()
}

/// A program that is started, and where.
struct Start {
    program: String,
    at: usize,
}

fn started(source: &Source) -> Vec<Start> {
    let Some(code) = &source.code else { return Vec::new() };
    let calls = code.find("Command::new").filter_map(|at| {
        let program = value_after(source, at + "Command::new".len(), "(")?;
        Some(Start { program, at })
    });
    let of_scripts = scripts(source, code).into_iter().flat_map(|(script, at)| {
        shell::commands(&script).into_iter().map(move |program| Start { program, at })
    });
    calls.chain(of_scripts).collect()
}

/// Scripts that a shell is given: after `-c`, before a command of a test, and in files that tests write.
fn scripts(source: &Source, code: &Code) -> Vec<(String, usize)> {
    let text = source.text.as_str();
    // Other programs have a `-c` too.
    let is_of_shell = |at: &usize| {
        let before = &text[text.floor_char_boundary(at.saturating_sub(200))..*at];
        ["\"sh\"", "\"bash\"", "shell"].iter().any(|shell| before.contains(shell))
    };
    let flags = text.match_indices("c\",").map(|(at, _)| at + 2).filter(is_of_shell);
    let mut scripts: Vec<_> = flags.filter_map(|at| Some((value_after(source, at, ",")?, at))).collect();
    for call in [".start_after", ".plimsoll_after"] {
        let places = code.find(call).map(|at| at + call.len());
        scripts.extend(places.filter_map(|at| Some((value_after(source, at, "(")?, at))));
    }
    let is_written = |at: &usize| text[..*at].rfind('"').is_some_and(|open| text[..open].ends_with("write("));
    let names = text.match_indices(".sh\"").map(|(at, _)| at).filter(is_written).map(|at| at + ".sh\"".len());
    scripts.extend(names.filter_map(|at| Some((value_after(source, at, ",")?, at))));
    scripts
}

/// The text that follows `mark` at `at`: a literal, one with values in it, or the name of one in the same file.
fn value_after(source: &Source, at: usize, mark: &str) -> Option<String> {
    let rest = source.text.get(at..)?.strip_prefix(mark)?;
    let rest = rest.trim_start().trim_start_matches('&');
    if let Some(literal) = rest.strip_prefix("format!(") {
        return Some(without_values(&literal_of(literal.trim_start())?));
    }
    if let Some(literal) = literal_of(rest) {
        return Some(literal);
    }
    let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    if name.is_empty() || !rest[name.len()..].starts_with([')', ',', ']']) {
        return None;
    }
    let bound =
        [format!("const {name}: &str = "), format!("let {name} = "), format!("let {name} = format!(")];
    bound.iter().find_map(|binding| {
        let value = source.text.split_once(binding.as_str())?.1.trim_start();
        let literal = literal_of(value)?;
        Some(if binding.ends_with('(') { without_values(&literal) } else { literal })
    })
}

/// The text of the string literal that `rest` begins with.
fn literal_of(rest: &str) -> Option<String> {
    let end = literal_end(rest.as_bytes(), 0);
    let literal = rest.get(..end).filter(|literal| literal.ends_with(['"', '#']))?;
    if let Some(raw) = literal.strip_prefix('r') {
        return Some(raw.trim_matches('#').trim_matches('"').to_owned());
    }
    let inner = literal.strip_prefix('"')?.strip_suffix('"')?;
    let mut lines = inner.split("\\\n").map(str::trim_start);
    let first = lines.next()?.to_owned();
    let joined = lines.fold(first, |joined, line| joined + line);
    Some(joined.replace("\\n", "\n").replace("\\\"", "\"").replace("\\\\", "\\"))
}

/// A format string with `$` in the place of each value.
fn without_values(format: &str) -> String {
    let mut text = String::new();
    let mut rest = format;
    while let Some(at) = rest.find(['{', '}']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let doubled = ["{{", "}}"].iter().find(|pair| rest.starts_with(**pair));
        let length = match doubled {
            Some(pair) => {
                text.push_str(&pair[..1]);
                pair.len()
            }
            None => {
                text.push('$');
                rest.find('}').map_or(rest.len(), |end| end + 1)
            }
        };
        rest = &rest[length..];
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::super::complaint::printed;
    use super::*;

    fn check_one(path: &str, text: &str, programs: &[(usize, &str)]) {
        let expect: String = programs
            .iter()
            .map(|(line, program)| {
                format!(
                    "{path}:{line}: `{program}` is started, and the step `needs` does not install it; do without it, add it \
                     to NEEDS in chores/src/needs.rs with its package, or give the reason in chores/src/tidy/programs.rs\n"
                )
            })
            .collect();
        let tree = Tree::of(&[(path, text), ("services/gateway/Cargo.toml", "")]);
        assert_eq!(printed(&check(&tree)), expect, "of {text}");
    }

    #[test]
    fn a_program_that_is_not_installed_is_named() {
        let path = "services/gateway/tests/it/a.rs";
        check_one(path, "fn f() {\n    Command::new(\"jq\");\n}", &[(2, "jq")]);
        check_one(
            path,
            "const TOOL: &str = \"/usr/bin/jq\";\nfn f() { Command::new(TOOL); }",
            &[(2, "/usr/bin/jq")],
        );
        check_one(path, "fn f() { Command::new(\"perf\"); }", &[(1, "perf")]);
    }

    #[test]
    fn what_every_machine_has_or_is_given_passes() {
        let path = "services/gateway/tests/it/a.rs";
        check_one(
            path,
            "fn f() { Command::new(\"/bin/sh\"); Command::new(\"ip\"); Command::new(\"gateway\"); }",
            &[],
        );
        check_one(
            path,
            "// Command::new(\"jq\")\nfn f() { Command::new(program); Command::new(BINARY); }",
            &[],
        );
        check_one("crates/observe/src/perf.rs", "fn f() { Command::new(\"perf\"); }", &[]);
    }

    #[test]
    fn scripts_are_searched_where_a_shell_is_given_them() {
        let path = "services/gateway/tests/it/a.rs";
        check_one(
            path,
            "fn f() { Command::new(\"sh\").args([\"-c\", \"true; openssl version\"]); }",
            &[(1, "openssl")],
        );
        check_one(path, "fn f() { Command::new(\"python3\"); }", &[(1, "python3")]);
        check_one(
            path,
            "fn f() { let script = format!(\"{program} x; jq {{}}\"); shell.args([\"-c\", &script]); }",
            &[(1, "jq")],
        );
        check_one(
            path,
            "const S: &str = r#\"\nwget x\n\"#;\nfn f() { folder.write(\"a.sh\", S); }",
            &[(4, "wget")],
        );
        check_one(
            path,
            "fn f() { folder.start_after(\"exec xmllint \\\"$@\\\"\", &[\"-c\", \"jq\"]); }",
            &[(1, "xmllint")],
        );
        check_one(path, "fn f() { plimsoll(&[\"http\", \"-c\", \"jq\"]); }", &[]);
    }
}
