//! The tools: the arguments for each to offer a load, and where each reports how many requests succeeded.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::measured::{self, Measured};
use super::target::Protocol;
use crate::bench::{CpuPlacement, find_program, print_command};
use xtask::workspace::Workspace;

/// A load generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tool {
    Plimsoll,
    /// Another build of Plimsoll.
    Baseline,
    Floor,
    Wrk,
    H2load,
    Oha,
    Hey,
    Vegeta,
    K6,
    Ghz,
}

/// Beyond this many virtual users k6 takes gigabytes.
const MAX_K6_USERS: u32 = 1_000;
/// The message of every call.
const MESSAGE: &str = "{\"text\":\"hello!\"}";

/// A load for a tool to offer.
pub(super) struct ToolLoad {
    pub(super) protocol: Protocol,
    pub(super) connections: u32,
    /// Requests in flight at once on each connection.
    pub(super) in_flight: u32,
    /// How long users think before each request. Above 0 only memory is compared, for three and a half such times.
    pub(super) think_s: u64,
}

impl ToolLoad {
    /// How many requests are in flight at once in all.
    pub(super) fn users(&self) -> u32 {
        self.connections * self.in_flight
    }
}

pub(super) struct ToolRun<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) load: &'a ToolLoad,
    pub(super) authority: &'a str,
    pub(super) seconds: u64,
    pub(super) folder: &'a Path,
    /// The program of [`Tool::Baseline`].
    pub(super) baseline: Option<&'a Path>,
    /// Whether its command is printed.
    pub(super) is_first: bool,
}

impl Tool {
    /// What is compared with a baseline.
    pub(super) const BUILDS: [Tool; 3] = [Tool::Plimsoll, Tool::Baseline, Tool::Floor];

    /// What is compared without one.
    pub(super) const ALL: [Tool; 9] = [
        Tool::Plimsoll,
        Tool::Floor,
        Tool::Wrk,
        Tool::H2load,
        Tool::Oha,
        Tool::Hey,
        Tool::Vegeta,
        Tool::K6,
        Tool::Ghz,
    ];

    /// Its name and that of its program.
    pub(super) fn name(self) -> &'static str {
        match self {
            Tool::Plimsoll => "plimsoll",
            Tool::Baseline => "baseline",
            Tool::Floor => "floor",
            Tool::Wrk => "wrk",
            Tool::H2load => "h2load",
            Tool::Oha => "oha",
            Tool::Hey => "hey",
            Tool::Vegeta => "vegeta",
            Tool::K6 => "k6",
            Tool::Ghz => "ghz",
        }
    }

    fn is_ours(self) -> bool {
        matches!(self, Tool::Plimsoll | Tool::Baseline | Tool::Floor)
    }

    /// Whether it is installed; programs of the workspace are.
    pub(super) fn is_installed(self) -> bool {
        self.is_ours() || find_program(self.name()).is_some()
    }

    /// The version that it prints; none for programs of the workspace, whose version is the commit.
    pub(super) fn version(self) -> Option<String> {
        if self.is_ours() {
            return None;
        }
        let flag = match self {
            Tool::K6 => "version",
            // It prints none, and sends a request when it is started with such a flag.
            Tool::Hey => return Some("hey (prints no version)".to_owned()),
            Tool::Wrk => "-v",
            _ => "--version",
        };
        let output = Command::new(self.name()).arg(flag).output().ok()?;
        let text =
            String::from_utf8_lossy(if output.stdout.is_empty() { &output.stderr } else { &output.stdout });
        let line = text.lines().next().unwrap_or_default().trim();
        Some(if line.contains(self.name()) { line.to_owned() } else { format!("{} {line}", self.name()) })
    }

    /// Whether it can offer the load.
    pub(super) fn can_offer(self, load: &ToolLoad) -> bool {
        match (self, load.protocol) {
            (Tool::Plimsoll | Tool::Baseline, _) => true,
            // Only a script can contain think time, and it takes hardly any processor time meanwhile.
            (tool, _) if load.think_s > 0 => tool == Tool::K6,
            (Tool::Floor | Tool::Wrk | Tool::Hey, protocol) => protocol == Protocol::Http1,
            (Tool::Vegeta, protocol) => protocol == Protocol::Http1,
            (Tool::H2load | Tool::Oha, protocol) => protocol != Protocol::Grpc,
            (Tool::K6, protocol) => protocol != Protocol::Http2 && load.users() <= MAX_K6_USERS,
            (Tool::Ghz, protocol) => protocol == Protocol::Grpc,
        }
    }

    /// Offers the load once. Its first command is printed, so that it can be repeated by hand.
    ///
    /// # Errors
    /// When it fails, or does not report how many requests succeeded.
    pub(super) fn run(self, run: &ToolRun<'_>) -> Result<Measured> {
        let mut command = CpuPlacement::GENERATOR.command(&self.program(run)?);
        self.add_arguments(&mut command, run)?;
        if run.is_first {
            print_command(&command);
        }
        let process = measured::run(self.name(), command, run.folder, run.seconds)?;
        let requests = self.requests(&process.output, run.folder)?;
        ensure!(requests > 0, "no request of {} succeeded: {}", self.name(), process.output);
        Ok(Measured { requests, cpu_s: process.cpu_s, resident_mb: process.resident_mb })
    }

    fn program(self, run: &ToolRun<'_>) -> Result<PathBuf> {
        match self {
            Tool::Baseline => run.baseline.map(Path::to_owned).context("--baseline names no program"),
            _ if self.is_ours() => Ok(run.workspace.binary(self.name())),
            _ => find_program(self.name()).with_context(|| format!("{} is not installed", self.name())),
        }
    }

    fn add_arguments(self, command: &mut Command, run: &ToolRun<'_>) -> Result<()> {
        let &ToolLoad { protocol, connections, in_flight, think_s } = run.load;
        let (users, authority) = (run.load.users().to_string(), run.authority);
        let (connections, in_flight) = (connections.to_string(), in_flight.to_string());
        let seconds = format!("{}s", run.seconds);
        let url = format!("http://{authority}/");
        match self {
            Tool::Plimsoll | Tool::Baseline => {
                write(run.folder, "plimsoll.toml", &plan(run))?;
                command.args(["run", "plimsoll.toml", "--quiet", "--force", "-o", "x.plimsoll"]);
                command.args(["--json", "plimsoll.json"]);
            }
            Tool::Floor => {
                command.args([authority, "--connections", &connections]);
                command.args(["--seconds", &run.seconds.to_string()]);
            }
            Tool::Wrk => {
                command.args(["-t", "1", "-c", &connections, "-d", &seconds, &url]);
            }
            Tool::H2load => {
                command.args(["-t", "1", "-c", &connections, "-m", &in_flight]);
                command.args(["-D", &run.seconds.to_string()]);
                command.args((protocol == Protocol::Http1).then_some("--h1")).arg(&url);
            }
            Tool::Oha => {
                command.args(["--no-tui", "--output-format", "json", "-z", &seconds, "-c", &connections]);
                if protocol == Protocol::Http2 {
                    command.args(["--http-version", "2", "-p", &in_flight]);
                }
                command.arg(&url);
            }
            Tool::Hey => {
                command.args(["-cpus", "1", "-z", &seconds, "-c", &connections, &url]);
            }
            Tool::Vegeta => {
                write(run.folder, "vegeta.txt", &format!("GET {url}\n"))?;
                command.args([
                    "attack",
                    "-targets",
                    "vegeta.txt",
                    "-rate",
                    "0",
                    "-max-workers",
                    &connections,
                ]);
                command.args(["-duration", &seconds, "-output", "vegeta.bin"]);
            }
            Tool::K6 => {
                let script =
                    if protocol == Protocol::Grpc { k6_grpc(authority) } else { k6_http(&url, think_s) };
                write(run.folder, "k6.js", &script)?;
                command.args(["run", "--quiet", "--no-usage-report", "--summary-export", "k6.json"]);
                command.args(["--vus", &users, "--duration", &seconds, "k6.js"]);
            }
            Tool::Ghz => {
                command.args(["--insecure", "--proto", "echo.proto", "--call", "bench.Echo/Say"]);
                command.args(["-d", MESSAGE, "-c", &users, "--connections", &connections]);
                command.args(["-z", &seconds, "-O", "json", authority]);
            }
        }
        Ok(())
    }

    /// How many requests succeeded.
    fn requests(self, output: &str, folder: &Path) -> Result<u64> {
        let file = |name: &str| -> Result<Value> {
            let text =
                fs::read(folder.join(name)).with_context(|| format!("{} left no {name}", self.name()))?;
            serde_json::from_slice(&text).with_context(|| format!("{name} is not JSON"))
        };
        let number = match self {
            Tool::Plimsoll | Tool::Baseline => ok_in_report(&file("plimsoll.json")?),
            Tool::K6 => file("k6.json")?["metrics"]["iterations"]["count"].as_u64(),
            Tool::Vegeta => {
                let report = ["report", "-type", "json", "vegeta.bin"];
                let report = Command::new("vegeta").args(report).current_dir(folder).output();
                succeeded(&report.context("cannot start vegeta")?.stdout, "status_codes", "200")
            }
            Tool::Oha => succeeded(output.as_bytes(), "statusCodeDistribution", "200"),
            Tool::Ghz => succeeded(output.as_bytes(), "statusCodeDistribution", "OK"),
            Tool::Floor | Tool::Wrk => {
                ensure!(!output.contains("Non-2xx"), "the target gave errors: {output}");
                number_before(output, " requests")
            }
            Tool::H2load => number_before(output, " succeeded"),
            Tool::Hey => {
                let line = output.lines().find_map(|line| line.trim().strip_prefix("[200]"));
                line.and_then(|line| number_before(line, " responses"))
            }
        };
        number.with_context(|| format!("{} does not report how many requests it made: {output}", self.name()))
    }
}

fn write(folder: &Path, name: &str, text: &str) -> Result<()> {
    fs::write(folder.join(name), text).with_context(|| format!("cannot write {name}"))
}

/// The number right before these words.
fn number_before(text: &str, words: &str) -> Option<u64> {
    let rest = text.split_once(words)?.0;
    rest[rest.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1)..].parse().ok()
}

fn succeeded(report: &[u8], table: &str, code: &str) -> Option<u64> {
    serde_json::from_slice::<Value>(report).ok()?[table][code].as_u64()
}

/// Requests in Plimsoll's report that ended `ok`.
fn ok_in_report(report: &Value) -> Option<u64> {
    report["endpoints"].as_array()?.first()?["response_time"]["count"].as_u64()
}

fn plan(run: &ToolRun<'_>) -> String {
    let ToolRun { load, authority, seconds, .. } = run;
    let (target, step) = match load.protocol {
        Protocol::Http1 => (format!("url = \"http://{authority}\""), "get = \"${server.url}/\""),
        Protocol::Http2 => (
            format!("url = \"http://{authority}\"\nhttp = \"2\"\nconnections = {}", load.connections),
            "get = \"${server.url}/\"",
        ),
        Protocol::Grpc => (
            format!("grpc = \"{authority}\"\nproto = [\"echo.proto\"]\nconnections = {}", load.connections),
            "grpc = \"server/bench.Echo/Say\"\nmessage = { text = \"hello!\" }",
        ),
    };
    format!(
        "version = 1\nprecheck = false\n[targets.server]\n{target}\n[[scenarios]]\nname = \"ask\"\nexecutor = \"constant-vus\"\n\
         vus = {}\nduration = \"{seconds}s\"\n[[scenarios.steps]]\nname = \"ask\"\nthink = \"{}s\"\n{step}\n",
        load.users(),
        load.think_s
    )
}

fn k6_http(url: &str, think_s: u64) -> String {
    let think = if think_s == 0 { String::new() } else { format!("sleep({think_s}); ") };
    format!(
        "import http from 'k6/http';\nimport {{ sleep }} from 'k6';\n\
         export default () => {{ {think}http.get('{url}'); }};\n"
    )
}

fn k6_grpc(authority: &str) -> String {
    format!(
        "import grpc from 'k6/net/grpc';\nconst client = new grpc.Client();\nclient.load(['.'], 'echo.proto');\n\
         let connected = false;\nexport default () => {{\n  if (!connected) {{\n    \
         client.connect('{authority}', {{ plaintext: true }});\n    connected = true;\n  }}\n  \
         client.invoke('bench.Echo/Say', {MESSAGE});\n}};\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_of_successes_is_read_from_each_report() {
        let nowhere = Path::new("/nonexistent");
        let read = |tool: Tool, output: &str| tool.requests(output, nowhere).ok();
        assert_eq!(read(Tool::Floor, "77 requests\n"), Some(77));
        assert_eq!(read(Tool::Wrk, "  200068 requests in 5.04s, 32.63MB read\n"), Some(200_068));
        assert_eq!(read(Tool::Wrk, "  9 requests in 1s\n  Non-2xx or 3xx responses: 9\n"), None);
        let h2load = "requests: 9 total, 9 started, 9 done, 8 succeeded, 1 failed, 0 errored, 0 timeout";
        assert_eq!(read(Tool::H2load, h2load), Some(8));
        assert_eq!(read(Tool::Hey, "Status code distribution:\n  [200]\t123 responses\n"), Some(123));
        assert_eq!(read(Tool::Oha, "{\"statusCodeDistribution\":{\"200\":12}}"), Some(12));
        assert_eq!(read(Tool::Ghz, "{\"statusCodeDistribution\":{\"OK\":7,\"Canceled\":1}}"), Some(7));
        assert_eq!(read(Tool::K6, "nothing"), None);
    }
}
