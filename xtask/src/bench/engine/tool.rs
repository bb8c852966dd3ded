//! The generators: how each is told to offer a contest's load, and where it says how many requests went well.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::contest::{Contest, Lane};
use super::measured::{self, Measured};
use crate::bench::{Place, found, say};
use crate::workspace::Workspace;

/// A generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Contender {
    Plimsoll,
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
const K6_MOST: u32 = 1_000;
/// A message for every call.
const MESSAGE: &str = "{\"text\":\"hello!\"}";

impl Contender {
    pub(super) const ALL: [Contender; 9] = [
        Contender::Plimsoll,
        Contender::Floor,
        Contender::Wrk,
        Contender::H2load,
        Contender::Oha,
        Contender::Hey,
        Contender::Vegeta,
        Contender::K6,
        Contender::Ghz,
    ];

    /// Its name, which is that of its program too.
    pub(super) fn name(self) -> &'static str {
        match self {
            Contender::Plimsoll => "plimsoll",
            Contender::Floor => "floor",
            Contender::Wrk => "wrk",
            Contender::H2load => "h2load",
            Contender::Oha => "oha",
            Contender::Hey => "hey",
            Contender::Vegeta => "vegeta",
            Contender::K6 => "k6",
            Contender::Ghz => "ghz",
        }
    }

    fn is_ours(self) -> bool {
        matches!(self, Contender::Plimsoll | Contender::Floor)
    }

    /// Whether it is installed; what the workspace builds is.
    pub(super) fn is_there(self) -> bool {
        self.is_ours() || found(self.name()).is_some()
    }

    /// What it says of itself; nothing of ours, which the commit tells.
    pub(super) fn version(self) -> Option<String> {
        if self.is_ours() {
            return None;
        }
        let flag = match self {
            Contender::K6 => "version",
            // It knows none, and asks something when it is told to say one.
            Contender::Hey => return Some("hey (says no version)".to_owned()),
            Contender::Wrk => "-v",
            _ => "--version",
        };
        let output = Command::new(self.name()).arg(flag).output().ok()?;
        let said =
            String::from_utf8_lossy(if output.stdout.is_empty() { &output.stderr } else { &output.stdout });
        let line = said.lines().next().unwrap_or_default().trim();
        Some(if line.contains(self.name()) { line.to_owned() } else { format!("{} {line}", self.name()) })
    }

    /// Whether it can offer the contest's load.
    pub(super) fn takes_part(self, contest: &Contest) -> bool {
        match (self, contest.lane) {
            (Contender::Plimsoll, _) => true,
            // Only a script can think, and it hardly takes the processor while it does.
            (one, _) if contest.think_s > 0 => one == Contender::K6,
            (Contender::Floor | Contender::Wrk | Contender::Hey, lane) => lane == Lane::Http1,
            (Contender::Vegeta, lane) => lane == Lane::Http1,
            (Contender::H2load | Contender::Oha, lane) => lane != Lane::Grpc,
            (Contender::K6, lane) => lane != Lane::Http2 && contest.users() <= K6_MOST,
            (Contender::Ghz, lane) => lane == Lane::Grpc,
        }
    }

    /// Offers the load once. Its first command is printed, so that it can be repeated by hand.
    ///
    /// # Errors
    /// When it does not end well, or does not say what it did.
    pub(super) fn run(self, offer: &Offer<'_>) -> Result<Measured> {
        let mut command = Place::GENERATOR.command(&match self.is_ours() {
            true => offer.workspace.binary(self.name()),
            false => found(self.name()).with_context(|| format!("{} is not installed", self.name()))?,
        });
        self.tell(&mut command, offer)?;
        if offer.is_first {
            say(&command);
        }
        let (said, cpu_s, resident_mb) =
            measured::run((self.name(), command), (offer.folder, offer.seconds))?;
        let requests = self.requests(&said, offer.folder)?;
        ensure!(requests > 0, "{} had no request answered well: {said}", self.name());
        Ok(Measured { requests, cpu_s, resident_mb })
    }

    /// Adds the arguments.
    fn tell(self, command: &mut Command, offer: &Offer<'_>) -> Result<()> {
        let &Contest { lane, connections, in_flight, think_s, .. } = offer.contest;
        let (users, authority) = (offer.contest.users().to_string(), offer.authority);
        let (connections, in_flight) = (connections.to_string(), in_flight.to_string());
        let seconds = format!("{}s", offer.seconds);
        let url = format!("http://{authority}/");
        match self {
            Contender::Plimsoll => {
                write(offer.folder, ("plimsoll.toml", &plan(offer)))?;
                command.args(["run", "plimsoll.toml", "--quiet", "--force", "-o", "x.plimsoll"]);
                command.args(["--json", "plimsoll.json"]);
            }
            Contender::Floor => {
                command.args([authority, "--connections", &connections]);
                command.args(["--seconds", &offer.seconds.to_string()]);
            }
            Contender::Wrk => {
                command.args(["-t", "1", "-c", &connections, "-d", &seconds, &url]);
            }
            Contender::H2load => {
                command.args(["-t", "1", "-c", &connections, "-m", &in_flight]);
                command.args(["-D", &offer.seconds.to_string()]);
                command.args((lane == Lane::Http1).then_some("--h1")).arg(&url);
            }
            Contender::Oha => {
                command.args(["--no-tui", "--output-format", "json", "-z", &seconds, "-c", &connections]);
                if lane == Lane::Http2 {
                    command.args(["--http-version", "2", "-p", &in_flight]);
                }
                command.arg(&url);
            }
            Contender::Hey => {
                command.args(["-cpus", "1", "-z", &seconds, "-c", &connections, &url]);
            }
            Contender::Vegeta => {
                write(offer.folder, ("vegeta.txt", &format!("GET {url}\n")))?;
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
            Contender::K6 => {
                let script = if lane == Lane::Grpc { k6_grpc(authority) } else { k6_http(&url, think_s) };
                write(offer.folder, ("k6.js", &script))?;
                command.args(["run", "--quiet", "--no-usage-report", "--summary-export", "k6.json"]);
                command.args(["--vus", &users, "--duration", &seconds, "k6.js"]);
            }
            Contender::Ghz => {
                command.args(["--insecure", "--proto", "echo.proto", "--call", "bench.Echo/Say"]);
                command.args(["-d", MESSAGE, "-c", &users, "--connections", &connections]);
                command.args(["-z", &seconds, "-O", "json", authority]);
            }
        }
        Ok(())
    }

    /// How many requests went well.
    fn requests(self, said: &str, folder: &Path) -> Result<u64> {
        let file = |name: &str| -> Result<Value> {
            let text =
                fs::read(folder.join(name)).with_context(|| format!("{} left no {name}", self.name()))?;
            serde_json::from_slice(&text).with_context(|| format!("{name} is no JSON"))
        };
        let number = match self {
            Contender::Plimsoll => succeeded(&file("plimsoll.json")?),
            Contender::K6 => file("k6.json")?["metrics"]["iterations"]["count"].as_u64(),
            Contender::Vegeta => {
                let report = ["report", "-type", "json", "vegeta.bin"];
                let report = Command::new("vegeta").args(report).current_dir(folder).output();
                answered(&report.context("cannot start vegeta")?.stdout, "status_codes", "200")
            }
            Contender::Oha => answered(said.as_bytes(), "statusCodeDistribution", "200"),
            Contender::Ghz => answered(said.as_bytes(), "statusCodeDistribution", "OK"),
            Contender::Floor | Contender::Wrk => {
                ensure!(!said.contains("Non-2xx"), "the target did not answer well: {said}");
                before(said, " requests")
            }
            Contender::H2load => before(said, " succeeded"),
            Contender::Hey => {
                let line = said.lines().find_map(|line| line.trim().strip_prefix("[200]"));
                line.and_then(|line| before(line, " responses"))
            }
        };
        number.with_context(|| format!("{} does not say how many requests it made: {said}", self.name()))
    }
}

/// What a generator is to do.
pub(super) struct Offer<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) contest: &'a Contest,
    pub(super) authority: &'a str,
    pub(super) seconds: u64,
    pub(super) folder: &'a Path,
    pub(super) is_first: bool,
}

fn write(folder: &Path, (name, text): (&str, &str)) -> Result<()> {
    fs::write(folder.join(name), text).with_context(|| format!("cannot write {name}"))
}

/// The number right before these words.
fn before(text: &str, words: &str) -> Option<u64> {
    let rest = text.split_once(words)?.0;
    rest[rest.rfind(|c: char| !c.is_ascii_digit()).map_or(0, |place| place + 1)..].parse().ok()
}

fn answered(report: &[u8], table: &str, code: &str) -> Option<u64> {
    serde_json::from_slice::<Value>(report).ok()?[table][code].as_u64()
}

/// Requests in Plimsoll's report that ended `ok`.
fn succeeded(report: &Value) -> Option<u64> {
    report["endpoints"].as_array()?.first()?["response_time"]["count"].as_u64()
}

fn plan(offer: &Offer<'_>) -> String {
    let Offer { contest, authority, seconds, .. } = offer;
    let (target, step) = match contest.lane {
        Lane::Http1 => (format!("url = \"http://{authority}\""), "get = \"${server.url}/\""),
        Lane::Http2 => (
            format!("url = \"http://{authority}\"\nhttp = \"2\"\nconnections = {}", contest.connections),
            "get = \"${server.url}/\"",
        ),
        Lane::Grpc => (
            format!(
                "grpc = \"{authority}\"\nproto = [\"echo.proto\"]\nconnections = {}",
                contest.connections
            ),
            "grpc = \"server/bench.Echo/Say\"\nmessage = { text = \"hello!\" }",
        ),
    };
    format!(
        "version = 1\n[targets.server]\n{target}\n[[scenarios]]\nname = \"ask\"\nexecutor = \"constant-vus\"\n\
         vus = {}\nduration = \"{seconds}s\"\n[[scenarios.steps]]\nname = \"ask\"\nthink = \"{}s\"\n{step}\n",
        contest.users(),
        contest.think_s
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
    fn counts_are_read_where_each_generator_says_them() {
        let nowhere = Path::new("/nonexistent");
        let read = |one: Contender, said: &str| one.requests(said, nowhere).ok();
        assert_eq!(read(Contender::Floor, "77 requests\n"), Some(77));
        assert_eq!(read(Contender::Wrk, "  200068 requests in 5.04s, 32.63MB read\n"), Some(200_068));
        assert_eq!(read(Contender::Wrk, "  9 requests in 1s\n  Non-2xx or 3xx responses: 9\n"), None);
        let h2load = "requests: 9 total, 9 started, 9 done, 8 succeeded, 1 failed, 0 errored, 0 timeout";
        assert_eq!(read(Contender::H2load, h2load), Some(8));
        assert_eq!(read(Contender::Hey, "Status code distribution:\n  [200]\t123 responses\n"), Some(123));
        assert_eq!(read(Contender::Oha, "{\"statusCodeDistribution\":{\"200\":12}}"), Some(12));
        assert_eq!(read(Contender::Ghz, "{\"statusCodeDistribution\":{\"OK\":7,\"Canceled\":1}}"), Some(7));
        assert_eq!(read(Contender::K6, "nothing"), None);
    }
}
