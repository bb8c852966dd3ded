//! Every chore of the project but the demo: `cargo xtask <verb>` starts this program, one short file a verb.
//!
//! Chores run other programs; they contain no logic of the tool or of a service, and import neither.
//! Start reading at `VERBS`.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command prints on its terminal")]

mod bench;
mod cluster;
mod demo_check;
mod dependencies;
mod dist;
mod examples;
mod features;
mod instructions;
mod needs;
mod protobuf;
mod receivers;
mod sanitizer;
mod session;
mod soak;
mod steps;
mod test;
mod tidy;
#[cfg(test)]
mod workflows;

use std::process::ExitCode;

use xtask::workspace::Workspace;

/// One chore: what is typed, what it is for, and what runs.
struct Verb {
    name: &'static str,
    usage: &'static str,
    about: &'static str,
    run: fn(&Workspace, &[String]) -> anyhow::Result<()>,
}

const VERBS: &[Verb] = &[
    Verb { name: "demo", usage: xtask::demo::USAGE, about: demo_check::ABOUT, run: demo_check::run },
    Verb { name: "examples", usage: examples::USAGE, about: examples::ABOUT, run: examples::run },
    Verb { name: "session", usage: session::USAGE, about: session::ABOUT, run: session::run },
    Verb { name: "test", usage: "", about: test::ABOUT, run: test::run },
    Verb { name: "lint", usage: "", about: test::ABOUT_LINT, run: test::run_lint },
    Verb { name: "tests", usage: "", about: test::ABOUT_TESTS, run: test::run_tests },
    Verb { name: "tidy", usage: "", about: tidy::ABOUT, run: tidy::run },
    Verb { name: "protobuf", usage: "", about: protobuf::ABOUT, run: protobuf::run },
    Verb { name: "dependencies", usage: "", about: dependencies::ABOUT, run: dependencies::run },
    Verb { name: "dist", usage: dist::USAGE, about: dist::ABOUT, run: dist::run },
    Verb { name: "bench", usage: bench::USAGE, about: bench::ABOUT, run: bench::run },
    Verb { name: "receivers", usage: "", about: receivers::ABOUT, run: receivers::run },
    Verb { name: "cluster", usage: cluster::USAGE, about: cluster::ABOUT, run: cluster::run },
    Verb { name: "sanitizer", usage: sanitizer::USAGE, about: sanitizer::ABOUT, run: sanitizer::run },
    Verb {
        name: "instructions",
        usage: instructions::USAGE,
        about: instructions::ABOUT,
        run: instructions::run,
    },
    Verb { name: "soak", usage: "[NAME]", about: soak::ABOUT, run: soak::run },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        print!("{}", help());
        return ExitCode::from(2);
    };
    if matches!(name.as_str(), "help" | "--help" | "-h") {
        print!("{}", help());
        return ExitCode::SUCCESS;
    }
    let Some(verb) = VERBS.iter().find(|verb| verb.name == name) else {
        eprint!("there is no chore named `{name}`\n\n{}", help());
        return ExitCode::from(2);
    };
    match Workspace::find().and_then(|workspace| (verb.run)(&workspace, rest)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask {name}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn help() -> String {
    let mut text = String::from("The chores of this project.\n\nUsage: cargo xtask <verb>\n\n");
    for verb in VERBS {
        let call = format!("{} {}", verb.name, verb.usage);
        text.push_str(&format!("  {}\n", call.trim_end()));
        for line in verb.about.lines() {
            text.push_str(&format!("      {line}\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_names_every_verb_with_what_it_is_for() {
        let help = help();
        for verb in VERBS {
            assert!(help.contains(&format!("\n  {}", verb.name)), "{} is missing:\n{help}", verb.name);
            assert!(!verb.about.is_empty());
        }
    }
}
