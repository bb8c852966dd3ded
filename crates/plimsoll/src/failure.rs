//! What ends a command early, and with which exit code.

use std::fmt;

/// Why a command could not do what it was asked.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Our own failure, or the machine's: exit 1.
    Own(anyhow::Error),
    /// Input that cannot be used, or a target that is not ready: exit 2.
    Usage(anyhow::Error),
}

pub(crate) type CommandResult<T> = Result<T, Failure>;

impl Failure {
    /// The process's exit code.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Failure::Own(_) => 1,
            Failure::Usage(_) => 2,
        }
    }

    /// Input that cannot be used.
    pub(crate) fn usage(error: impl Into<anyhow::Error>) -> Failure {
        Failure::Usage(error.into())
    }

    /// Our own failure.
    pub(crate) fn own(error: impl Into<anyhow::Error>) -> Failure {
        Failure::Own(error.into())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Failure::Own(error) | Failure::Usage(error)) = self;
        // With every cause on the line: the last one is often the one that helps. Some errors quote theirs.
        let mut text = String::new();
        for cause in error.chain().map(ToString::to_string) {
            if text.is_empty() {
                text = cause;
            } else if !text.contains(&cause) {
                text = text + ": " + &cause;
            }
        }
        f.write_str(&text)
    }
}
