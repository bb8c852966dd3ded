//! HdrHistogram's interval logs, which its own tools and others' read.
//!
//! Format: `HistogramLogWriter`, version 1.3 (<https://hdrhistogram.org>): one line for each interval and tag, its
//! histogram in the compressed V2 encoding and base64. Values are microseconds.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use evidence::run::select;
use evidence::{Histogram, Key, Metric, Outcome, Run};
use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::{ExportError, RunStart};

/// The cookie of a compressed histogram, version 2.
const COMPRESSED: u32 = 0x1c84_9314;

/// The response times of each endpoint in each second, in microseconds, from the instant at which requests were due. The tag
/// is `SCENARIO/ENDPOINT`; of requests that failed `SCENARIO/ENDPOINT!OUTCOME`. Requests that the generator cancelled are left
/// out.
///
/// # Errors
/// [`ExportError`] when the evidence cannot be read.
pub fn hdr(run: &dyn Run, start: Option<RunStart>) -> Result<String, ExportError> {
    let mut intervals: BTreeMap<(u32, String), Histogram> = BTreeMap::new();
    let is_shown = |key: &Key| key.outcome != Some(Outcome::Cancelled);
    for (id, key) in select(run.keys(), Metric::ResponseTime, is_shown) {
        for (second, histogram) in run.histograms(id, run.whole())? {
            intervals.entry((second, tag(key))).or_default().merge(&histogram);
        }
    }
    let mut out = head(run, start);
    for ((second, tag), histogram) in intervals.iter().filter(|(_, histogram)| !histogram.is_empty()) {
        let longest_ms = histogram.max_us().unwrap_or_default() as f64 / 1e3;
        let encoded = STANDARD.encode(compressed(histogram)?);
        let _ = writeln!(out, "Tag={tag},{second}.000,1.000,{longest_ms:.3},{encoded}");
    }
    Ok(out)
}

fn head(run: &dyn Run, start: Option<RunStart>) -> String {
    let version = run.manifest().generator.get("version").map_or("", String::as_str);
    let mut out =
        format!("#[Logged with plimsoll {}]\n#[Histogram log format version 1.3]\n", plain(version));
    if let Some(start) = start {
        let seconds = start.after_ms(0);
        let _ = writeln!(out, "#[BaseTime: {seconds} (seconds since epoch)]");
        let _ = writeln!(out, "#[StartTime: {seconds} (seconds since epoch)]");
    }
    out.push_str(
        "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
    );
    out
}

fn tag(key: &Key) -> String {
    let failed = key.outcome.filter(|outcome| outcome.is_failure());
    let failed = failed.map(|outcome| format!("!{outcome}")).unwrap_or_default();
    format!("{}/{}{failed}", plain(&key.scenario), plain(&key.endpoint))
}

/// A name without the characters that end a tag.
fn plain(name: &str) -> String {
    let plain = |c: char| if c == ',' || c.is_whitespace() || c.is_control() { '_' } else { c };
    name.chars().map(plain).collect()
}

/// The compressed V2 encoding: a cookie, the length, and the uncompressed one in zlib's format.
fn compressed(histogram: &Histogram) -> Result<Vec<u8>, ExportError> {
    let failed = |error: std::io::Error| ExportError::Table(error.to_string());
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&histogram.to_v2()).map_err(failed)?;
    let payload = encoder.finish().map_err(failed)?;
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    Ok([&COMPRESSED.to_be_bytes()[..], &length.to_be_bytes(), &payload].concat())
}
