//! nginx, as it is installed on this machine: HTTP/1.1 and HTTP/2, in cleartext and under TLS, over a Unix socket
//! too. Its responses are fixed; see [`Nginx::start`].

use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tempfile::TempDir;

use crate::error::{PeerError, Tried as _};
use crate::guard::{Guard, Watched};
use crate::{poll, port, processes};

/// Another process may take the port that was found before the server does.
const START_ATTEMPTS: usize = 5;
const READY_WITHIN: Duration = Duration::from_secs(20);
const STOPPED_WITHIN: Duration = Duration::from_secs(10);
const PLACES: [&str; 4] = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"];
const PID_FILE: &str = "nginx.pid";

/// Bytes of `/large`.
pub const LARGE_BYTES: usize = 5 << 20;

/// A running server. Dropping it ends it and removes its folder; if this process ends without that, a guard does.
pub struct Nginx {
    child: Child,
    ports: Vec<u16>,
    _guard: Guard,
    folder: TempDir,
}

impl Nginx {
    /// Whether it is installed.
    pub fn is_installed() -> bool {
        find().is_some()
    }

    /// Starts it with this certificate and key (PEM). Paths: `/` answers 200 with `hello`, `/empty` 204, `/moved` 302,
    /// `/large` 200 with [`LARGE_BYTES`], `/upload` 200 once it has read the whole body, everything else 404.
    ///
    /// # Errors
    /// When it is missing or does not start; with the end of its log.
    pub fn start(certificate: &str, key: &str) -> Result<Self, PeerError> {
        let folder = temporary_folder()?;
        write(&folder, "cert.pem", certificate.as_bytes())?;
        write(&folder, "key.pem", key.as_bytes())?;
        write(&folder, "large", &vec![b'x'; LARGE_BYTES])?;
        Self::start_in(folder, configuration)
    }

    /// Starts it with a configuration of your own, of a folder for its files and some free ports. It must name
    /// `nginx.pid` there as the file of the process id, and set neither the user nor whether nginx is a daemon.
    ///
    /// # Errors
    /// When it is missing or does not start; with the end of its log.
    pub fn start_configured<const PORTS: usize>(
        configuration: impl Fn(&Path, [u16; PORTS]) -> String,
    ) -> Result<Self, PeerError> {
        Self::start_in(temporary_folder()?, configuration)
    }

    fn start_in<const PORTS: usize>(
        folder: TempDir,
        configuration: impl Fn(&Path, [u16; PORTS]) -> String,
    ) -> Result<Self, PeerError> {
        let program = find().ok_or_else(|| PeerError::Missing {
            program: "nginx",
            looked: PLACES.join(", "),
            package: "nginx-light",
        })?;
        let watched = Watched { folder: folder.path(), pid_file: PID_FILE, name: "nginx" };
        let guard = Guard::start(Command::new("sh"), &watched)?;
        // Only root may set the user of the workers.
        let user = if rustix::process::geteuid().is_root() { "user root;\n" } else { "" };
        let mut attempts = 1;
        loop {
            let ports = free_ports()?;
            let text = format!("{user}daemon off;\n{}", configuration(folder.path(), ports));
            write(&folder, "nginx.conf", text.as_bytes())?;
            match run(&program, folder.path()) {
                Ok(child) => return Ok(Nginx { child, ports: ports.into(), _guard: guard, folder }),
                Err(error) if attempts == START_ATTEMPTS => return Err(error),
                Err(_) => attempts += 1,
            }
        }
    }

    /// The port of HTTP/1.1 in cleartext.
    pub fn http1_port(&self) -> u16 {
        self.ports[0]
    }

    /// The port of HTTP/2 in cleartext, with prior knowledge.
    pub fn h2c_port(&self) -> u16 {
        self.ports[1]
    }

    /// The port of TLS, where HTTP/2 and HTTP/1.1 can be agreed on.
    pub fn tls_port(&self) -> u16 {
        self.ports[2]
    }

    /// The port with this index among those of a configuration of your own.
    pub fn port(&self, index: usize) -> u16 {
        self.ports[index]
    }

    /// The Unix socket of HTTP/1.1 in cleartext.
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("http.sock")
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        processes::send(Pid::from_child(&self.child), Signal::TERM);
        if !poll::until(STOPPED_WITHIN, || matches!(self.child.try_wait(), Ok(Some(_)) | Err(_))) {
            processes::kill(Pid::from_child(&self.child));
            let _reaped = self.child.wait();
        }
    }
}

fn temporary_folder() -> Result<TempDir, PeerError> {
    TempDir::with_prefix("peers-nginx-").tried(|| "make a temporary folder".to_owned())
}

fn write(folder: &TempDir, name: &str, bytes: &[u8]) -> Result<(), PeerError> {
    let path = folder.path().join(name);
    fs::write(&path, bytes).tried(|| format!("write {}", path.display()))
}

fn find() -> Option<PathBuf> {
    PLACES.iter().map(|place| Path::new(place).join("nginx")).find(|path| path.exists())
}

fn free_ports<const COUNT: usize>() -> Result<[u16; COUNT], PeerError> {
    let mut ports = [0; COUNT];
    for port in &mut ports {
        *port = port::free().ok_or_else(|| PeerError::System {
            what: "find a free port".to_owned(),
            source: std::io::ErrorKind::AddrInUse.into(),
        })?;
    }
    Ok(ports)
}

/// Starts it and waits for its process id, which it writes once it listens.
fn run(program: &Path, folder: &Path) -> Result<Child, PeerError> {
    let mut command = Command::new(program);
    command.arg("-p").arg(folder).args(["-e", "error.log", "-c"]).arg(folder.join("nginx.conf"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Ctrl-C must reach only our own process.
    command.process_group(0);
    let mut child = command.spawn().tried(|| "start nginx".to_owned())?;
    let ended = || -> PeerError {
        let log = fs::read_to_string(folder.join("error.log")).unwrap_or_default();
        PeerError::Server { what: "nginx ended before it was ready".to_owned(), log }
    };
    let ready = poll::find(READY_WITHIN, || match child.try_wait() {
        Ok(None) => fs::read_to_string(folder.join(PID_FILE)).ok()?.trim().parse::<u32>().ok().map(Some),
        _ => Some(None),
    });
    if ready.flatten() == Some(child.id()) { Ok(child) } else { Err(ended()) }
}

fn configuration(folder: &Path, [http1, h2c, tls]: [u16; 3]) -> String {
    let folder = folder.display();
    let locations = format!(
        "location = / {{ default_type text/plain; return 200 'hello'; }}\n\
         location = /empty {{ return 204; }}\n\
         location = /moved {{ return 302 /; }}\n\
         location = /large {{ root {folder}; }}\n\
         location = /upload {{ proxy_pass http://127.0.0.1:{http1}/; proxy_method GET; }}\n\
         location / {{ return 404; }}\n"
    );
    let server = |listen: &str| format!("server {{ {listen}\n{locations} }}\n");
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .iter()
        .map(|what| format!("{what}_temp_path {folder}/{what};\n"))
        .collect();
    format!(
        "pid {folder}/{PID_FILE};\nworker_processes 1;\nevents {{ worker_connections 512; }}\n\
         http {{ access_log off; client_max_body_size 0; {temporary}{}{}{} }}\n",
        server(&format!("listen 127.0.0.1:{http1}; listen unix:{folder}/http.sock;")),
        server(&format!("listen 127.0.0.1:{h2c} http2;")),
        server(&format!(
            "listen 127.0.0.1:{tls} ssl http2;\nssl_certificate {folder}/cert.pem;\nssl_certificate_key \
             {folder}/key.pem;"
        ))
    )
}
