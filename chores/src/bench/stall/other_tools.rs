//! Load generators of others: the arguments for 1,000 requests a second, and how each report is read.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::ReportedTimes;
use crate::bench::{find_program, print_command};

/// How many requests, and their 50th, 95th, 99th percentile and longest, in milliseconds.
type RequestFigures = (f64, [Option<f64>; 4]);

/// A load generator with one set of options.
pub(super) struct OtherTool {
    pub(super) name: &'static str,
    program: &'static str,
    /// Arguments for this address and so many seconds; files are written into the folder it is started in.
    arguments: fn(&str, u64) -> Vec<String>,
    /// A file that it needs there: its name and content.
    file: fn(&str, u64) -> Option<(&'static str, String)>,
    read: fn(&str, &Path) -> Option<RequestFigures>,
}

impl OtherTool {
    pub(super) const ALL: &[OtherTool] = &[
        OtherTool { name: "wrk, 10 connections", program: "wrk", arguments: wrk, file: lua, read: read_wrk },
        OtherTool { name: "oha", program: "oha", arguments: oha, file: none, read: read_oha },
        OtherTool {
            name: "oha, corrected",
            program: "oha",
            arguments: oha_corrected,
            file: none,
            read: read_oha,
        },
        OtherTool { name: "vegeta", program: "vegeta", arguments: vegeta, file: url, read: read_vegeta },
        OtherTool { name: "k6", program: "k6", arguments: k6, file: script, read: read_k6 },
    ];

    pub(super) fn is_there(&self) -> bool {
        find_program(self.program).is_some()
    }

    /// Offers the load, and reads the report.
    ///
    /// # Errors
    /// When it does not end well, or its report cannot be read.
    pub(super) fn measure(&self, address: &str, seconds: u64, folder: &Path) -> Result<ReportedTimes> {
        if let Some((name, text)) = (self.file)(address, seconds) {
            fs::write(folder.join(name), text).with_context(|| format!("cannot write {name}"))?;
        }
        let mut command = Command::new(self.program);
        command.args((self.arguments)(address, seconds)).current_dir(folder).stdin(Stdio::null());
        print_command(&command);
        let output = command.output().with_context(|| format!("cannot start {}", self.program))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        ensure!(output.status.success(), "{} ended with {}: {text}", self.program, output.status);
        let (count, times_ms) = (self.read)(&text, folder)
            .with_context(|| format!("cannot read the report of {}: {text}", self.program))?;
        Ok(ReportedTimes { name: self.name.to_owned(), count: Some(count), times_ms })
    }
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}

fn none(_addr: &str, _seconds: u64) -> Option<(&'static str, String)> {
    None
}

fn wrk(addr: &str, seconds: u64) -> Vec<String> {
    words(&format!("-t 1 -c 10 -d {seconds}s --timeout 10s -s quantiles.lua http://{addr}/"))
}

/// Its own report has no 95th percentile.
fn lua(_addr: &str, _seconds: u64) -> Option<(&'static str, String)> {
    let text = "done = function(summary, latency, requests)\n  io.write(string.format('QUANTILES %d %f %f %f %f\\n', \
                summary.requests,\n    latency:percentile(50), latency:percentile(95), latency:percentile(99), \
                latency.max))\nend\n";
    Some(("quantiles.lua", text.to_owned()))
}

fn read_wrk(output: &str, _folder: &Path) -> Option<RequestFigures> {
    let line = output.lines().find_map(|line| line.strip_prefix("QUANTILES "))?;
    let figures: Vec<f64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
    let [count, times_us @ ..] = &figures[..] else { return None };
    let times: [f64; 4] = times_us.try_into().ok()?;
    Some((*count, times.map(|us| Some(us / 1e3))))
}

fn oha(addr: &str, seconds: u64) -> Vec<String> {
    words(&format!("--no-tui --output-format json -q 1000 -c 50 -w -z {seconds}s http://{addr}/"))
}

fn oha_corrected(addr: &str, seconds: u64) -> Vec<String> {
    let mut words = oha(addr, seconds);
    words.insert(0, "--latency-correction".to_owned());
    words
}

fn read_oha(output: &str, _folder: &Path) -> Option<RequestFigures> {
    let report: Value = serde_json::from_str(output).ok()?;
    let quantile = |name: &str| report["latencyPercentiles"][name].as_f64().map(|s| s * 1e3);
    let slowest = report["summary"]["slowest"].as_f64().map(|s| s * 1e3);
    let count = report["statusCodeDistribution"]["200"].as_f64()?;
    Some((count, [quantile("p50"), quantile("p95"), quantile("p99"), slowest]))
}

fn vegeta(_addr: &str, seconds: u64) -> Vec<String> {
    words(&format!("attack -targets vegeta.txt -rate 1000 -duration {seconds}s -output vegeta.bin"))
}

fn url(addr: &str, _seconds: u64) -> Option<(&'static str, String)> {
    Some(("vegeta.txt", format!("GET http://{addr}/\n")))
}

fn read_vegeta(_output: &str, folder: &Path) -> Option<RequestFigures> {
    let report = ["report", "-type", "json", "vegeta.bin"];
    let output = Command::new("vegeta").args(report).current_dir(folder).output().ok()?;
    let report: Value = serde_json::from_slice(&output.stdout).ok()?;
    let time = |name: &str| report["latencies"][name].as_f64().map(|ns| ns / 1e6);
    Some((report["requests"].as_f64()?, [time("50th"), time("95th"), time("99th"), time("max")]))
}

fn k6(_addr: &str, _seconds: u64) -> Vec<String> {
    words(
        "run --quiet --no-usage-report --summary-trend-stats med,p(95),p(99),max,count \
         --summary-export k6.json k6.js",
    )
}

fn script(addr: &str, seconds: u64) -> Option<(&'static str, String)> {
    let text = format!(
        "import http from 'k6/http';\nexport const options = {{ scenarios: {{ ask: {{\n  executor: \
         'constant-arrival-rate', rate: 1000, timeUnit: '1s', duration: '{seconds}s',\n  preAllocatedVUs: 1500, \
         maxVUs: 3000 }} }} }};\nexport default () => http.get('http://{addr}/');\n"
    );
    Some(("k6.js", text))
}

fn read_k6(_output: &str, folder: &Path) -> Option<RequestFigures> {
    let report: Value = serde_json::from_slice(&fs::read(folder.join("k6.json")).ok()?).ok()?;
    let times = &report["metrics"]["http_req_duration"];
    let figure = |name: &str| times[name].as_f64();
    Some((figure("count")?, ["med", "p(95)", "p(99)", "max"].map(figure)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_read_in_milliseconds() {
        let nowhere = Path::new("/nonexistent");
        let wrk = read_wrk("x\nQUANTILES 30 1250.0 500000.0 900000.0 1000000.0\n", nowhere);
        assert_eq!(wrk, Some((30.0, [1.25, 500.0, 900.0, 1000.0].map(Some))));
        let oha = "{\"summary\":{\"slowest\":1.0},\"latencyPercentiles\":{\"p50\":0.001,\"p95\":0.5,\"p99\":null},\
                   \"statusCodeDistribution\":{\"200\":7}}";
        assert_eq!(read_oha(oha, nowhere), Some((7.0, [Some(1.0), Some(500.0), None, Some(1000.0)])));
        assert_eq!(read_oha("nothing", nowhere), None);
        assert_eq!(read_k6("", nowhere), None);
    }
}
