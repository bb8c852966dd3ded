//! PostgreSQL: a temporary cluster of one server, with the programs that are installed on this machine.
//!
//! Every process that can open a socket of this machine may do everything in it, so nothing of value belongs there. When
//! we are root it runs as the user `postgres`, which must be able to reach the temporary folder. Start reading at
//! [`Cluster`].

mod account;
mod installation;
mod options;
mod run;
mod server;

use std::fs::File;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::{PeerError, Tried as _};
use crate::guard::{Guard, Watched};
use crate::port;
use account::Account;
pub use installation::{Installation, OLDEST};
pub use options::Options;
use server::{PID_FILE, Server};

/// The user of [`Cluster::env`]: owns its databases, and is not a superuser, so that the connections kept for one stay
/// free for [`Cluster::sql`].
pub const USER: &str = "service";
/// The database that every cluster begins with.
pub const DATABASE: &str = "service";
/// The superuser, and the database in which `pg_stat_statements` is there where the system has it.
pub const ADMIN: &str = "postgres";

/// Another process may take the port that was found before the server does.
const START_ATTEMPTS: usize = 5;

/// One server on a free port of 127.0.0.1 with its data in a temporary folder.
///
/// Dropping it ends the server and removes the folder, also when a test panics. If this process ends without that
/// (killed, or the cluster is in a `static`), a guard does it.
pub struct Cluster {
    installation: Installation,
    account: Account,
    port: u16,
    // Dropped in this order: the server ends, the guard has nothing left to do, the folder goes.
    server: Option<Server>,
    _guard: Guard,
    folder: TempDir,
}

impl Cluster {
    /// A running cluster with the default [`Options`].
    ///
    /// # Errors
    /// As [`Cluster::start_with`].
    pub fn start() -> Result<Self, PeerError> {
        Self::start_with(&Options::default())
    }

    /// A running cluster; takes one to three seconds.
    ///
    /// # Errors
    /// When PostgreSQL or a user to run it as is missing, or it does not start; with the end of its log.
    pub fn start_with(options: &Options) -> Result<Self, PeerError> {
        let installation = Installation::find()?;
        let account = Account::find()?;
        let folder =
            TempDir::with_prefix("peers-postgres-").tried(|| "make a temporary folder".to_owned())?;
        account.own(folder.path())?;
        let watched =
            Watched { folder: folder.path(), pid_file: &format!("data/{PID_FILE}"), name: "postgres" };
        let guard = Guard::start(account.command(Path::new("sh")), &watched)?;
        let mut cluster = Self { installation, account, port: 0, server: None, _guard: guard, folder };
        cluster.initialize(options)?;
        cluster.start_on_a_free_port()?;
        cluster.sql(ADMIN, &format!("CREATE ROLE {USER} LOGIN"))?;
        cluster.create_database(DATABASE)?;
        if cluster.installation.has_library("pg_stat_statements") {
            cluster.sql(ADMIN, "CREATE EXTENSION pg_stat_statements")?;
        }
        Ok(cluster)
    }

    fn initialize(&self, options: &Options) -> Result<(), PeerError> {
        let data = self.data();
        let mut initdb = self.command("initdb");
        initdb.arg("--pgdata").arg(&data).args([
            "--username",
            ADMIN,
            "--auth",
            "trust",
            "--encoding",
            "UTF8",
        ]);
        initdb.args(["--locale", "C", "--no-sync", "--no-instructions"]);
        run::run(initdb, "")?;
        let hba = data.join("pg_hba.conf");
        std::fs::write(&hba, options::HBA).tried(|| format!("write {}", hba.display()))?;
        let conf = data.join("postgresql.conf");
        let added = options::configuration(options, &self.installation, self.folder.path());
        File::options()
            .append(true)
            .open(&conf)
            .and_then(|mut file| file.write_all(added.as_bytes()))
            .tried(|| format!("add to {}", conf.display()))
    }

    fn start_on_a_free_port(&mut self) -> Result<(), PeerError> {
        let mut attempts = 0;
        loop {
            self.port = port::free().ok_or_else(|| PeerError::System {
                what: "find a free port".to_owned(),
                source: std::io::ErrorKind::AddrInUse.into(),
            })?;
            attempts += 1;
            match self.start_again() {
                Err(PeerError::Server { log, .. })
                    if attempts < START_ATTEMPTS && log.contains("Address already in use") => {}
                result => return result,
            }
        }
    }

    /// Starts the server again after [`stop`](Self::stop) or [`kill`](Self::kill), on the same port and data. What
    /// runs is left running.
    ///
    /// # Errors
    /// When it is not ready in time; with the end of its log.
    pub fn start_again(&mut self) -> Result<(), PeerError> {
        if self.server.is_none() {
            let mut postgres = self.command("postgres");
            postgres.arg("-D").arg(self.data()).args(["-p", &self.port.to_string()]);
            self.server = Some(Server::start(postgres, &self.data(), &self.folder.path().join("log"))?);
        }
        Ok(())
    }

    /// Stops the server in an orderly way: sessions are closed, everything is written.
    ///
    /// # Errors
    /// When it does not end in time or ends with a failure; it has been killed then.
    pub fn stop(&mut self) -> Result<(), PeerError> {
        self.server.take().map_or(Ok(()), Server::stop)
    }

    /// Kills every process of the server at once (SIGKILL).
    pub fn kill(&mut self) {
        if let Some(mut server) = self.server.take() {
            server.kill();
        }
    }

    /// Stops every process of the server (SIGSTOP): connections stay open and nothing answers.
    pub fn pause(&self) {
        if let Some(server) = &self.server {
            server.pause();
        }
    }

    /// Ends a [`pause`](Self::pause).
    pub fn resume(&self) {
        if let Some(server) = &self.server {
            server.resume();
        }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// The host of [`address`](Self::address).
    #[must_use]
    pub fn host(&self) -> String {
        self.address().ip().to_string()
    }

    /// The port of [`address`](Self::address); the same for the cluster's whole life.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The folder of its local socket, as a client's host name. Only root and the server's user can open it.
    #[must_use]
    pub fn socket_folder(&self) -> &Path {
        self.folder.path()
    }

    /// The environment of a service that uses [`DATABASE`].
    #[must_use]
    pub fn env(&self) -> [(&'static str, String); 4] {
        self.env_for(DATABASE)
    }

    /// The environment of a service that uses a database of [`create_database`](Self::create_database).
    #[must_use]
    pub fn env_for(&self, database: &str) -> [(&'static str, String); 4] {
        [
            ("DB_HOST", self.host()),
            ("DB_PORT", self.port.to_string()),
            ("DB_NAME", database.to_owned()),
            ("DB_USER", USER.to_owned()),
        ]
    }

    /// Makes an empty database that [`USER`] owns: a test's own, faster than a cluster of its own.
    ///
    /// # Errors
    /// When the server refuses.
    pub fn create_database(&self, name: &str) -> Result<(), PeerError> {
        let quoted = name.replace('"', "\"\"");
        self.sql(ADMIN, &format!("CREATE DATABASE \"{quoted}\" OWNER {USER}")).map(drop)
    }

    /// Runs statements as the superuser and returns their rows: a line each, `|` between columns, nothing else.
    /// The first failure ends it. Waits for as long as the server works on it.
    ///
    /// # Errors
    /// When the server cannot be reached or refuses; with its error output.
    pub fn sql(&self, database: &str, text: &str) -> Result<String, PeerError> {
        let mut psql = self.command("psql");
        psql.args(["-XAtq", "-v", "ON_ERROR_STOP=1", "-h", &self.host(), "-p", &self.port.to_string()]);
        psql.args(["-U", ADMIN, "-d", database]).env("PGCONNECT_TIMEOUT", "10");
        run::run(psql, text)
    }

    fn command(&self, program: &str) -> std::process::Command {
        let mut command = self.account.command(&self.installation.program(program));
        // The server's user may have no access to our current folder.
        command.current_dir(self.folder.path());
        command
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }
}
