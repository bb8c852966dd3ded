//! The table of limits, and what the environment says of it.

use crate::grpc::{By, METHODS, Method};
use kit::env::{Env, EnvError};
use serde::Deserialize;
use std::collections::HashMap;
use std::path::Path;

/// What is done with a call when it cannot be known how often its caller has called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    /// It is admitted.
    Admit,
    /// It is refused.
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
        /// The file.
        path: String,
        /// What is wrong with it.
        why: String,
    },
}

/// One row of the table: how often, and of whom.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    per_minute: u32,
    by: Option<Who>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Who {
    Ip,
    User,
}

/// How calls are limited.
#[derive(Debug, Clone)]
pub struct LimitSettings {
    /// Whether they are.
    pub is_on: bool,
    /// When it cannot be known.
    pub on_failure: OnFailure,
    /// Proxies whose `x-forwarded-for` is believed.
    pub trusted_proxies: usize,
    table: HashMap<&'static str, (u32, By)>,
}

impl LimitSettings {
    /// Reads them.
    ///
    /// # Errors
    /// When a variable or the table cannot be used.
    pub fn read(env: &Env) -> Result<Self, SettingsError> {
        let words = [("open", OnFailure::Admit), ("closed", OnFailure::Refuse)];
        let mut table = HashMap::new();
        if let Some(path) = env.text("RATE_LIMIT_TABLE") {
            let refused = |why| SettingsError::Table { path: path.to_owned(), why };
            let text = std::fs::read_to_string(Path::new(path)).map_err(|e| refused(e.to_string()))?;
            table = read_table(&text).map_err(refused)?;
        }
        Ok(Self {
            is_on: env.choice("RATE_LIMIT_ENABLED", &[("true", true), ("false", false)])?,
            on_failure: env.choice("RATE_LIMIT_ON_FAILURE", &words)?,
            trusted_proxies: usize::try_from(env.within("TRUSTED_PROXIES", 0, 0..=16)?).unwrap_or(0),
            table,
        })
    }

    /// How often a minute a method may be called, and by whom.
    #[must_use]
    pub fn of(&self, method: &Method) -> (u32, By) {
        self.table.get(method.name).copied().unwrap_or((method.per_minute, method.by))
    }
}

fn read_table(text: &str) -> Result<HashMap<&'static str, (u32, By)>, String> {
    let rows: HashMap<String, Row> = toml::from_str(text).map_err(|error| error.to_string())?;
    let mut table = HashMap::new();
    for (name, row) in rows {
        let method = METHODS.iter().find(|method| method.name == name);
        let method = method.ok_or_else(|| format!("no rpc is called {name}"))?;
        if row.per_minute == 0 {
            return Err(format!("{name}: per_minute must be at least 1"));
        }
        let by = match row.by {
            Some(Who::Ip) => By::Ip,
            Some(Who::User) => By::User,
            None => method.by,
        };
        table.insert(method.name, (row.per_minute, by));
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_changes_what_it_names_and_is_refused_for_what_it_does_not_know() {
        let text = "GetListing = { per_minute = 7, by = \"user\" }\nSearchListings = { per_minute = 9 }";
        let table = read_table(text).unwrap();
        assert_eq!(table["GetListing"], (7, By::User));
        assert_eq!(table["SearchListings"], (9, By::Ip));
        for (text, why) in [
            ("GetListings = { per_minute = 7 }", "no rpc is called GetListings"),
            ("GetListing = { per_minute = 0 }", "GetListing: per_minute must be at least 1"),
            ("GetListing = { per_second = 1 }", "per_second"),
            ("GetListing = 5", "GetListing"),
        ] {
            let said = read_table(text).unwrap_err();
            assert!(said.contains(why), "{said}");
        }
    }

    #[test]
    fn it_is_on_and_as_documented_unless_told_otherwise() {
        let settings = LimitSettings::read(&Env::of([])).unwrap();
        assert!(settings.is_on && settings.on_failure == OnFailure::Admit && settings.trusted_proxies == 0);
        let of = |name| settings.of(METHODS.iter().find(|method| method.name == name).unwrap());
        assert_eq!(of("GetProductStats"), (300, By::Ip));
        assert_eq!(of("RecordInventoryMovement"), (50, By::User));
        assert!(!LimitSettings::read(&Env::of([("RATE_LIMIT_ENABLED", "false")])).unwrap().is_on);
    }
}
