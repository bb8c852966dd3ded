//! What ends a command early, and with which exit code.

use std::error::Error;
use std::fmt;

use evidence::{TerminalText, visible};
use plans::PlanErrors;
use workload::objective::ObjectiveError;

/// Why a command could not do what it was asked.
#[derive(Debug)]
pub enum Failure {
    /// Our own failure, or the machine's: exit 1.
    Own(anyhow::Error),
    /// Input that cannot be used, or a target that is not ready: exit 2.
    Usage(anyhow::Error),
    /// A script or its options cannot be run: k6's exit code.
    Script {
        /// The exit code.
        code: u8,
        error: anyhow::Error,
    },
    /// Steps that were sent before the load failed: exit 2.
    Steps {
        names: Vec<String>,
        /// What was sent and received.
        exchanges: TerminalText,
        next: &'static str,
    },
}

/// That a target cannot be reached, as an error or in the chain of one.
#[derive(Debug)]
pub struct Unreachable(pub String);

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a command comes to, or why it ends early.
pub type CommandResult<T> = Result<T, Failure>;

impl Failure {
    /// The process's exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Own(_) => 1,
            Failure::Usage(_) | Failure::Steps { .. } => 2,
            Failure::Script { code, .. } => *code,
        }
    }

    /// Input that cannot be used.
    pub fn usage(error: impl Into<anyhow::Error>) -> Failure {
        Failure::Usage(error.into())
    }

    /// Our own failure.
    pub fn own(error: impl Into<anyhow::Error>) -> Failure {
        Failure::Own(error.into())
    }

    /// The message, with every cause on its line: the last one is often the one that helps. Some errors quote theirs.
    pub fn text(&self) -> TerminalText {
        let mut text = TerminalText::default();
        let error = match self {
            Failure::Own(error) | Failure::Usage(error) | Failure::Script { error, .. } => error,
            Failure::Steps { names, exchanges, next } => {
                text.line(format_args!("plimsoll: {} failed before the load:", steps(names)));
                text.append(exchanges).line(format_args!("No load was offered. {next}"));
                return text;
            }
        };
        if matches!(self, Failure::Script { .. }) {
            text.quote("", &format!("plimsoll: {error}"));
            return text;
        }
        let mut message = String::new();
        for cause in error.chain() {
            let cause = shown(cause);
            if message.is_empty() {
                message = cause;
            } else if !message.contains(&cause) {
                message = message + ": " + &cause;
            }
        }
        text.quote("", &format!("plimsoll: {message}"));
        text
    }
}

fn steps(names: &[String]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{}`", visible(name))).collect();
    format!("{} {}", if names.len() == 1 { "step" } else { "steps" }, quoted.join(", "))
}

/// An error on one line, since it may quote a target, a plan or a file, unless its lines are its own.
fn shown(error: &(dyn Error + 'static)) -> String {
    let text = error.to_string();
    let has_own_lines = error.is::<PlanErrors>() || error.is::<ObjectiveError>();
    if has_own_lines { text } else { visible(&text).into_owned() }
}
