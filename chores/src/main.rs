//! Every chore of the project but the demo: `cargo xtask <verb>` starts this program, one short file a verb.
//!
//! Chores run other programs; they contain no logic of the tool or of a service, and import neither.
//! Start reading at `Verb`.
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
mod pages;
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

use clap::Parser as _;

use xtask::workspace::Workspace;

/// The chores of this project
#[derive(clap::Parser)]
#[command(bin_name = "cargo xtask", disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

/// One chore: what is typed, and what it is for.
#[derive(clap::Subcommand)]
enum Verb {
    /// A real service under a real load, judged: demo.plimsoll, demo.html, demo.md
    Demo {
        /// Ten times shorter and on free ports, with counts and findings asserted
        #[arg(long, required = true)]
        check: bool,
    },
    /// The plans of `examples/` in a short form, each against its service; their counts must add up
    Examples,
    /// The first five minutes with the tool, recorded in docs/first-five-minutes.md
    Session(session::Options),
    /// All checks, those of `lint` and of `tests`; ends with `N passed, N failed`
    Test,
    /// Format, tidy, dependencies, lints
    Lint,
    /// Tests, side by side where time does not matter to them, the demo and the plans of `examples/` in a short form
    Tests,
    /// Imports, circles of files, sizes, errors that are texts, clock calls and words that the tree does not allow
    Tidy,
    /// Write the services' protobuf code anew, after a change in proto/
    Protobuf,
    /// Licences, bans, duplicates and sources of dependencies, against deny.toml
    Dependencies,
    /// Release binaries with their bills of materials (CycloneDX), and the tool as archive, Debian package, wheel and image;
    /// SHA-256 digests of all
    Dist(dist::options::Options),
    /// Figures to look at, nothing asserted of a speed
    #[command(subcommand)]
    Bench(bench::Bench),
    /// Series of a run received by Prometheus and an OpenTelemetry collector, and its export read by Prometheus; needs Debian's
    /// prometheus, nginx, Go, and for the first build of the collector a network
    Receivers,
    /// A Kubernetes on this machine, and runs of five pods in it against the challenge service: one that is judged, one that
    /// loses a pod, and those that cannot start, are interrupted or fetched later; needs root
    Cluster(cluster::Options),
    /// The tests of scripts, and the fuzz target of their heaps, under AddressSanitizer: QuickJS's C, and our Rust
    Sanitizer(sanitizer::Options),
    /// Instructions of one HTTP/1.1 request, one HTTP/2 request and one script iteration of the built binaries, against
    /// chores/instructions.toml
    Instructions {
        /// Write that file instead
        #[arg(long)]
        record: bool,
    },
    /// The pages of docs/ whose tables programs write, anew
    Pages {
        /// Those whose file name contains it; all of them without
        name: Option<String>,
    },
    /// The long forms of tests: fault rounds, a fleet of workers
    Soak {
        /// Those whose name contains it; all of them without
        name: Vec<String>,
    },
}

fn main() -> ExitCode {
    let Arguments { verb } = Arguments::parse();
    match Workspace::find().and_then(|workspace| run(&workspace, verb)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask {}: {error:#}", std::env::args().nth(1).unwrap_or_default());
            ExitCode::FAILURE
        }
    }
}

fn run(workspace: &Workspace, verb: Verb) -> anyhow::Result<()> {
    match verb {
        Verb::Demo { .. } => demo_check::run(),
        Verb::Examples => examples::run(workspace),
        Verb::Session(options) => session::run(workspace, &options),
        Verb::Test => test::run(workspace),
        Verb::Lint => test::run_lint(workspace),
        Verb::Tests => test::run_tests(workspace),
        Verb::Tidy => tidy::run(workspace),
        Verb::Protobuf => protobuf::run(workspace),
        Verb::Dependencies => dependencies::check(workspace),
        Verb::Dist(options) => dist::run(workspace, &options),
        Verb::Bench(bench) => bench::run(workspace, &bench),
        Verb::Receivers => receivers::run(workspace),
        Verb::Cluster(options) => cluster::run(workspace, &options),
        Verb::Sanitizer(options) => sanitizer::run(workspace, &options),
        Verb::Instructions { record } => instructions::run(workspace, record),
        Verb::Pages { name } => pages::run(workspace, name.as_deref().unwrap_or_default()),
        Verb::Soak { name } => soak::run(workspace, &name.join(" ")),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    fn is_read(line: &str) -> bool {
        Arguments::try_parse_from(["xtask"].into_iter().chain(line.split(' '))).is_ok()
    }

    #[test]
    fn the_definition_of_the_command_line_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn options_are_bounded_and_names_known() {
        for line in [
            "demo --check",
            "soak fleet of workers",
            "pages who-may",
            "dist --check --target aarch64-unknown-linux-musl",
            "bench engine --only http1,grpc --rounds 3 --baseline /proc/self/exe",
            "bench services --only gateway,listings --seconds 3 --write",
            "bench neighbours --only quiet,outage --runs 2 --seconds 10",
            "bench experiments --pairs 60",
        ] {
            assert!(is_read(line), "{line}");
        }
        for line in [
            "nothing",
            "demo",
            "tidy now",
            "dist k6",
            "dist --target riscv64gc-unknown-linux-gnu",
            "bench engine --only http3",
            "bench engine --baseline /nonexistent/plimsoll",
            "bench lag --rounds 0",
            "bench steady --minutes 1",
            "bench services --seconds soon",
            "bench neighbours --seconds 9",
            "bench experiments --pairs 60 --live same.ab",
            "session --built --wheel plimsoll.whl",
        ] {
            assert!(!is_read(line), "{line}");
        }
    }
}
