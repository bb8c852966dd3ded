//! How tokens are verified, read from the environment.

use std::time::Duration;

use super::claims::Policy;
use super::source::Source;
use crate::env::{Env, EnvError};
use crate::exposure;

/// `AUTH_NAMESPACE_CLAIM` for tokens of any namespace.
const ANY_NAMESPACE: &str = "none";

/// Where the keys come from, and what a token must contain.
#[derive(Debug, Clone)]
pub struct Settings {
    pub(super) source: Source,
    pub(super) policy: Policy,
    pub(super) refresh: Duration,
    pub(super) max_key_age: Duration,
}

impl Settings {
    /// Reads the settings; `None` when `AUTH_JWKS_URL` is not set, or `AUTH=off`. Tokens must be of `namespace` unless that is
    /// switched off.
    ///
    /// # Errors
    /// When a variable cannot be used, or `AUTH_ISSUER` is missing.
    pub fn read(env: &Env, namespace: &str) -> Result<Option<Self>, EnvError> {
        let is_off = exposure::is_off(env)?;
        let Some(url) = env.text("AUTH_JWKS_URL").filter(|_| !is_off) else { return Ok(None) };
        let source = Source::at(url).map_err(|error| EnvError {
            name: "AUTH_JWKS_URL",
            value: if url.contains('@') { "(hidden)".to_owned() } else { url.to_owned() },
            expected: format!("{error}; or file:///PATH"),
        })?;
        let issuer = env.text("AUTH_ISSUER").ok_or_else(|| EnvError {
            name: "AUTH_ISSUER",
            value: String::new(),
            expected: "with AUTH_JWKS_URL it must be the `iss` of the tokens".to_owned(),
        })?;
        let claim = env.text("AUTH_NAMESPACE_CLAIM").unwrap_or("namespace");
        let policy = Policy {
            issuer: issuer.to_owned(),
            audience: env.text("AUTH_AUDIENCE").map(str::to_owned),
            namespace: (claim != ANY_NAMESPACE).then(|| (claim.to_owned(), namespace.to_owned())),
            skew: Duration::from_secs(env.within("AUTH_CLOCK_SKEW_S", 30, 0..=600)?),
        };
        let refresh = Duration::from_secs(env.within("AUTH_REFRESH_S", 600, 1..=86_400)?);
        let max_key_age = Duration::from_secs(env.within("AUTH_KEEP_KEYS_S", 86_400, 1..=7 * 86_400)?);
        Ok(Some(Self { source, policy, refresh, max_key_age }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(pairs: &[(&str, &str)]) -> String {
        Settings::read(&Env::from_pairs(pairs.iter().copied()), "ours").unwrap_err().to_string()
    }

    #[test]
    fn without_a_source_of_keys_there_are_no_settings() {
        assert!(Settings::read(&Env::from_pairs([]), "ours").unwrap().is_none());
        let off = [("AUTH", "off"), ("AUTH_JWKS_URL", "http://127.0.0.1:1/keys"), ("AUTH_ISSUER", "i")];
        assert!(Settings::read(&Env::from_pairs(off), "ours").unwrap().is_none());
    }

    #[test]
    fn refusals_name_the_variable_and_hide_passwords() {
        assert!(refused(&[("AUTH_JWKS_URL", "file:///keys.json")]).starts_with("AUTH_ISSUER"));
        for url in ["keys.json", "ftp://keys", "file://keys.json", "http://", "http://a:secret@keys/"] {
            let message = refused(&[("AUTH_JWKS_URL", url), ("AUTH_ISSUER", "i")]);
            assert!(message.starts_with("AUTH_JWKS_URL") && !message.contains("secret"), "{message}");
        }
        let keys = ("AUTH_JWKS_URL", "http://127.0.0.1:1/keys");
        assert!(
            refused(&[keys, ("AUTH_ISSUER", "i"), ("AUTH_REFRESH_S", "0")]).starts_with("AUTH_REFRESH_S")
        );
    }

    #[test]
    fn the_namespace_is_checked_unless_switched_off() {
        let read = |claim| {
            let keys = [("AUTH_JWKS_URL", "http://127.0.0.1:1/keys"), ("AUTH_ISSUER", "i")];
            let env = Env::from_pairs(keys.into_iter().chain([("AUTH_NAMESPACE_CLAIM", claim)]));
            Settings::read(&env, "ours").unwrap().unwrap().policy.namespace
        };
        assert_eq!(read(""), Some(("namespace".to_owned(), "ours".to_owned())));
        assert_eq!(read("ns"), Some(("ns".to_owned(), "ours".to_owned())));
        assert_eq!(read("none"), None);
    }
}
