//! A small service in Go, built from `peers/go`, with the endpoints by which services in Go are observed; and the Go
//! toolchain, whose `go tool pprof` our own reading of profiles is compared with.

use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::error::{PeerError, Tried as _};

/// Where it is installed, besides the search path.
const PLACES: [&str; 3] = ["/usr/local/go/bin", "/usr/lib/go/bin", "/usr/local/bin"];
/// No answer takes longer, a profile of the processor for some seconds neither.
const ANSWER_WITHIN: Duration = Duration::from_secs(60);
const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/go");

/// The Go toolchain of this machine.
#[derive(Debug, Clone)]
pub struct Toolchain {
    program: PathBuf,
}

impl Toolchain {
    /// Finds it.
    ///
    /// # Errors
    /// When it is not installed.
    pub fn find() -> Result<Self, PeerError> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders: Vec<PathBuf> = std::env::split_paths(&path).chain(PLACES.map(PathBuf::from)).collect();
        let program = folders.iter().map(|folder| folder.join("go")).find(|path| path.is_file());
        program.map(|program| Toolchain { program }).ok_or_else(|| PeerError::Missing {
            program: "go",
            looked: format!("the search path, {}", PLACES.join(", ")),
            package: "golang-go",
        })
    }

    /// What `go tool pprof` prints on standard output with these arguments.
    ///
    /// # Errors
    /// When it fails; with its error output.
    pub fn pprof(&self, arguments: &[impl AsRef<OsStr>]) -> Result<String, PeerError> {
        let mut command = self.command();
        command.args(["tool", "pprof", "-symbolize=none"]).args(arguments);
        self.run(command)
    }

    /// What `go tool pprof -top` prints of the profile that a server has at `path`: every function, the most expensive
    /// with its callees first.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    pub fn top_of(&self, address: SocketAddr, path: &str) -> Result<String, PeerError> {
        let profile = get(address, path)?;
        let mut file =
            tempfile::NamedTempFile::with_prefix("profile-").tried(|| "make a temporary file".to_owned())?;
        file.write_all(&profile).tried(|| "write a temporary file".to_owned())?;
        let options = ["-top", "-cum", "-nodecount=100000", "-nodefraction=0"].map(OsStr::new);
        self.pprof(&[&options[..], &[file.path().as_os_str()]].concat())
    }

    /// The folder with the sources of a module, in the version that the module in `folder` requires; fetched if they are not
    /// here, and checked by its digests.
    ///
    /// # Errors
    /// When they cannot be fetched.
    pub fn module(&self, folder: &Path, name: &str) -> Result<PathBuf, PeerError> {
        let go = |arguments: &[&str]| {
            let mut command = self.with_network();
            command.current_dir(folder).args(arguments);
            self.run(command)
        };
        go(&["mod", "download", name])?;
        Ok(go(&["list", "-m", "-f", "{{.Dir}}", name])?.trim_end().into())
    }

    fn build(&self, output: &Path) -> Result<(), PeerError> {
        let mut command = self.command();
        command.current_dir(SOURCE).arg("build").arg("-o").arg(output).arg(".");
        self.run(command).map(drop)
    }

    /// Builds a program whose modules are fetched if they are not here, and checked by their digests.
    ///
    /// # Errors
    /// When it cannot be built.
    pub(crate) fn build_with_modules(&self, source: &Path, output: &Path) -> Result<(), PeerError> {
        let mut command = self.with_network();
        command.current_dir(source).arg("build").arg("-o").arg(output).arg(".");
        self.run(command).map(drop)
    }

    /// Uses the installed toolchain and nothing from the network.
    fn command(&self) -> Command {
        let mut command = self.with_network();
        command.env("GOPROXY", "off");
        command
    }

    /// Uses the installed toolchain, and fetches modules that are not here.
    pub fn with_network(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.env("GOTOOLCHAIN", "local").env("GOFLAGS", "-buildvcs=false").stdin(Stdio::null());
        command
    }

    fn run(&self, mut command: Command) -> Result<String, PeerError> {
        let output = command.output().tried(|| format!("start {}", self.program.display()))?;
        if !output.status.success() {
            return Err(PeerError::Failed {
                program: self.program.clone(),
                status: output.status,
                stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            });
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// What the target's runtime samples, and how slow it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// One sample in this many contentions; 0 is off, as in Go.
    pub mutex_fraction: u32,
    /// One sample in this many nanoseconds of waiting; 0 is off, as in Go.
    pub block_rate_ns: u32,
    /// One sample in this many allocated bytes; Go's own rate is 524,288.
    pub memory_rate_bytes: u32,
    /// How many times the functions `heavy` and `price` repeat their work.
    pub slowdown: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { mutex_fraction: 0, block_rate_ns: 0, memory_rate_bytes: 512 << 10, slowdown: 1 }
    }
}

/// A running target. Dropping it ends it; it also ends when this process does, because its standard input ends.
#[derive(Debug)]
pub struct Target {
    child: Child,
    address: SocketAddr,
    settings: Settings,
    folder: TempDir,
}

impl Target {
    /// Builds and starts it. Endpoints: see `peers/go/main.go`.
    ///
    /// # Errors
    /// When there is no Go, or it does not build or start.
    pub fn start(settings: Settings) -> Result<Self, PeerError> {
        let toolchain = Toolchain::find()?;
        let folder = TempDir::with_prefix("peers-go-").tried(|| "make a temporary folder".to_owned())?;
        let binary = folder.path().join("gotarget");
        toolchain.build(&binary)?;
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let (child, address) = spawn(&binary, settings, any)?;
        Ok(Target { child, address, settings, folder })
    }

    /// Ends it, and starts it again at the same address: another process, whose counters begin at 0.
    ///
    /// # Errors
    /// When it does not start.
    pub fn restart(&mut self) -> Result<(), PeerError> {
        self.end();
        (self.child, self.address) = spawn(&self.binary(), self.settings, self.address)?;
        Ok(())
    }

    /// Ends it; it can be started again.
    pub fn end(&mut self) {
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its program.
    pub fn binary(&self) -> PathBuf {
        self.folder.path().join("gotarget")
    }

    /// The body of its response at `path`.
    ///
    /// # Errors
    /// When it cannot be reached, or answers with anything but success.
    pub fn get(&self, path: &str) -> Result<Vec<u8>, PeerError> {
        get(self.address, path)
    }
}

/// The body of a server's response at `path`.
///
/// # Errors
/// When it cannot be reached, or answers with anything but success; with the head of its response.
pub fn get(address: SocketAddr, path: &str) -> Result<Vec<u8>, PeerError> {
    let tried = || format!("request {path} of {address}");
    let mut stream = TcpStream::connect(address).tried(tried)?;
    stream.set_read_timeout(Some(ANSWER_WITHIN)).tried(tried)?;
    // In HTTP/1.0 a body ends with its connection.
    write!(stream, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").tried(tried)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).tried(tried)?;
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    let head = String::from_utf8_lossy(&answer[..end.unwrap_or(answer.len())]).into_owned();
    match end {
        Some(end) if head.split(' ').nth(1).is_some_and(|status| status.starts_with('2')) => {
            Ok(answer.split_off(end + 4))
        }
        _ => Err(PeerError::Server { what: format!("{address} failed at {path}"), log: head }),
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.end();
    }
}

/// Starts the program and waits until it prints its address.
fn spawn(binary: &Path, settings: Settings, listen: SocketAddr) -> Result<(Child, SocketAddr), PeerError> {
    let mut command = Command::new(binary);
    command.args(["-listen", &listen.to_string()]);
    command.args(["-mutex-fraction", &settings.mutex_fraction.to_string()]);
    command.args(["-block-rate", &settings.block_rate_ns.to_string()]);
    command.args(["-memory-rate", &settings.memory_rate_bytes.to_string()]);
    command.args(["-slowdown", &settings.slowdown.to_string()]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    // Ctrl-C must reach only our own process.
    command.process_group(0);
    let mut child = command.spawn().tried(|| "start the target in Go".to_owned())?;
    let mut line = String::new();
    if let Some(output) = child.stdout.take() {
        let _ended = BufReader::new(output).read_line(&mut line);
    }
    match line.trim().strip_prefix("listening on ").and_then(|address| address.parse().ok()) {
        Some(address) => Ok((child, address)),
        None => {
            let _gone = child.kill();
            let _reaped = child.wait();
            let what = "the target in Go did not print its address".to_owned();
            Err(PeerError::Server { what, log: line })
        }
    }
}
