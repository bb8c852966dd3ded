//! The settings of the rate limiter and its table of limits.

use std::collections::HashMap;
use std::path::Path;

use kit::env::{Env, EnvError};
use serde::Deserialize;

use crate::methods::{METHODS, Method, MethodLimit, RateLimitKey};

/// What happens to a call when Redis, which counts the calls, does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    Admit,
    Refuse,
}

/// Why the limits cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// A variable cannot be used.
    #[error(transparent)]
    Env(#[from] EnvError),
    /// The table cannot be used.
    #[error("RATE_LIMIT_TABLE={path}: {why}")]
    Table {
        path: String,
        /// What is wrong with it.
        why: String,
    },
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct TableRow {
    per_minute: u32,
    by: Option<RateLimitKey>,
}

/// Settings of the rate limiter.
#[derive(Debug, Clone)]
pub struct LimitSettings {
    /// Whether calls are limited.
    pub is_on: bool,
    /// What happens to calls when Redis does not answer.
    pub on_failure: OnFailure,
    /// The number of proxies in front whose `x-forwarded-for` is trusted.
    pub trusted_proxies: usize,
    table: HashMap<&'static str, MethodLimit>,
}

impl LimitSettings {
    /// Reads them from the environment.
    ///
    /// # Errors
    /// When a variable or the table cannot be used.
    pub fn read(env: &Env) -> Result<Self, SettingsError> {
        let policies = [("open", OnFailure::Admit), ("closed", OnFailure::Refuse)];
        let mut table = HashMap::new();
        if let Some(path) = env.text("RATE_LIMIT_TABLE") {
            let refused = |why| SettingsError::Table { path: path.to_owned(), why };
            let text = std::fs::read_to_string(Path::new(path)).map_err(|e| refused(e.to_string()))?;
            table = read_table(&text).map_err(refused)?;
        }
        Ok(Self {
            is_on: env.choice("RATE_LIMIT_ENABLED", &[("true", true), ("false", false)])?,
            on_failure: env.choice("RATE_LIMIT_ON_FAILURE", &policies)?,
            trusted_proxies: usize::try_from(env.within("TRUSTED_PROXIES", 0, 0..=16)?).unwrap_or(0),
            table,
        })
    }

    /// The limit of a method: the table's, or else the default.
    #[must_use]
    pub fn limit_of(&self, method: &Method) -> MethodLimit {
        self.table.get(method.name).copied().unwrap_or(method.limit)
    }
}

fn read_table(text: &str) -> Result<HashMap<&'static str, MethodLimit>, String> {
    let rows: HashMap<String, TableRow> = toml::from_str(text).map_err(|error| error.to_string())?;
    let mut table = HashMap::new();
    for (name, row) in rows {
        let method = METHODS.iter().find(|method| method.name == name);
        let method = method.ok_or_else(|| format!("no rpc is called {name}"))?;
        if row.per_minute == 0 {
            return Err(format!("{name}: per_minute must be at least 1"));
        }
        let key = row.by.unwrap_or(method.limit.key);
        table.insert(method.name, MethodLimit { per_minute: row.per_minute, key });
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_overrides_the_limits_it_names_and_is_refused_for_unknown_names() {
        let text = "GetListing = { per_minute = 7, by = \"user\" }\nSearchListings = { per_minute = 9 }";
        let table = read_table(text).unwrap();
        assert_eq!(table["GetListing"], MethodLimit { per_minute: 7, key: RateLimitKey::User });
        assert_eq!(table["SearchListings"], MethodLimit { per_minute: 9, key: RateLimitKey::Ip });
        for (text, why) in [
            ("GetListings = { per_minute = 7 }", "no rpc is called GetListings"),
            ("GetListing = { per_minute = 0 }", "GetListing: per_minute must be at least 1"),
            ("GetListing = { per_second = 1 }", "per_second"),
            ("GetListing = 5", "GetListing"),
        ] {
            let error = read_table(text).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn defaults_are_on_and_as_documented() {
        let settings = LimitSettings::read(&Env::from_pairs([])).unwrap();
        assert!(settings.is_on && settings.on_failure == OnFailure::Admit && settings.trusted_proxies == 0);
        let of = |name| settings.limit_of(METHODS.iter().find(|method| method.name == name).unwrap());
        assert_eq!(of("GetProductStats"), MethodLimit { per_minute: 300, key: RateLimitKey::Ip });
        assert_eq!(of("RecordInventoryMovement"), MethodLimit { per_minute: 50, key: RateLimitKey::User });
        assert!(!LimitSettings::read(&Env::from_pairs([("RATE_LIMIT_ENABLED", "false")])).unwrap().is_on);
    }
}
