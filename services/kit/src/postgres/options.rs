//! Which PostgreSQL server, read from the environment.

use std::fmt;
use std::time::Duration;

use tokio_postgres::Config;

use crate::env::{Env, EnvError};

/// The database and the timeouts of its use.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The name of the connections in the server's views.
    application: &'static str,
    /// A host name, an address, or the directory of a socket.
    host: String,
    port: u16,
    database: String,
    user: String,
    password: Option<Password>,
    pub(super) protection: Protection,
    /// The server ends a statement that takes longer.
    pub(super) statement_timeout: Duration,
    plans: Plans,
    /// How long a start waits for a server that cannot be reached.
    pub(super) start_within: Duration,
}

/// How the server plans prepared statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plans {
    /// Of rows by their keys. A plan made while a table is nearly empty would scan all of it, and is kept while the table
    /// grows.
    OfKeys,
    /// Of filters, whose best plan depends on their values.
    OfFilters,
}

/// How a connection is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protection {
    /// Not at all: for a socket, or a private network.
    Plain,
    /// By TLS, with any certificate: not from an attacker in the server's place.
    UnverifiedTls,
    /// By TLS, with a certificate that is verified for the server's name.
    VerifiedTls,
}

/// Not shown in logs and errors.
#[derive(Clone)]
struct Password(String);

impl fmt::Debug for Password {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(…)")
    }
}

impl ServerOptions {
    /// The server that `DB_HOST` names; `None` without it. `application` is the name of the connections, and the
    /// default of `DB_NAME` and `DB_USER`.
    ///
    /// # Errors
    /// When a variable cannot be used.
    pub fn read(env: &Env, application: &'static str) -> Result<Option<Self>, EnvError> {
        let Some(host) = env.text("DB_HOST") else { return Ok(None) };
        let modes = [
            ("disable", Protection::Plain),
            ("require", Protection::UnverifiedTls),
            ("verify-full", Protection::VerifiedTls),
        ];
        let or_application = |name: &str| env.text(name).unwrap_or(application).to_owned();
        let statement_ms = env.within("DB_STATEMENT_TIMEOUT_MS", 5000, 10..=60_000)?;
        Ok(Some(Self {
            application,
            host: host.to_owned(),
            port: env.port("DB_PORT", 5432)?,
            database: or_application("DB_NAME"),
            user: or_application("DB_USER"),
            password: env.text("DB_PASSWORD").map(|text| Password(text.to_owned())),
            protection: env.choice("DB_SSLMODE", &modes)?,
            statement_timeout: Duration::from_millis(statement_ms),
            plans: Plans::OfKeys,
            start_within: Duration::from_secs(env.within("DB_START_WITHIN_S", 30, 0..=600)?),
        }))
    }

    /// The number of connections that `DB_MAX_OPEN_CONNS` allows a process, at least one for each of these `uses`; without
    /// it, or with 0, any number.
    ///
    /// # Errors
    /// When it cannot be used.
    pub fn max_connections(&self, env: &Env, uses: &[&str]) -> Result<u64, EnvError> {
        const NAME: &str = "DB_MAX_OPEN_CONNS";
        match env.within(NAME, 0, 0..=100_000)? {
            0 => Ok(u64::MAX),
            most if most >= uses.len() as u64 => Ok(most),
            few => {
                let (least, uses) = (uses.len(), uses.join(", "));
                let expected = format!("0 for no limit, or at least {least}: one connection each for {uses}");
                Err(EnvError { name: NAME, value: few.to_string(), expected })
            }
        }
    }

    /// The same server for statements whose plan depends on the values of their filters; each is ended after `timeout`.
    pub(super) fn for_filters(&self, timeout: Duration) -> Self {
        let statement_timeout = self.statement_timeout.min(timeout);
        Self { statement_timeout, plans: Plans::OfFilters, ..self.clone() }
    }

    /// The settings of every session. They are not in the packet that begins a connection, which poolers refuse.
    pub(super) fn session(&self) -> String {
        let ms = self.statement_timeout.as_millis();
        let plans = match self.plans {
            Plans::OfKeys => "enable_seqscan = off",
            Plans::OfFilters => "plan_cache_mode = force_custom_plan",
        };
        format!(
            "SET statement_timeout = {ms}; SET idle_in_transaction_session_timeout = {}; SET {plans}",
            2 * ms
        )
    }

    /// Host, port and database, for messages.
    #[must_use]
    pub fn at(&self) -> String {
        format!("{}:{}/{}", self.host, self.port, self.database)
    }

    /// The options for the driver.
    pub(super) fn config(&self) -> Config {
        let mut config = Config::new();
        config.host(&self.host).port(self.port).dbname(&self.database).user(&self.user);
        config.application_name(self.application);
        config.keepalives_idle(Duration::from_secs(30)).tcp_user_timeout(Duration::from_secs(30));
        if let Some(Password(password)) = &self.password {
            config.password(password);
        }
        config
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Option<ServerOptions>, EnvError> {
        ServerOptions::read(&Env::from_pairs(pairs.iter().copied()), "shop")
    }

    #[test]
    fn without_a_host_there_is_no_server() {
        assert!(read(&[("DB_PORT", "1"), ("DB_NAME", "a")]).unwrap().is_none());
    }

    #[test]
    fn database_and_user_default_to_the_application() {
        let options = read(&[("DB_HOST", "there")]).unwrap().unwrap();
        assert_eq!((options.at().as_str(), options.user.as_str()), ("there:5432/shop", "shop"));
        assert_eq!(options.protection, Protection::Plain);
        let set = [("DB_HOST", "/run/pg"), ("DB_PORT", "1"), ("DB_NAME", "a"), ("DB_SSLMODE", "verify-full")];
        let options = read(&set).unwrap().unwrap();
        assert_eq!((options.at().as_str(), options.protection), ("/run/pg:1/a", Protection::VerifiedTls));
        let options = read(&[("DB_HOST", "there"), ("DB_SSLMODE", "require")]).unwrap().unwrap();
        assert_eq!(options.protection, Protection::UnverifiedTls);
    }

    #[test]
    fn passwords_are_hidden_from_debug_output_and_given_to_the_driver() {
        let options = read(&[("DB_HOST", "there"), ("DB_PASSWORD", "secret")]).unwrap().unwrap();
        assert!(!format!("{options:?}").contains("secret"));
        assert_eq!(options.config().get_password(), Some("secret".as_bytes()));
    }

    #[test]
    fn refusals_name_the_variable() {
        for (name, value) in [
            ("DB_PORT", "70000"),
            ("DB_SSLMODE", "prefer"),
            ("DB_STATEMENT_TIMEOUT_MS", "9"),
            ("DB_START_WITHIN_S", "601"),
        ] {
            assert_eq!(read(&[("DB_HOST", "there"), (name, value)]).unwrap_err().name, name);
        }
    }
}
