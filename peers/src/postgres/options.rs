//! The settings of a cluster, and the server's configuration files.

use std::path::Path;

use super::installation::Installation;

/// Settings of one cluster. The defaults are fully durable and suit a machine for tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Whether commits reach the disk. Without it they survive a crash of the server and not one of the machine.
    pub fsync: bool,
    /// Connections at once, three of them for the superuser alone.
    pub max_connections: u32,
    /// Shared buffers in MiB.
    pub shared_buffers_mb: u32,
    /// More settings by their names in `postgresql.conf`; they override those above.
    pub settings: Vec<(String, String)>,
}

impl Default for Options {
    fn default() -> Self {
        Self { fsync: true, max_connections: 100, shared_buffers_mb: 128, settings: Vec::new() }
    }
}

/// Every user of this machine may connect over TCP; only the server's user can open the folder of the local socket.
pub(super) const HBA: &str = "local all all trust\nhost all all 127.0.0.1/32 trust\n";

/// What is added to `postgresql.conf`. The last line that names a setting counts.
pub(super) fn configuration(options: &Options, installation: &Installation, sockets: &Path) -> String {
    let on_off = |on| if on { "on" } else { "off" };
    let preloaded = if installation.has_library("pg_stat_statements") { "pg_stat_statements" } else { "" };
    let ours = [
        ("listen_addresses", "127.0.0.1".to_owned()),
        ("unix_socket_directories", sockets.display().to_string()),
        ("fsync", on_off(options.fsync).to_owned()),
        ("synchronous_commit", "on".to_owned()),
        ("max_connections", options.max_connections.to_string()),
        ("shared_buffers", format!("{}MB", options.shared_buffers_mb)),
        ("shared_preload_libraries", preloaded.to_owned()),
        ("log_line_prefix", "%m [%p] %u@%d ".to_owned()),
    ];
    let theirs = options.settings.iter().map(|(name, value)| (name.as_str(), value.clone()));
    ours.into_iter().chain(theirs).map(|(name, value)| line(name, &value)).collect()
}

fn line(name: &str, value: &str) -> String {
    format!("{name} = '{}'\n", value.replace('\\', "\\\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_with_quotes_and_backslashes_are_escaped() {
        assert_eq!(line("log_line_prefix", r"it's \n"), "log_line_prefix = 'it''s \\\\n'\n");
    }
}
