//! Whether a run file is as it was sealed, and what a command that gives no verdict states about that.

use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use archive::Stored;
use evidence::{Provenance, TerminalText, Verdict};

use crate::failure::{CommandResult, Failure};
use crate::{screen, standard_output};

/// Reading the whole file for longer is reported.
const PATIENCE: Duration = Duration::from_secs(2);

/// Compute the digest of the evidence in `run`, which was read from `path`, and compare it with that of the seal.
pub fn verify(run: &Stored, path: &Path) -> CommandResult<Provenance> {
    let verified = thread::scope(|scope| {
        let (verifying, ended) = channel::<()>();
        let report = move || {
            if ended.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                screen::note(format_args!("computing the digest of {}…", path.display()));
            }
        };
        // Without the thread nothing is reported.
        let _ = thread::Builder::new().spawn_scoped(scope, report);
        let verified = run.verify_digest();
        drop(verifying);
        verified
    });
    verified.map_err(Failure::usage)
}

/// Prints, ahead of an answer from the run file at `path`, that its evidence was changed after it was sealed, and
/// returns the exit code that the command then has. A run that was never sealed is a note.
pub fn state(provenance: Provenance, path: &Path) -> CommandResult<Option<u8>> {
    if provenance == Provenance::Unsealed {
        screen::note(format_args!(
            "{} is not sealed and has no digest: its run was killed, or is still running",
            path.display()
        ));
    }
    let Some(finding) = judge::changed_evidence(provenance) else { return Ok(None) };
    let verdict = Verdict::Invalid;
    let mut text = TerminalText::default();
    text.line(format_args!("{verdict}  {} {}: {}", finding.rule, finding.title, finding.what));
    text.line(format_args!("         {}", finding.why)).line(format_args!("         {}", finding.next));
    standard_output::print(&text)?;
    Ok(Some(judge::exit_code(verdict)))
}
