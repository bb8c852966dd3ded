//! A WebSocket server in Go, built from `peers/websocket`, whose protocol is that of `github.com/gorilla/websocket`.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::error::{PeerError, Tried as _};
use crate::go::Toolchain;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/websocket");

/// A running server. Dropping it ends it; it also ends when this process does, because its standard input ends.
#[derive(Debug)]
pub struct WebSocketServer {
    child: Child,
    plain: SocketAddr,
    secure: SocketAddr,
    _folder: TempDir,
}

impl WebSocketServer {
    /// Builds and starts it. Paths: see `peers/websocket/main.go`.
    ///
    /// # Errors
    /// When there is no Go, or it does not build or start.
    pub fn start() -> Result<Self, PeerError> {
        let toolchain = Toolchain::find()?;
        let folder =
            TempDir::with_prefix("peers-websocket-").tried(|| "make a temporary folder".to_owned())?;
        let binary = folder.path().join("websocket");
        toolchain.build_with_modules(Path::new(SOURCE), &binary)?;
        let mut command = Command::new(&binary);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        // Ctrl-C must reach only our own process.
        command.process_group(0);
        let mut child = command.spawn().tried(|| "start the WebSocket server".to_owned())?;
        let mut line = String::new();
        if let Some(output) = child.stdout.take() {
            let _ended = BufReader::new(output).read_line(&mut line);
        }
        let addresses: Vec<SocketAddr> =
            line.split_whitespace().filter_map(|address| address.parse().ok()).collect();
        if let [plain, secure] = addresses[..] {
            return Ok(WebSocketServer { child, plain, secure, _folder: folder });
        }
        let _gone = child.kill();
        let _reaped = child.wait();
        let what = "the WebSocket server did not print its addresses".to_owned();
        Err(PeerError::Server { what, log: line })
    }

    /// Where it listens without TLS.
    pub fn plain(&self) -> SocketAddr {
        self.plain
    }

    /// Where it listens with TLS, with a certificate that nobody knows.
    pub fn secure(&self) -> SocketAddr {
        self.secure
    }
}

impl Drop for WebSocketServer {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}
