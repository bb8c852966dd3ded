//! The target of all tools: one nginx with one worker and fixed responses, over HTTP/1.1, over cleartext HTTP/2, and as a
//! gRPC server that answers every call with a message from a file.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::bench::CpuPlacement;
use crate::bench::nginx::Nginx;

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
const SERVERS: [fn(u16) -> String; 5] = [http1, http2, grpc, json, failing];

/// The running nginx.
pub(in crate::bench) struct Target {
    nginx: Nginx,
}

impl Target {
    /// Starts nginx in `folder`.
    ///
    /// # Errors
    /// When it is not installed or does not start.
    pub(in crate::bench) fn start(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder.join("bench.Echo")).context("cannot make the folder of the response")?;
        fs::write(folder.join("bench.Echo/Say"), MESSAGE).context("cannot write the response")?;
        fs::write(folder.join("echo.proto"), PROTO).context("cannot write the description")?;
        Ok(Self { nginx: Nginx::start(folder, CpuPlacement::SERVER, &SERVERS)? })
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

    /// Ends it.
    pub(in crate::bench) fn stop(self) -> Result<()> {
        self.nginx.stop()
    }
}

fn fixed() -> String {
    format!("location / {{ default_type text/plain; return 200 '{ANSWER}'; }}")
}

fn http1(port: u16) -> String {
    format!("server {{ listen 127.0.0.1:{port} backlog=16000; {} }}\n", fixed())
}

fn http2(port: u16) -> String {
    format!("server {{ listen 127.0.0.1:{port} http2 backlog=16000; {} }}\n", fixed())
}

/// nginx serves no file for a POST, hence the detour over 405.
fn grpc(port: u16) -> String {
    format!(
        "server {{ listen 127.0.0.1:{port} http2 backlog=16000; root .; error_page 405 =200 $uri;\n\
         location / {{ default_type application/grpc; add_trailer grpc-status 0; }} }}\n"
    )
}

fn json(port: u16) -> String {
    let object = r#"{"id":7,"name":"anna"}"#;
    format!(
        "server {{ listen 127.0.0.1:{port} backlog=16000;\n\
         location / {{ default_type application/json; return 200 '{object}'; }} }}\n"
    )
}

fn failing(port: u16) -> String {
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
}
