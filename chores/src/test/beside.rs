//! Work beside the tests that takes only the time they leave.

use std::thread::{Scope, ScopedJoinHandle};

use anyhow::{Context as _, Result};

/// The lowest priority there is. Linux gives it to the thread that asks, and to all processes which that thread starts.
const NICENESS: i32 = 19;

/// Work that has begun.
pub(super) struct Beside<'scope>(ScopedJoinHandle<'scope, Result<()>>);

impl<'scope> Beside<'scope> {
    /// Begins it on a thread of its own.
    pub(super) fn begin<'env>(
        scope: &'scope Scope<'scope, 'env>,
        work: impl FnOnce() -> Result<()> + Send + 'scope,
    ) -> Self {
        Self(scope.spawn(|| {
            rustix::process::nice(NICENESS).context("cannot lower the priority")?;
            work()
        }))
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// Its own.
    pub(super) fn end(self) -> Result<()> {
        self.0.join().ok().context("the work beside the tests panicked")?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn niceness() -> i32 {
        rustix::process::getpriority_process(None).expect("every thread has one")
    }

    #[test]
    fn it_has_the_lowest_priority_and_other_threads_keep_theirs() {
        let before = niceness();
        let mut inside = None;
        let ended = std::thread::scope(|scope| {
            let inside = &mut inside;
            let work = move || {
                *inside = Some(niceness());
                anyhow::bail!("it fails")
            };
            Beside::begin(scope, work).end()
        });
        assert_eq!(inside, Some(NICENESS));
        assert_eq!(niceness(), before);
        assert_eq!(ended.expect_err("it fails").to_string(), "it fails");
    }
}
