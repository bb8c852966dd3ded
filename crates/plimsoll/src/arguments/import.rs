//! What `plimsoll import` takes.

use std::path::PathBuf;

use clap::Args;
use import::Format;

use super::OutputArguments;

pub(crate) const EXAMPLES: &str = "\
Examples:
  plimsoll import k6.ndjson                       the output of `k6 run --out json=k6.ndjson`
  plimsoll import k6.csv --objective 'p95(list) < 50ms' --objective 'error_rate(all) < 0.1%'
  plimsoll import ghz.json -o yesterday.plimsoll --html yesterday.html
  plimsoll import results.jtl                     JMeter: `jmeter -n -l results.jtl`, CSV or XML
  plimsoll import simulation.log                  Gatling up to 3.12.0
  plimsoll import run_stats.csv run_stats_history.csv run_failures.csv     Locust: `locust --csv run`
  plimsoll import oha.json --objective 'error_rate(all) < 1%'                    `oha --output-format json`
  plimsoll import k6.ndjson --intent plan.toml    with what was asked of k6, as a plan
  plimsoll import results.bin                     what `vegeta attack` writes
  plimsoll import run-1.hlog run-2.hlog           one run in several files";

#[derive(Debug, Args)]
pub(crate) struct ImportArguments {
    /// The files of one run, all by one tool; each is read twice
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The run file to write [default: the first file's name with the time, `.plimsoll`]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The files' format [default: recognised from their content]
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    pub(crate) format: Option<Format>,
    /// An objective to judge the run by, such as 'p95 < 50ms'; repeatable
    #[arg(long = "objective", alias = "ask", value_name = "OBJECTIVE")]
    pub(crate) objectives: Vec<String>,
    /// The plan that the tool was to carry out: its rates, VU limits, time limits, phases and objectives apply
    #[arg(long, value_name = "PLAN")]
    pub(crate) intent: Option<PathBuf>,
    /// Replace the run file if it exists
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) outputs: OutputArguments,
}

fn format(text: &str) -> Result<Format, String> {
    let known = Format::ALL.iter().find(|(_, name)| *name == text);
    known.map(|(format, _)| *format).ok_or_else(|| {
        let names: Vec<&str> = Format::ALL.iter().map(|(_, name)| *name).collect();
        format!("expected one of {}", names.join(", "))
    })
}
