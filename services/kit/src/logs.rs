//! Structured logs on standard error; standard output is for a command's results.

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
