//! Watches a target's Prometheus endpoint.

mod change;
mod keep;
mod page;

use std::io;
use std::time::{Duration, Instant};

use evidence::{NoticeKind, SeriesKey};

use crate::fetch::{Fetcher, require_scheme};
use crate::observer::Observer;
use crate::remote::{Query, QueryResult, Remote};
use change::{Change, change};
use keep::Keep;
use page::{Id, KeptSeries, MOST_SERIES, Page};

/// Time limit of a page.
const PATIENCE: Duration = Duration::from_secs(2);
/// The largest page that is read.
const MOST_BYTES: u64 = 8 << 20;
const ACCEPT: &str = "text/plain;version=0.0.4,application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.1";

/// Watches the metrics at `url` whose names fit one of the patterns `keep`, or the usual ones when there are none, and
/// those that are `needed` besides, as part of the target named `target`, once in `every`.
///
/// # Errors
/// When the system gives no thread, or the URL needs TLS and the program was built without it.
pub fn prometheus(
    target: &str,
    url: &str,
    keep: &[String],
    needed: &[String],
    every: Duration,
) -> io::Result<Box<dyn Observer>> {
    require_scheme(url)?;
    let query = PrometheusQuery {
        target: target.to_owned(),
        url: url.to_owned(),
        fetcher: Fetcher::new(PATIENCE),
        keep: Keep::new(keep).and(needed),
        known: KeptSeries::default(),
        base: None,
        is_interrupted: false,
        restarts: 0,
    };
    Ok(Box::new(Remote::start(&format!("{target} prometheus"), every, query)?))
}

struct PrometheusQuery {
    target: String,
    /// May hold a password: never shown.
    url: String,
    fetcher: Fetcher,
    keep: Keep,
    known: KeptSeries,
    base: Option<(Instant, Page)>,
    /// Whether a query failed since the base: a restart meanwhile would not be noticed.
    is_interrupted: bool,
    restarts: usize,
}

impl Query for PrometheusQuery {
    fn query(&mut self) -> Result<QueryResult, String> {
        match self.page() {
            Ok((at, page)) => Ok(self.result(at, page)),
            Err(why) => {
                self.is_interrupted = true;
                Err(format!("its metrics cannot be read: {why}"))
            }
        }
    }
}

impl PrometheusQuery {
    fn page(&mut self) -> Result<(Instant, Page), String> {
        let bytes = self.fetcher.whole(&self.url, ACCEPT, MOST_BYTES)?;
        let at = Instant::now();
        Ok((at, Page::read(&String::from_utf8_lossy(&bytes), &self.keep, &mut self.known)?))
    }

    fn result(&mut self, at: Instant, page: Page) -> QueryResult {
        let mut changed = match &self.base {
            Some((base_at, base)) => change(base, &page, at.duration_since(*base_at).as_secs_f64()),
            None => Change::default(),
        };
        if std::mem::take(&mut self.is_interrupted) {
            changed.rates.clear();
            changed.quantiles.clear();
        }
        let remarks = self.remarks(&page, &changed);
        let key = |id: &Id, unit: &str| SeriesKey::new(&id.name, &self.target, unit).part(&id.part);
        let level = |(id, value): (&Id, &f64)| (key(id, unit_of(&id.name)), *value);
        let mut values: Vec<_> = page.levels.iter().map(level).collect();
        values.extend(changed.rates.iter().map(|(id, value)| (key(id, rate_unit_of(&id.name)), *value)));
        let quantile = |(id, value): &(Id, f64)| (key(id, unit_of(&id.name[..id.name.len() - 4])), *value);
        values.extend(changed.quantiles.iter().map(quantile));
        self.base = Some((at, page));
        QueryResult { values, remarks }
    }

    fn remarks(&mut self, page: &Page, changed: &Change) -> Vec<(NoticeKind, String)> {
        let mut remarks = Vec::new();
        if let Some((name, count)) = &changed.fallen {
            self.restarts += 1;
            // Numbered, so that each is reported.
            let others = if *count > 1 { format!(" and {} others", count - 1) } else { String::new() };
            let text = format!("restart {}: `{name}`{others} began anew; rates have a gap", self.restarts);
            remarks.push((NoticeKind::Restarted, text));
        }
        if page.left_out > 0 && self.base.is_none() {
            let text = format!(
                "{} series are left out: {MOST_SERIES} are kept at most; name fewer with `keep`",
                page.left_out
            );
            remarks.push((NoticeKind::Unreadable, text));
        }
        if page.is_empty() && self.base.is_none() {
            let text = "none of its metrics is among those to keep: it has no series".to_owned();
            remarks.push((NoticeKind::Unreadable, text));
        }
        if let Some((line, why)) = &page.wrong
            && self.base.as_ref().is_none_or(|(_, base)| base.wrong.is_none())
        {
            let others = match page.wrong_count {
                1 => String::new(),
                count => format!("; {} lines after it too", count - 1),
            };
            remarks.push((NoticeKind::Unreadable, format!("line {line} is left out: {why}{others}")));
        }
        if let Some((name, bound)) = &changed.beyond {
            let text =
                format!("`{name}` is beyond the largest bound, {bound}: it has a gap where that is so");
            remarks.push((NoticeKind::Remark, text));
        }
        remarks
    }
}

/// The unit that a name ends in, by Prometheus' own custom.
fn unit_of(name: &str) -> &'static str {
    match name {
        name if name.ends_with("_bytes") => "bytes",
        name if name.ends_with("_seconds") => "s",
        _ => "1",
    }
}

/// The same of a counter, a second.
fn rate_unit_of(name: &str) -> &'static str {
    let name = name.strip_suffix("_total").or_else(|| name.strip_suffix("_sum")).unwrap_or(name);
    match unit_of(name) {
        "s" if name.ends_with("cpu_seconds") => "cores",
        "s" => "s/s",
        "bytes" => "bytes/s",
        _ => "1/s",
    }
}
