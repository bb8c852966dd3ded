//! A program that was built without PostgreSQL: it refuses settings that name a server.

use crate::env::{Env, EnvError};
use crate::lean;

/// Which server: there is none.
#[derive(Debug, Clone)]
pub enum ServerOptions {}

impl ServerOptions {
    /// `None`, as no server can be used.
    ///
    /// # Errors
    /// When `DB_HOST` names one.
    pub fn read(env: &Env, _application: &'static str) -> Result<Option<Self>, EnvError> {
        lean::refuse(env, "DB_HOST", "PostgreSQL").map(|()| None)
    }

    /// The number of connections that a process may have.
    ///
    /// # Errors
    /// None, as there is no server.
    pub fn max_connections(&self, _env: &Env, _uses: &[&str]) -> Result<u64, EnvError> {
        match *self {}
    }
}

/// Why a server cannot be used: there is none.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {}
