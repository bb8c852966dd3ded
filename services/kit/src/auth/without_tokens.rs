//! A program that was built without bearer tokens: it refuses settings that ask for them.

use std::sync::Arc;

use super::{Claims, TokenError};
use crate::env::{Env, EnvError};
use crate::metrics::Metrics;
use crate::{exposure, lean};

/// How tokens are verified: there is no way.
#[derive(Debug, Clone)]
pub enum Settings {}

impl Settings {
    /// `None`, as tokens cannot be verified.
    ///
    /// # Errors
    /// When `AUTH_JWKS_URL` asks for that.
    pub fn read(env: &Env, _namespace: &str) -> Result<Option<Self>, EnvError> {
        if exposure::is_off(env)? {
            return Ok(None);
        }
        lean::refuse(env, "AUTH_JWKS_URL", "bearer tokens").map(|()| None)
    }
}

/// Verifies tokens: there is none.
#[derive(Debug)]
pub enum Verifier {}

impl Verifier {
    pub(super) fn start(settings: Settings, _metrics: &Metrics) -> Self {
        match settings {}
    }

    pub(super) async fn ready(&self) {
        match *self {}
    }

    pub(super) fn probe(&self) -> Result<(), String> {
        match *self {}
    }

    pub(super) async fn verify(&self, _token: &str) -> Result<Arc<Claims>, TokenError> {
        match *self {}
    }
}
