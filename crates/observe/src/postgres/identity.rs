//! The server's version and settings, for the run's manifest.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use super::own::OwnTransactions;
use super::session::Session;
use crate::notice::shortened;

/// Settings that name a path or address, not a behaviour.
const PLACES: &str = "'config_file', 'data_directory', 'external_pid_file', 'hba_file', 'ident_file', \
     'listen_addresses', 'port', 'unix_socket_directories', 'log_directory', 'cluster_name'";

/// Bytes of a version or name that are kept.
const LONGEST_FACT: usize = 200;

/// Identifies the server at `url`: `postgres_version`, `postgres_database`, and `postgres_settings`, the SHA-256 of
/// all its settings that differ from PostgreSQL's own and do not name a place.
///
/// # Errors
/// A sentence, without the URL, when it cannot be asked.
pub fn identify_postgres(url: &str) -> Result<BTreeMap<String, String>, String> {
    let session = Session::connect(url, OwnTransactions::default());
    let mut session = session.map_err(|error| error.to_string())?;
    let mut rows = |sql: &str| session.rows(sql).map_err(|error| error.to_string());
    let about = rows("SELECT current_setting('server_version'), current_database()")?;
    let settings = rows(&format!(
        "SELECT name || '=' || setting FROM pg_settings WHERE source NOT IN ('default', 'override', 'client', 'session') \
         AND name NOT IN ({PLACES}) ORDER BY name COLLATE \"C\""
    ))?;
    let mut digest = Sha256::new();
    for setting in settings.into_iter().flatten().flatten() {
        digest.update(setting.as_bytes());
        digest.update(b"\n");
    }
    let digest = hex::encode(digest.finalize());
    let mut about = about.into_iter().flatten().flatten();
    let cut = |fact: String| shortened(&fact, LONGEST_FACT);
    let facts = [
        ("postgres_version", about.next().map(cut)),
        ("postgres_database", about.next().map(cut)),
        ("postgres_settings", Some(digest)),
    ];
    Ok(facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect())
}
