//! A build without the feature `full`: what it lacks is refused where the settings ask for it, never ignored.

use crate::env::{Env, EnvError};

/// What is said of a setting that needs `what`.
pub(crate) fn refusal(what: &str) -> String {
    format!("this program was built without {what}; one built with cargo's default features can use it")
}

/// Refuses `name`, if it is set, because it needs `what`. Its value may contain a password.
///
/// # Errors
/// When it is set.
pub(crate) fn refuse(env: &Env, name: &'static str, what: &str) -> Result<(), EnvError> {
    match env.text(name) {
        None => Ok(()),
        Some(_) => Err(EnvError { name, value: "(hidden)".to_owned(), expected: refusal(what) }),
    }
}
