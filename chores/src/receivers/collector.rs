//! The OpenTelemetry collector, built from its own modules (`chores/collector`), and what its debug exporter prints.

use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::counts::Counts;
use super::free_port;
use crate::steps::printed;
use xtask::child::Running;

const METRIC: &str = "plimsoll_response_time_seconds";
const NAME: &str = "the collector";
const READY_WITHIN: Duration = Duration::from_secs(60);

/// A running collector.
pub(super) struct Collector {
    port: u16,
    printed: PathBuf,
    _running: Running,
}

impl Collector {
    /// Builds it from `source` and starts it in `folder`.
    pub(super) fn start(source: &Path, folder: &Path) -> Result<Self> {
        let program = folder.join("collector");
        let mut build = Command::new("go");
        build.current_dir(source).env("GOFLAGS", "-buildvcs=false -mod=readonly");
        printed(build.args(["build", "-o"]).arg(&program).arg("."))?;
        let port = free_port()?;
        let settings = folder.join("collector.yaml");
        std::fs::write(&settings, self::settings(port)).context("cannot write its settings")?;
        let [out, log] = ["collector.out", "collector.log"].map(|name| folder.join(name));
        let file = |path: &Path| {
            std::fs::File::create(path).with_context(|| format!("cannot write {}", path.display()))
        };
        let mut command = Command::new(&program);
        command.arg("--config").arg(&settings).stdin(Stdio::null()).stdout(file(&out)?).stderr(file(&log)?);
        let running = Running::start(NAME, command)?;
        let is_open = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
        ensure!(peers::poll::until(READY_WITHIN, is_open), "{NAME} is not ready; see {}", log.display());
        Ok(Self { port, printed: out, _running: running })
    }

    /// The option's value that sends series to it.
    pub(super) fn out(&self) -> String {
        format!("otlp=http://127.0.0.1:{}", self.port)
    }

    /// The responses of the last state that it received. It has printed that state before it answers.
    pub(super) fn counts(&self) -> Result<Counts> {
        let text = std::fs::read_to_string(&self.printed).context("it printed nothing")?;
        let lines = |start: &str| text.lines().filter(|line| line.starts_with(start)).count();
        let [points, values] = ["NumberDataPoints #", "Value: "].map(lines);
        ensure!(points == values, "of {points} numbers that {NAME} received {values} have a value");
        Ok(last_state(&text))
    }
}

/// Without a batch processor each request is handed to the exporter before it is answered.
fn settings(port: u16) -> String {
    format!(
        "receivers:\n  otlp:\n    protocols:\n      http:\n        endpoint: 127.0.0.1:{port}\n\
         exporters:\n  debug:\n    verbosity: detailed\n    use_internal_logger: false\n\
         service:\n  telemetry:\n    metrics:\n      level: none\n  pipelines:\n    metrics:\n      receivers: [otlp]\n      \
         exporters: [debug]\n"
    )
}

/// The counts of the response times in the last request that was printed.
fn last_state(text: &str) -> Counts {
    let last = text.rsplit("ResourceMetrics #0").next().unwrap_or_default();
    let mut counts = Counts::default();
    let (mut metric, mut endpoint, mut outcome) = ("", "", "");
    for line in last.lines() {
        let text = |name: &str| line.trim().strip_prefix(&format!("-> {name}: Str("))?.strip_suffix(')');
        if let Some(name) = line.trim().strip_prefix("-> Name: ") {
            metric = name;
        } else if line.starts_with("HistogramDataPoints #") {
            (endpoint, outcome) = ("", "");
        } else if let Some(value) = text("endpoint") {
            endpoint = value;
        } else if let Some(value) = text("outcome") {
            outcome = value;
        } else if let Some(count) = line.strip_prefix("Count: ").filter(|_| metric == METRIC) {
            counts.add(endpoint, outcome, count.parse().unwrap_or(0));
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_state_counts() {
        let state = |count: u32| {
            format!(
                "ResourceMetrics #0\nMetric #0\nDescriptor:\n     -> Name: plimsoll_response_time_seconds\n\
                 HistogramDataPoints #0\nData point attributes:\n     -> endpoint: Str(get)\n     -> outcome: Str(ok)\n\
                 Count: {count}\nSum: 0.5\nMetric #1\n     -> Name: plimsoll_iteration_time_seconds\nCount: 99\n"
            )
        };
        assert_eq!(last_state(&(state(3) + &state(7))).to_string(), "get ok 7");
    }
}
