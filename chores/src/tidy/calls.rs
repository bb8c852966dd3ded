//! Calls that are allowed in few places: of the clock, of random numbers, of sleep, of the standard streams, and those
//! that a pure crate must not make. Clippy's `disallowed-methods` has the calls with few homes; its list is one for the whole workspace, and the
//! homes of these are whole crates.

use super::complaint::Complaint;
use super::imports::pure_folders;
use super::tree::{Source, Tree};

/// Where a call is allowed.
enum Home {
    /// Below these paths, and nowhere else.
    Under(&'static [&'static str]),
    /// Anywhere but in a pure crate.
    OutsidePureCrates,
}

/// What tests may do.
enum InTests {
    Free,
    /// Only in these files, each with its reason beside it.
    Listed(&'static [&'static str]),
}

struct Call {
    tokens: &'static [&'static str],
    home: Home,
    in_tests: InTests,
    wrong: &'static str,
    instead: &'static str,
}

/// A sleep in a test is a guess about speed, unless it is one of these.
const SLEEPING_TESTS: &[&str] = &[
    // Between two checks of another process's state, which cannot be waited for.
    "crates/plimsoll/tests/it/command.rs",
    // The test is about a generator that is stopped for some time.
    "crates/plimsoll/tests/it/signals.rs",
    // The tests are about late responses.
    "services/listings/tests/it/postgres/late.rs",
];

const CALLS: &[Call] = &[
    Call {
        tokens: &["Instant::now", "clock_gettime"],
        home: Home::Under(&[
            "crates/engine/src/clock.rs",
            "crates/conduct/",
            "crates/experiments/",
            "crates/kubernetes/",
            "crates/observe/",
            "crates/plimsoll/src/",
            "crates/testbed/",
            "fuzz/",
            "peers/",
            "services/",
            "chores/",
            "xtask/",
        ]),
        in_tests: InTests::Free,
        wrong: "reads the monotonic clock outside its home",
        instead: "take the instant as a parameter; the engine's is in crates/engine/src/clock.rs",
    },
    Call {
        tokens: &["thread_rng", "rand::", "getrandom", "fastrand"],
        home: Home::Under(&[
            "crates/cluster/src/handshake.rs",
            "crates/k6/src/modules/crypto.rs",
            "crates/k6/src/web_crypto",
            "crates/k6/src/websocket.rs",
            "crates/testbed/",
            "services/",
            "chores/",
            "xtask/",
        ]),
        in_tests: InTests::Free,
        wrong: "draws random numbers outside its home",
        instead: "make the choice a pure function of the run's seed and the arrival's number",
    },
    Call {
        tokens: &["thread::sleep", "time::sleep", "time::sleep_until"],
        home: Home::Under(&[
            "crates/engine/src/clock.rs",
            "crates/conduct/",
            "crates/experiments/",
            "crates/kubernetes/",
            "crates/observe/",
            "crates/plimsoll/src/",
            "crates/testbed/",
            "peers/",
            "services/",
            "chores/",
            "xtask/",
        ]),
        in_tests: InTests::Listed(SLEEPING_TESTS),
        wrong: "sleeps where nothing may sleep",
        instead: "wait for the condition itself (a channel, a readiness event, a line of output)",
    },
    Call {
        tokens: &["stdout()", "stderr()", "print!", "println!", "eprint!", "eprintln!"],
        home: Home::Under(&[
            "crates/conduct/src/screen.rs",
            "crates/testbed/",
            "fuzz/",
            "peers/",
            "services/",
            "chores/",
            "xtask/",
        ]),
        in_tests: InTests::Free,
        wrong: "uses a standard stream outside its home",
        instead: "give the text to crates/conduct/src/screen.rs, whose lines are visible whatever they quote",
    },
    Call {
        tokens: &["std::fs", "std::net", "std::process", "std::thread", "std::env"],
        home: Home::OutsidePureCrates,
        in_tests: InTests::Free,
        wrong: "is input or output in a pure crate",
        instead: "take the bytes as a parameter and let the caller read them",
    },
];

/// Every call outside its home.
pub(super) fn check(tree: &Tree) -> Vec<Complaint> {
    tree.sources.iter().flat_map(|source| CALLS.iter().flat_map(|call| misplaced(source, call))).collect()
}

fn misplaced(source: &Source, call: &Call) -> Vec<Complaint> {
    let Some(code) = &source.code else { return Vec::new() };
    let at_home = match call.home {
        Home::Under(paths) => paths.iter().any(|path| source.path.starts_with(path)),
        Home::OutsidePureCrates => !pure_folders().any(|folder| source.path.starts_with(&folder)),
    };
    let in_tests = match call.in_tests {
        InTests::Free => true,
        InTests::Listed(files) => files.contains(&source.path.as_str()),
    };
    let found = call.tokens.iter().flat_map(|token| code.find(token).map(move |at| (*token, at)));
    found
        .filter(|(_, at)| if code.in_tests(*at) { !in_tests } else { !at_home })
        .map(|(token, at)| Complaint {
            path: source.path.clone(),
            line: source.line_at(at),
            wrong: format!("`{token}` {}", call.wrong),
            instead: call.instead.to_owned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::complaint::printed;
    use super::*;

    fn check_one(path: &str, text: &str, expect: &str) {
        assert_eq!(printed(&check(&Tree::of(&[(path, text)]))), expect, "of {path}: {text}");
    }

    #[test]
    fn every_call_is_caught_away_from_home() {
        let text = "use std::time::Instant;\nfn f() {\n    Instant::now();\n    rand::random();\n    std::thread::sleep(d);\n}\n";
        check_one(
            "crates/engine/src/dispatch.rs",
            text,
            "crates/engine/src/dispatch.rs:3: `Instant::now` reads the monotonic clock outside its home; take the \
             instant as a parameter; the engine's is in crates/engine/src/clock.rs\n\
             crates/engine/src/dispatch.rs:4: `rand::` draws random numbers outside its home; make the choice a pure \
             function of the run's seed and the arrival's number\n\
             crates/engine/src/dispatch.rs:5: `thread::sleep` sleeps where nothing may sleep; wait for the \
             condition itself (a channel, a readiness event, a line of output)\n",
        );
    }

    #[test]
    fn a_pure_crate_has_no_input_or_output() {
        check_one(
            "crates/judge/src/lib.rs",
            "use std::fs;\n",
            "crates/judge/src/lib.rs:1: `std::fs` is input or output in a pure crate; take the bytes as a parameter \
             and let the caller read them\n",
        );
        check_one("crates/archive/src/lib.rs", "use std::fs;\n", "");
        check_one("crates/judge/src/lib.rs", "#[cfg(test)]\nmod tests { use std::fs; }\n", "");
        check_one("crates/judge/tests/it/main.rs", "use std::fs;\n", "");
    }

    #[test]
    fn homes_and_comments_are_left_alone() {
        check_one("crates/engine/src/clock.rs", "fn now() { Instant::now() }", "");
        check_one("crates/conduct/src/live.rs", "fn now() { Instant::now() }", "");
        check_one("services/kit/src/serve.rs", "fn now() { Instant::now(); tokio::time::sleep(d) }", "");
        check_one("crates/wire/src/lib.rs", "//! Never `Instant::now`.\nconst S: &str = \"rand::\";", "");
        check_one("docs/engine.md", "Instant::now", "");
    }

    #[test]
    fn one_file_writes_to_the_terminal() {
        for (call, token) in [
            ("io::stdout().lock()", "stdout()"),
            ("std::io::stderr()", "stderr()"),
            ("println!(\"{name}\")", "println!"),
            ("eprint!(\"{name}\")", "eprint!"),
        ] {
            let text = format!("fn f() {{ let _ = {call}; }}");
            let complaint = format!(
                "crates/conduct/src/live.rs:1: `{token}` uses a standard stream outside its home; give the text to \
                 crates/conduct/src/screen.rs, whose lines are visible whatever they quote\n"
            );
            check_one("crates/conduct/src/live.rs", &text, &complaint);
            check_one("crates/conduct/src/screen.rs", &text, "");
            check_one("crates/plimsoll/tests/it/main.rs", &text, "");
        }
        check_one("crates/observe/src/perf.rs", "fn f() { command.stdout(Stdio::null()); }", "");
    }

    #[test]
    fn tests_may_read_the_clock_and_not_sleep() {
        check_one("crates/wire/tests/it/main.rs", "fn f() { Instant::now(); }", "");
        check_one(
            "services/kit/src/a.rs",
            "#[cfg(test)]\nmod tests {\n    fn f() { tokio::time::sleep(d); }\n}\n",
            "services/kit/src/a.rs:3: `time::sleep` sleeps where nothing may sleep; wait for the condition itself \
             (a channel, a readiness event, a line of output)\n",
        );
    }
}
