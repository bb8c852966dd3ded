//! PgBouncer, as it is installed on this machine, between a service and its database.

use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;
use tokio::net::TcpStream;

/// Debian has it outside the search path of most users.
const FOLDER: &str = "/usr/sbin";

/// A running pooler, with a connection to the server for each of its clients. Dropping it ends it.
pub struct PgBouncer {
    child: Child,
    pub address: SocketAddr,
    _folder: TempDir,
}

impl PgBouncer {
    /// Before the server at `host` and `port`, of whose databases the user is `user`.
    pub async fn start(host: &str, port: &str, user: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let own_port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
        let configuration = format!(
            "[databases]\n* = host={host} port={port} user={user}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {own_port}\nunix_socket_dir =\nauth_type = any\npool_mode = session\n"
        );
        let file = folder.path().join("pgbouncer.ini");
        std::fs::write(&file, configuration).unwrap();
        let mut command = Command::new(Path::new(FOLDER).join("pgbouncer"));
        if rustix::process::geteuid().is_root() {
            // It refuses to run as root.
            command.args(["-u", "postgres"]);
        }
        let log = File::create(folder.path().join("log")).unwrap();
        let child = command.arg(&file).stdout(Stdio::null()).stderr(log).spawn().unwrap();
        let address = (Ipv4Addr::LOCALHOST, own_port).into();
        let pooler = Self { child, address, _folder: folder };
        crate::until("PgBouncer listens", async || TcpStream::connect(address).await.is_ok()).await;
        pooler
    }
}

impl Drop for PgBouncer {
    fn drop(&mut self) {
        let _already_ended = self.child.kill();
        let _already_waited = self.child.wait();
    }
}
