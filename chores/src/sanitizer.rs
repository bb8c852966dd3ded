//! The crate whose unsafe code is around QuickJS, under AddressSanitizer: ours in Rust, and QuickJS's in C.
//!
//! Instrumenting Rust takes an unstable option of the compiler, which is asked for in builds of this chore only. The C compiler
//! instruments QuickJS, whose build script sees that Rust is; both call the runtime that comes with Rust.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::steps;
use xtask::workspace::Workspace;

/// What may follow the verb.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// How many cases the fuzz target gets
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    cases: u64,
}

/// The fuzz target gets one of so many inputs.
const INPUTS_A_CASE: u64 = 40;

/// A heap that can never be freed is left to the end of the process, and stacks are looked through for frames, which must be on them.
const ASAN_OPTIONS: &str = "detect_leaks=0:detect_stack_use_after_return=0:abort_on_error=1";

/// Builds and runs both.
///
/// # Errors
/// At the first finding, and when the build is not instrumented.
pub(crate) fn run(workspace: &Workspace, options: &Options) -> Result<()> {
    let inputs = options.cases.saturating_mul(INPUTS_A_CASE).to_string();
    let folder = workspace.kept("sanitizer")?;
    let host = host()?;
    let cargo = |verb: &[&str], features: &str| {
        let mut command = workspace.cargo();
        command.args(verb).args(["--features", features, "--target", &host, "--target-dir"]).arg(&folder);
        command
            .env("RUSTC_BOOTSTRAP", "1")
            .env("RUSTFLAGS", "-Zsanitizer=address")
            .env("ASAN_OPTIONS", ASAN_OPTIONS);
        command
    };
    steps::step("tests of scripts", || {
        let (tally, status) =
            steps::run_tests(cargo(&["test", "--package", "k6"], "k6/sanitizer"), &mut std::io::stdout())?;
        ensure!(status.success(), "{tally} ({status})");
        ensure!(tally.passed > 0, "cargo ran no test at all");
        require_instrumented(&folder.join(&host).join("debug/build"))
    })?;
    steps::step("heaps of scripts", || {
        let mut command = cargo(&["run", "--package", "fuzz"], "fuzz/sanitizer");
        command.args(["--", "k6-heap", "--inputs", &inputs, "--findings"]).arg(folder.join("findings"));
        steps::run(command)
    })
}

/// The machine that the compiler is for: instrumented code is kept apart from that of build scripts only where one is named.
fn host() -> Result<String> {
    let text = steps::printed(Command::new("rustc").arg("-vV"))?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc does not say which machine it is for")
}

/// That the C code calls the sanitizer: a build script that does not know of it would make the tests say nothing.
fn require_instrumented(builds: &Path) -> Result<()> {
    let archive = quickjs(builds)?.context("the library of QuickJS is not where cargo builds it")?;
    let bytes = std::fs::read(&archive).with_context(|| format!("cannot read {}", archive.display()))?;
    let call = b"__asan_report_load";
    ensure!(bytes.windows(call.len()).any(|part| part == call), "{} is not instrumented", archive.display());
    Ok(())
}

fn quickjs(builds: &Path) -> Result<Option<PathBuf>> {
    let entries = std::fs::read_dir(builds).with_context(|| format!("cannot read {}", builds.display()))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path().join("out/libquickjs.a")));
    let mut paths = paths.collect::<std::io::Result<Vec<PathBuf>>>()?.into_iter();
    Ok(paths.find(|path| path.exists()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_without_calls_of_the_sanitizer_is_refused() {
        let folder = tempfile::tempdir().expect("the system has a temporary folder");
        let error = |folder: &Path| require_instrumented(folder).map_err(|error| error.to_string());
        assert_eq!(
            error(folder.path()),
            Err("the library of QuickJS is not where cargo builds it".to_owned())
        );
        let out = folder.path().join("rquickjs-sys-1/out");
        std::fs::create_dir_all(&out).expect("it is ours");
        std::fs::write(out.join("libquickjs.a"), "JS_NewRuntime").expect("it is ours");
        assert!(error(folder.path()).is_err_and(|why| why.ends_with("is not instrumented")));
        std::fs::write(out.join("libquickjs.a"), "JS_NewRuntime\0__asan_report_load8\0").expect("it is ours");
        assert_eq!(error(folder.path()), Ok(()));
    }
}
