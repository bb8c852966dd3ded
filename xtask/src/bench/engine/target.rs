//! What all generators ask: one nginx with one worker and fixed answers, over HTTP/1.1, cleartext HTTP/2, and as a
//! gRPC server whose every call is answered with a message from a file.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use peers::poll;

use super::contest::Lane;
use super::measured::SERVER;
use crate::bench::{found, say};
use crate::child::Running;

/// As long as the answers that the figures of other machines were measured with: 23 bytes.
const ANSWER: &str = "hello from the target!\n";
/// A gRPC frame, not compressed, of eight bytes: a message whose field 1 is the text `hello!`.
const MESSAGE: &[u8] = b"\0\0\0\0\x08\x0a\x06hello!";
/// What describes it, for generators that want a description.
pub(in crate::bench) const PROTO: &str = "syntax = \"proto3\";\npackage bench;\nmessage Note { string text = 1; }\n\
                                service Echo { rpc Say (Note) returns (Note); }\n";
const LISTENS_WITHIN: Duration = Duration::from_secs(10);

/// The running nginx.
pub(in crate::bench) struct Target {
    running: Running,
    ports: [u16; 4],
}

impl Target {
    /// Starts nginx in `folder`.
    ///
    /// # Errors
    /// When it is not installed or does not start.
    pub(in crate::bench) fn start(folder: &Path) -> Result<Self> {
        let nginx = found("nginx").context("nginx is not installed (Debian's package `nginx-light`)")?;
        let mut ports = [0; 4];
        for port in &mut ports {
            let socket = TcpListener::bind(("127.0.0.1", 0)).and_then(|socket| socket.local_addr());
            *port = socket.context("the system has no free port")?.port();
        }
        fs::create_dir_all(folder.join("bench.Echo")).context("cannot make the folder of the answer")?;
        fs::write(folder.join("bench.Echo/Say"), MESSAGE).context("cannot write the answer")?;
        fs::write(folder.join("echo.proto"), PROTO).context("cannot write the description")?;
        fs::write(folder.join("nginx.conf"), configuration(ports))
            .context("cannot write nginx's settings")?;
        let mut command = SERVER.command(&nginx);
        command.arg("-p").arg(folder).args(["-e", "error.log", "-c"]).arg(folder.join("nginx.conf"));
        command.stdin(Stdio::null());
        say(&command);
        let running = Running::start("nginx", command)?;
        let listens = poll::until(LISTENS_WITHIN, || {
            ports.iter().all(|port| TcpStream::connect(("127.0.0.1", *port)).is_ok())
        });
        ensure!(listens, "nginx did not listen within {} s", LISTENS_WITHIN.as_secs());
        Ok(Self { running, ports })
    }

    /// Where a protocol is spoken, as `HOST:PORT`.
    pub(in crate::bench) fn authority(&self, lane: Lane) -> String {
        format!("127.0.0.1:{}", self.ports[lane as usize])
    }

    /// Where five in a hundred paths, those whose number ends on an even ten, are answered with 503.
    pub(in crate::bench) fn failing_authority(&self) -> String {
        let [.., port] = self.ports;
        format!("127.0.0.1:{port}")
    }

    /// Ends it.
    pub(in crate::bench) fn stop(self) -> Result<()> {
        self.running.stop(LISTENS_WITHIN).map(drop)
    }
}

/// Paths without a leading `/` are in the folder that nginx is given. A file is no answer to a POST, hence the
/// detour over 405.
fn configuration([http1, http2, grpc, failing]: [u16; 4]) -> String {
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("  {kind}_temp_path {kind};\n"))
        .concat();
    let fixed = format!("location / {{ default_type text/plain; return 200 '{ANSWER}'; }}");
    format!(
        "daemon off;\nworker_processes 1;\npid nginx.pid;\nerror_log error.log crit;\n\
         events {{ worker_connections 16000; }}\n\
         http {{\n  access_log off;\n  keepalive_requests 1000000000;\n  keepalive_timeout 600s;\n  \
         open_file_cache max=10;\n{temporary}\
         server {{ listen 127.0.0.1:{http1} backlog=16000; {fixed} }}\n\
         server {{ listen 127.0.0.1:{http2} http2 backlog=16000; {fixed} }}\n\
         server {{ listen 127.0.0.1:{grpc} http2 backlog=16000; root .; error_page 405 =200 $uri;\n\
         location / {{ default_type application/grpc; add_trailer grpc-status 0; }} }}\n\
         server {{ listen 127.0.0.1:{failing} backlog=16000; {fixed}\n\
         location ~ [02468]0$ {{ return 503; }} }}\n}}\n"
    )
}

/// The command that starts a program on some processors, as long as there are several.
pub(in crate::bench) fn pinned(program: &Path, processors: Option<&str>) -> Command {
    let Some(processors) = processors else { return Command::new(program) };
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", processors]).arg(program);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fixed_answers_have_the_stated_lengths() {
        assert_eq!(ANSWER.len(), 23);
        assert_eq!(usize::from(MESSAGE[4]), MESSAGE.len() - 5);
    }
}
