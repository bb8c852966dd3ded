//! nginx with the settings and files of a benchmark, on the processors that it is given.

use std::fs;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use peers::poll;

use super::{CpuPlacement, find_program, print_command};
use xtask::child::Running;

const LISTENS_WITHIN: Duration = Duration::from_secs(10);

/// A running server; dropping it ends it.
pub(super) struct Nginx {
    running: Running,
    ports: Vec<u16>,
}

impl Nginx {
    /// Starts it in `folder` with a free port for each of `servers`, whose functions take the port and return a `server`
    /// block. Paths in them without a leading `/` are relative to the folder.
    ///
    /// # Errors
    /// When it is not installed or does not listen in time.
    pub(super) fn start(
        folder: &Path,
        placement: CpuPlacement,
        servers: &[fn(u16) -> String],
    ) -> Result<Self> {
        let nginx =
            find_program("nginx").context("nginx is not installed (Debian's package `nginx-light`)")?;
        let ports = free_ports(servers.len())?;
        let blocks: String = servers.iter().zip(&ports).map(|(server, port)| server(*port)).collect();
        fs::write(folder.join("nginx.conf"), configuration(&blocks))
            .context("cannot write nginx's settings")?;
        let mut command = placement.command(&nginx);
        command.arg("-p").arg(folder).args(["-e", "error.log", "-c"]).arg(folder.join("nginx.conf"));
        command.stdin(Stdio::null());
        print_command(&command);
        let running = Running::start("nginx", command)?;
        let is_open = |port: &u16| TcpStream::connect(("127.0.0.1", *port)).is_ok();
        let listens = poll::until(LISTENS_WITHIN, || ports.iter().all(is_open));
        ensure!(listens, "nginx did not listen within {} s", LISTENS_WITHIN.as_secs());
        Ok(Self { running, ports })
    }

    /// The port of the server with this index in `servers`.
    pub(super) fn port(&self, server: usize) -> u16 {
        self.ports[server]
    }

    /// Its main process, which has a child for its worker.
    pub(super) fn pid(&mut self) -> u32 {
        self.running.child().id()
    }

    /// Ends it.
    ///
    /// # Errors
    /// When it has to be killed.
    pub(super) fn stop(self) -> Result<()> {
        self.running.stop(LISTENS_WITHIN).map(drop)
    }
}

/// So many different ones: all are held until the last is known.
fn free_ports(count: usize) -> Result<Vec<u16>> {
    let bound = (0..count).map(|_| TcpListener::bind(("127.0.0.1", 0)));
    let held = bound.collect::<io::Result<Vec<_>>>().context("the system has no free port")?;
    let ports = held.iter().map(|socket| Ok(socket.local_addr()?.port()));
    ports.collect()
}

fn configuration(servers: &str) -> String {
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("  {kind}_temp_path {kind};\n"))
        .concat();
    format!(
        "daemon off;\nworker_processes 1;\npid nginx.pid;\nerror_log error.log crit;\n\
         events {{ worker_connections 16000; }}\n\
         http {{\n  access_log off;\n  sendfile on;\n  tcp_nopush on;\n  keepalive_requests 1000000000;\n  \
         keepalive_timeout 600s;\n  open_file_cache max=10;\n{temporary}{servers}}}\n"
    )
}
