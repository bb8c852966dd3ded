//! What services of any project do in tests of several crates.

use std::process::Command;

/// What `command` writes to its log when it refuses to run: with exit code 2.
///
/// # Panics
/// When it cannot be started, or does anything else.
pub fn refused(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stderr).into_owned()
}
