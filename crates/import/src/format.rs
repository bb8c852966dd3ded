//! The formats that are read.

use std::fmt;

pub(crate) const SUPPORTED: &str = "k6's NDJSON (`--out json=FILE`), CSV (`--out csv=FILE`) or summary (`--summary-export FILE`), \
                         JMeter's CSV with a header or XML (`-l FILE.jtl`), Gatling's `simulation.log` up to version \
                         3.12.0, Locust's CSV (`--csv PREFIX`), ghz's JSON (`-O json`) or summary, vegeta's results \
                         (`vegeta attack`, or `vegeta encode` as JSON or CSV) or report (`vegeta report -type=json`), oha's JSON or CSV \
                         (`--output-format`), hey's CSV (`-o csv`), fortio's JSON (`-json FILE`), and HdrHistogram logs";

/// A format of another tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// `k6 run --out json=FILE`: one JSON object per line.
    K6Ndjson,
    /// `k6 run --out csv=FILE`.
    K6Csv,
    /// `k6 run --summary-export FILE`, or the argument of `handleSummary` as JSON.
    K6Summary,
    /// `ghz -O json` and `-O pretty`.
    GhzJson,
    /// `ghz -O summary`, which is what ghz prints.
    GhzText,
    /// `vegeta encode`: one JSON object per line.
    VegetaResults,
    /// `vegeta encode --to csv`.
    VegetaCsv,
    /// What `vegeta attack` writes: Go's own encoding.
    VegetaBinary,
    /// `vegeta report -type=json`.
    VegetaReport,
    /// `hey -o csv`.
    HeyCsv,
    /// `oha --output-format csv`.
    OhaCsv,
    /// `fortio load -json FILE`.
    FortioJson,
    /// `jmeter -n -l FILE.jtl` with JMeter's default format.
    JmeterCsv,
    /// The same with `jmeter.save.saveservice.output_format=xml`.
    JmeterXml,
    /// Gatling's `simulation.log` as text.
    GatlingLog,
    /// Locust's `PREFIX_stats.csv`.
    LocustStats,
    /// Locust's `PREFIX_stats_history.csv`.
    LocustHistory,
    /// Locust's `PREFIX_failures.csv`.
    LocustFailures,
    /// `oha --output-format json`.
    OhaJson,
    /// An interval log of HdrHistogram, `.hlog`.
    HdrLog,
}

impl Format {
    /// Every format, with its name on the command line.
    pub const ALL: [(Format, &'static str); 20] = [
        (Format::K6Ndjson, "k6-ndjson"),
        (Format::K6Csv, "k6-csv"),
        (Format::K6Summary, "k6-summary"),
        (Format::GhzJson, "ghz-json"),
        (Format::GhzText, "ghz-text"),
        (Format::VegetaResults, "vegeta-results"),
        (Format::VegetaCsv, "vegeta-csv"),
        (Format::VegetaBinary, "vegeta-binary"),
        (Format::VegetaReport, "vegeta-report"),
        (Format::HeyCsv, "hey-csv"),
        (Format::OhaCsv, "oha-csv"),
        (Format::FortioJson, "fortio-json"),
        (Format::JmeterCsv, "jmeter-csv"),
        (Format::JmeterXml, "jmeter-xml"),
        (Format::GatlingLog, "gatling-log"),
        (Format::LocustStats, "locust-stats"),
        (Format::LocustHistory, "locust-history"),
        (Format::LocustFailures, "locust-failures"),
        (Format::OhaJson, "oha-json"),
        (Format::HdrLog, "hdr-log"),
    ];

    /// Whether it has each request, or a distribution for each interval, and not only figures of the whole run.
    pub fn is_detailed(self) -> bool {
        match self {
            Format::K6Ndjson
            | Format::K6Csv
            | Format::GhzJson
            | Format::VegetaResults
            | Format::VegetaCsv
            | Format::VegetaBinary
            | Format::HeyCsv
            | Format::OhaCsv
            | Format::JmeterCsv
            | Format::JmeterXml
            | Format::GatlingLog
            | Format::HdrLog => true,
            Format::K6Summary
            | Format::GhzText
            | Format::VegetaReport
            | Format::LocustStats
            | Format::LocustHistory
            | Format::LocustFailures
            | Format::FortioJson
            | Format::OhaJson => false,
        }
    }

    /// Whether it has figures of the whole run. Locust's history and failures are read beside such a file.
    pub fn has_figures(self) -> bool {
        match self {
            Format::GhzJson => true,
            Format::LocustHistory | Format::LocustFailures => false,
            other => !other.is_detailed(),
        }
    }

    /// The tool that writes it.
    pub fn tool(self) -> &'static str {
        match self {
            Format::K6Ndjson | Format::K6Csv | Format::K6Summary => "k6",
            Format::GhzJson | Format::GhzText => "ghz",
            Format::VegetaResults | Format::VegetaCsv | Format::VegetaBinary | Format::VegetaReport => {
                "vegeta"
            }
            Format::HeyCsv => "hey",
            Format::FortioJson => "fortio",
            Format::JmeterCsv | Format::JmeterXml => "JMeter",
            Format::GatlingLog => "Gatling",
            Format::LocustStats | Format::LocustHistory | Format::LocustFailures => "Locust",
            Format::OhaJson | Format::OhaCsv => "oha",
            Format::HdrLog => "HdrHistogram",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::K6Ndjson => "k6 NDJSON",
            Format::K6Csv => "k6 CSV",
            Format::K6Summary => "k6 summary",
            Format::GhzJson => "ghz JSON",
            Format::GhzText => "ghz text summary",
            Format::VegetaResults => "vegeta results",
            Format::VegetaCsv => "vegeta CSV",
            Format::VegetaBinary => "vegeta binary results",
            Format::VegetaReport => "vegeta report",
            Format::HeyCsv => "hey CSV",
            Format::OhaCsv => "oha CSV",
            Format::FortioJson => "fortio JSON",
            Format::JmeterCsv => "JMeter CSV",
            Format::JmeterXml => "JMeter XML",
            Format::GatlingLog => "Gatling log",
            Format::LocustStats => "Locust statistics",
            Format::LocustHistory => "Locust history",
            Format::LocustFailures => "Locust failures",
            Format::OhaJson => "oha JSON",
            Format::HdrLog => "HdrHistogram log",
        })
    }
}
