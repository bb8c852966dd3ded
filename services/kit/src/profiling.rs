//! Profiles of the running process: what uses its processor, its memory and its allocations, in the format of pprof.
//!
//! `PROFILING=on` switches them on; without it the routes do not exist and nothing is sampled. Only builds with the
//! feature `profiling` can take profiles. Start reading at `routes` and, for the sampling, at `cpu` and `heap`.

#[cfg(feature = "profiling")]
mod access;
#[cfg(feature = "profiling")]
mod allocator;
#[cfg(feature = "profiling")]
mod cpu;
#[cfg(feature = "profiling")]
mod heap;
#[cfg(feature = "profiling")]
mod pprof;
#[cfg(feature = "profiling")]
mod program;
#[cfg(feature = "profiling")]
mod routes;
#[cfg(feature = "profiling")]
mod stack;
#[cfg(feature = "profiling")]
mod symbols;
#[cfg(feature = "profiling")]
mod unsampled;

use std::sync::Arc;

use axum::Router;

use crate::auth::Identity;
use crate::env::{Env, EnvError};

/// The variable that switches profiles on.
pub const VARIABLE: &str = "PROFILING";

/// Reads `PROFILING` (`on` or `off`, which is the default) and `PROFILING_BYTES`. With `on`, allocations are sampled from
/// now on, and the start is logged. Called before a service's threads run.
///
/// # Errors
/// When a variable has another value, or profiles are wanted of a build that cannot take them.
pub fn start(env: &Env) -> Result<(), EnvError> {
    if !env.choice(VARIABLE, &[("off", false), ("on", true)])? {
        return Ok(());
    }
    let bytes = env.within("PROFILING_BYTES", 512 << 10, 1_024..=1 << 30)?;
    switch_on(bytes)?;
    tracing::warn!(
        bytes,
        "PROFILING=on: the admin port serves /debug/pprof to programs on this machine and to administrators, and one \
         allocation of every so many bytes is recorded"
    );
    Ok(())
}

#[cfg(feature = "profiling")]
fn switch_on(bytes: u64) -> Result<(), EnvError> {
    heap::start(bytes).map_err(|error| EnvError {
        name: VARIABLE,
        value: "on".to_owned(),
        expected: format!("off: this system allows no profiles ({error})"),
    })
}

#[cfg(not(feature = "profiling"))]
fn switch_on(_bytes: u64) -> Result<(), EnvError> {
    let expected = "off: this build takes no profiles; build with `--features profiling`".to_owned();
    Err(EnvError { name: VARIABLE, value: "on".to_owned(), expected })
}

/// The routes below `/debug/pprof`; none unless profiles are switched on. They respond to programs on this machine and to
/// callers with the role of an administrator.
pub fn routes(identity: Arc<Identity>) -> Router {
    #[cfg(feature = "profiling")]
    if heap::is_on() {
        return routes::router(identity);
    }
    drop(identity);
    Router::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_is_on_or_off() {
        assert_eq!(start(&Env::from_pairs([(VARIABLE, "off")])), Ok(()));
        assert!(start(&Env::from_pairs([(VARIABLE, "yes")])).is_err());
    }
}
