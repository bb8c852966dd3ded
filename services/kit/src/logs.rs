//! Structured logs on standard error; standard output is for a command's results.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tracing_subscriber::EnvFilter;

use crate::env::{Env, EnvError};

#[derive(Clone, Copy)]
enum Format {
    Text,
    Json,
}

/// Starts logging as set by `LOG_LEVEL` (a level or a filter such as `info,challenge=debug`) and `LOG_FORMAT` (`text`
/// or `json`). A second call in one process changes nothing.
///
/// # Errors
/// When one of the two cannot be used.
pub fn start(env: &Env) -> Result<(), EnvError> {
    let filter: EnvFilter = env.parsed("LOG_LEVEL", EnvFilter::new("info"))?;
    let format = env.choice("LOG_FORMAT", &[("text", Format::Text), ("json", Format::Json)])?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let _already_started = match format {
        Format::Text => builder.try_init(),
        Format::Json => builder.json().try_init(),
    };
    Ok(())
}

/// A failure that repeats is logged this often at most.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// A failure that may repeat a thousand times a second, and must not fill the log.
#[derive(Debug, Default)]
pub struct RepeatedFailure {
    last_logged: Mutex<Option<Instant>>,
}

impl RepeatedFailure {
    /// Whether it is to be logged: the first time, and then not again for ten seconds.
    pub fn is_to_be_logged(&self) -> bool {
        let mut last_logged = self.last_logged.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last_logged.is_none_or(|at| at.elapsed() > LOG_INTERVAL);
        if is_due {
            *last_logged = Some(Instant::now());
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_that_repeats_is_logged_again_after_a_while() {
        let failure = RepeatedFailure::default();
        assert_eq!([failure.is_to_be_logged(), failure.is_to_be_logged()], [true, false]);
        let long_ago = Instant::now().checked_sub(2 * LOG_INTERVAL);
        *failure.last_logged.lock().unwrap() = long_ago;
        assert!(failure.is_to_be_logged());
    }
}
