//! Debian's Prometheus, which receives series by remote write, and `promtool`, which asks it and imports an export.

use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::counts::Counts;
use super::dashboard::Query;
use super::free_port;
use crate::steps::printed;
use xtask::child::Running;

const SERVER: &str = "prometheus";
const TOOL: &str = "promtool";
const READY_WITHIN: Duration = Duration::from_secs(60);

/// Fails with the name of the package where the programs are missing.
pub(super) fn require() -> Result<()> {
    for program in [SERVER, TOOL] {
        let known =
            Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        ensure!(known.is_ok(), "`{program}` is missing: install Debian's package prometheus");
    }
    Ok(())
}

/// A running server.
pub(super) struct Prometheus {
    url: String,
    _running: Running,
}

impl Prometheus {
    /// Starts it with an empty store in `folder`.
    pub(super) fn start(folder: &Path) -> Result<Self> {
        let port = free_port()?;
        std::fs::write(folder.join("prometheus.yml"), "global: {}\n").context("cannot write its settings")?;
        let log = std::fs::File::create(folder.join("prometheus.log")).context("cannot write its log")?;
        let mut command = Command::new(SERVER);
        command.current_dir(folder).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        command.args(["--config.file=prometheus.yml", "--storage.tsdb.path=store"]);
        command
            .arg("--web.enable-remote-write-receiver")
            .arg(format!("--web.listen-address=127.0.0.1:{port}"));
        let running = Running::start(SERVER, command)?;
        let is_open = || TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok();
        ensure!(peers::poll::until(READY_WITHIN, is_open), "Prometheus is not ready; see its log");
        Ok(Self { url: format!("http://127.0.0.1:{port}"), _running: running })
    }

    /// The option's value that sends series to it.
    pub(super) fn out(&self) -> String {
        format!("prometheus-remote-write={}/api/v1/write", self.url)
    }

    /// The responses that it has now.
    pub(super) fn counts(&self) -> Result<Counts> {
        let asked = self.ask("sum by (endpoint, outcome) (plimsoll_response_time_seconds_count)")?;
        let mut counts = Counts::default();
        for sample in asked.as_array().into_iter().flatten() {
            let label = |name: &str| sample["metric"][name].as_str().unwrap_or_default();
            let value: f64 = sample["value"][1].as_str().unwrap_or_default().parse().context("a number")?;
            counts.add(label("endpoint"), label("outcome"), value as u64);
        }
        Ok(counts)
    }

    /// The 95th percentile of all response times, as its users compute it.
    pub(super) fn p95(&self) -> Result<f64> {
        let query = "histogram_quantile(0.95, sum by (le) (plimsoll_response_time_seconds_bucket))";
        let text = self.ask(query)?[0]["value"][1].as_str().unwrap_or_default().to_owned();
        let value: f64 = text.parse().with_context(|| format!("no quantile: {text:?}"))?;
        ensure!(value.is_finite() && value > 0.0, "the quantile is {value}");
        Ok(value)
    }

    /// Fails where a query had no finite value in any second of the last two minutes.
    pub(super) fn require_data(&self, query: &Query) -> Result<()> {
        let Query { of, text } = query;
        let asked = self.ask(&format!("max_over_time(({text})[2m:1s])")).with_context(|| of.clone())?;
        let value = |sample: &Value| sample["value"][1].as_str()?.parse::<f64>().ok();
        let has_data = asked.as_array().into_iter().flatten().filter_map(value).any(f64::is_finite);
        ensure!(has_data, "the dashboard's panel has no data: {of}: {text}: {asked}");
        Ok(())
    }

    fn ask(&self, query: &str) -> Result<Value> {
        let mut command = Command::new(TOOL);
        command.args(["query", "instant", "-o", "json", &self.url, query]);
        serde_json::from_str(&printed(&mut command)?).context("it printed no JSON")
    }
}

/// The responses in a store that `promtool` makes of an export in `folder`.
pub(super) fn imported(folder: &Path, export: &str) -> Result<Counts> {
    let mut import = Command::new(TOOL);
    import.current_dir(folder).args(["tsdb", "create-blocks-from", "openmetrics", export, "imported"]);
    printed(&mut import)?;
    // It dumps no store without these folders of a server.
    for name in ["wal", "chunks_head"] {
        std::fs::create_dir_all(folder.join("imported").join(name)).context("cannot complete the store")?;
    }
    let mut dump = Command::new(TOOL);
    dump.current_dir(folder).args(["tsdb", "dump", "imported"]);
    last_samples(&printed(&mut dump)?)
}

/// Adds up the last sample of each series of response times: lines such as `{__name__="x", endpoint="y"} 12 1795535588000`,
/// in the order of time.
fn last_samples(dump: &str) -> Result<Counts> {
    let mut last = std::collections::BTreeMap::new();
    let samples = dump.lines().filter(|line| line.contains("\"plimsoll_response_time_seconds_count\""));
    for line in samples {
        let (labels, rest) = line.rsplit_once("} ").with_context(|| format!("a sample: {line}"))?;
        let value: f64 =
            rest.split(' ').next().unwrap_or_default().parse().with_context(|| line.to_owned())?;
        last.insert(labels.to_owned(), value as u64);
    }
    let mut counts = Counts::default();
    for (labels, count) in last {
        let label = |name: &str| {
            labels.split_once(&format!("{name}=\"")).and_then(|(_, rest)| Some(rest.split_once('"')?.0))
        };
        let (endpoint, outcome) = (label("endpoint").unwrap_or(""), label("outcome").unwrap_or(""));
        counts.add(endpoint, outcome, count);
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_sample_of_each_series_counts() {
        let line = |phase: &str, count: u32| {
            format!(
                "{{__name__=\"plimsoll_response_time_seconds_count\", endpoint=\"get\", outcome=\"ok\", phase=\"{phase}\"}} \
                 {count} 1795535588000\n"
            )
        };
        let dump = line("a", 1) + &line("a", 3) + &line("b", 4) + "{__name__=\"other\"} 9 1795535588000\n";
        assert_eq!(last_samples(&dump).expect("it is a dump").to_string(), "get ok 7");
    }
}
