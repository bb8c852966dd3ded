//! Builds the test programs and lists them, as cargo reports them.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;
use xtask::workspace::Workspace;

use crate::features::FEATURES;

/// One program of tests: the unit tests of a library or binary, or a file or folder of `tests/`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TestProgram {
    /// `PACKAGE` for the unit tests of a library, `PACKAGE::TARGET` for others.
    pub(super) name: String,
    pub(super) executable: PathBuf,
    /// The folder of the package, in which cargo runs tests.
    pub(super) folder: PathBuf,
}

/// Builds all of them.
///
/// # Errors
/// When one does not compile.
pub(super) fn build(workspace: &Workspace) -> Result<Vec<TestProgram>> {
    let mut command = workspace.cargo();
    command.args(["test", "--locked", "--workspace", "--all-targets", "--no-run"]).args(FEATURES);
    command.args(["--message-format", "json-render-diagnostics"]);
    let mut child = command.stdout(Stdio::piped()).spawn().context("cannot start cargo")?;
    let output = child.stdout.take().context("its output is piped")?;
    let mut programs = Vec::new();
    for line in BufReader::new(output).lines() {
        programs.extend(program(&line.context("cannot read what cargo prints")?));
    }
    let status = child.wait().context("cannot wait for cargo")?;
    ensure!(status.success(), "cargo test --no-run ended with {status}");
    ensure!(!programs.is_empty(), "cargo built no test program");
    Ok(programs)
}

/// The test program that a line of cargo's messages is about, if it is about one.
fn program(line: &str) -> Option<TestProgram> {
    let message: Value = serde_json::from_str(line).ok()?;
    if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
        return None;
    }
    let folder = PathBuf::from(message["manifest_path"].as_str()?).parent()?.to_owned();
    let package = folder.file_name()?.to_str()?;
    let target = message["target"]["name"].as_str()?;
    let name = if package == target { package.to_owned() } else { format!("{package}::{target}") };
    let executable = PathBuf::from(message["executable"].as_str()?);
    Some(TestProgram { name, executable, folder })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn artifact(target: &str, is_test: bool) -> String {
        format!(
            r#"{{"reason":"compiler-artifact","manifest_path":"/tree/crates/engine/Cargo.toml",
            "target":{{"name":"{target}"}},"profile":{{"test":{is_test}}},"executable":"/target/{target}-1"}}"#
        )
        .replace('\n', "")
    }

    #[test]
    fn test_programs_are_named_by_package_and_target() {
        let unit = program(&artifact("engine", true)).expect("a test program");
        assert_eq!((unit.name.as_str(), unit.folder), ("engine", PathBuf::from("/tree/crates/engine")));
        assert_eq!(program(&artifact("it", true)).expect("a test program").name, "engine::it");
    }

    #[test]
    fn other_messages_are_no_test_programs() {
        assert_eq!(program(&artifact("plimsoll", false)), None);
        assert_eq!(program(r#"{"reason":"build-finished","success":true}"#), None);
        assert_eq!(program("running 3 tests"), None);
    }
}
