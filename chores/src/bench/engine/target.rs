//! The target of all tools: one nginx with one worker and fixed responses, over HTTP/1.1, over cleartext HTTP/2, and as a
//! gRPC server that answers every call with a message from a file.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use peers::nginx::Nginx;

/// As long as the responses that the figures of other machines were measured with: 23 bytes.
const ANSWER: &str = "hello from the target!\n";
/// A gRPC frame, not compressed, of eight bytes: a message whose field 1 is the text `hello!`.
const MESSAGE: &[u8] = b"\0\0\0\0\x08\x0a\x06hello!";
/// Its description, for tools that need one.
pub(in crate::bench) const PROTO: &str = "syntax = \"proto3\";\npackage bench;\nmessage Note { string text = 1; }\n\
                                service Echo { rpc Say (Note) returns (Note); }\n";

/// A protocol that the target serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::bench) enum Protocol {
    Http1,
    /// In cleartext, with prior knowledge.
    Http2,
    Grpc,
}

/// Its servers, in the order of [`Protocol`], then the one that answers with JSON, then the one that fails for some paths.
const SERVERS: [fn(u16, &Path) -> String; 5] = [http1, http2, grpc, json, failing];

/// The running nginx.
pub(in crate::bench) struct Target {
    nginx: Nginx,
}

impl Target {
    /// Starts nginx, whose responses are in `folder`.
    ///
    /// # Errors
    /// When it is not installed or does not start.
    pub(in crate::bench) fn start(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder.join("bench.Echo")).context("cannot make the folder of the response")?;
        fs::write(folder.join("bench.Echo/Say"), MESSAGE).context("cannot write the response")?;
        fs::write(folder.join("echo.proto"), PROTO).context("cannot write the description")?;
        let blocks = |ports: [u16; SERVERS.len()]| {
            SERVERS.iter().zip(ports).map(|(server, port)| server(port, folder)).collect::<String>()
        };
        let nginx = Nginx::start_configured(|own, ports| configuration(own, &blocks(ports)));
        Ok(Self { nginx: nginx.context("the target")? })
    }

    /// Where a protocol is served, as `HOST:PORT`.
    pub(in crate::bench) fn authority(&self, protocol: Protocol) -> String {
        format!("127.0.0.1:{}", self.nginx.port(protocol as usize))
    }

    /// Where every response is a JSON object.
    pub(in crate::bench) fn json_authority(&self) -> String {
        format!("127.0.0.1:{}", self.nginx.port(SERVERS.len() - 2))
    }

    /// Where five in a hundred paths, those whose number ends on an even ten, give status 503.
    pub(in crate::bench) fn failing_authority(&self) -> String {
        format!("127.0.0.1:{}", self.nginx.port(SERVERS.len() - 1))
    }
}

/// One worker, on the first of several processors: the generator has the other.
fn configuration(own: &Path, servers: &str) -> String {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let affinity = if processors > 1 { "worker_cpu_affinity 01;\n" } else { "" };
    let own = own.display();
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("  {kind}_temp_path {own}/{kind};\n"))
        .concat();
    format!(
        "worker_processes 1;\n{affinity}pid {own}/nginx.pid;\nerror_log {own}/error.log crit;\n\
         events {{ worker_connections 16000; }}\n\
         http {{\n  access_log off;\n  sendfile on;\n  tcp_nopush on;\n  keepalive_requests 1000000000;\n  \
         keepalive_timeout 600s;\n  open_file_cache max=10;\n{temporary}{servers}}}\n"
    )
}

fn fixed() -> String {
    format!("location / {{ default_type text/plain; return 200 '{ANSWER}'; }}")
}

fn http1(port: u16, _: &Path) -> String {
    format!("server {{ listen 127.0.0.1:{port} backlog=16000; {} }}\n", fixed())
}

fn http2(port: u16, _: &Path) -> String {
    format!("server {{ listen 127.0.0.1:{port} http2 backlog=16000; {} }}\n", fixed())
}

/// nginx serves no file for a POST, hence the detour over 405.
fn grpc(port: u16, folder: &Path) -> String {
    let root = folder.display();
    format!(
        "server {{ listen 127.0.0.1:{port} http2 backlog=16000; root {root}; error_page 405 =200 $uri;\n\
         location / {{ default_type application/grpc; add_trailer grpc-status 0; }} }}\n"
    )
}

fn json(port: u16, _: &Path) -> String {
    let object = r#"{"id":7,"name":"anna"}"#;
    format!(
        "server {{ listen 127.0.0.1:{port} backlog=16000;\n\
         location / {{ default_type application/json; return 200 '{object}'; }} }}\n"
    )
}

fn failing(port: u16, _: &Path) -> String {
    format!(
        "server {{ listen 127.0.0.1:{port} backlog=16000; {}\nlocation ~ [02468]0$ {{ return 503; }} }}\n",
        fixed()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fixed_responses_have_the_documented_lengths() {
        assert_eq!(ANSWER.len(), 23);
        assert_eq!(usize::from(MESSAGE[4]), MESSAGE.len() - 5);
    }

    #[test]
    fn every_server_answers() {
        let folder = tempfile::tempdir().unwrap();
        let target = Target::start(folder.path()).unwrap();
        let get = |authority: String, path: &str| peers::go::get(authority.parse().unwrap(), path);
        assert_eq!(get(target.authority(Protocol::Http1), "/").unwrap(), ANSWER.as_bytes());
        assert_eq!(get(target.json_authority(), "/").unwrap(), br#"{"id":7,"name":"anna"}"#);
        assert_eq!(get(target.failing_authority(), "/21").unwrap(), ANSWER.as_bytes());
        assert!(get(target.failing_authority(), "/20").is_err());
    }
}
