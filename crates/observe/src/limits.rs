//! How many files this process may open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::error::ObserveError;

/// Limits of open files; none means without limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFiles {
    /// What holds now.
    pub soft: Option<u64>,
    /// What the process may raise it to.
    pub hard: Option<u64>,
}

/// The limits of open files of this process.
pub fn limits() -> OpenFiles {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    OpenFiles { soft: current, hard: maximum }
}

/// Raises the soft limit of open files to the hard one, and says what holds then.
///
/// # Errors
/// [`ObserveError::Limit`] when the system does not allow it.
pub fn raise_open_files() -> Result<OpenFiles, ObserveError> {
    let OpenFiles { soft, hard } = limits();
    if soft != hard {
        setrlimit(Resource::Nofile, Rlimit { current: hard, maximum: hard })
            .map_err(|errno| ObserveError::Limit(errno.into()))?;
    }
    Ok(limits())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_reaches_the_hard_one() {
        let before = limits();
        let raised = raise_open_files().unwrap();
        assert_eq!((raised.soft, raised.hard), (before.hard, before.hard));
    }
}
