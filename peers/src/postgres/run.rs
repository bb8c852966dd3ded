//! Runs one of PostgreSQL's programs to its end.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::error::{PeerError, Tried as _};

/// So many of the last lines of its error output describe a failed program.
const STDERR_LINES: usize = 20;

/// Feeds `input` to a program and returns what it wrote to standard output.
pub(super) fn run(mut command: Command, input: &str) -> Result<String, PeerError> {
    let program = std::path::PathBuf::from(command.get_program());
    let tried = || format!("run {}", program.display());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().tried(tried)?;
    let stdin = child.stdin.take();
    let output = std::thread::scope(|scope| {
        // A program that ends early does not read the rest; its status and its error output show why.
        scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(input.as_bytes())));
        child.wait_with_output()
    });
    let output = output.tried(tried)?;
    if !output.status.success() {
        let stderr = last_lines(&String::from_utf8_lossy(&output.stderr), STDERR_LINES);
        return Err(PeerError::Failed { program, status: output.status, stderr });
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end_matches('\n').to_owned())
}

/// The last `count` lines of a text.
pub(super) fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}
