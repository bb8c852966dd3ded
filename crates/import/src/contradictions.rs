//! What a source states of its requests, compared with the requests that it has, and with what else it states. Where two
//! numbers differ, it is not known which of them is wrong: the requests between them may be on either side of every
//! objective.

use evidence::manifest::{RequestSummary, StatedQuantile, TimesSummary};
use evidence::{Histogram, UnknownBasis, UnknownRecords, UnknownSubject};

use crate::requests_read::RequestsRead;
use crate::survey::Survey;
use crate::totals::{StatedTotal, count};

const US_PER_MS: f64 = 1e3;
/// Shares such as 0.99 are not exact in binary.
const SHARE_ERROR: f64 = 1e-9;

/// Where the files of a run contradict each other or themselves: one entry for each total that differs from the requests
/// that were read, or from other totals where there are no single requests. Of a run that `is_cut`, every total that limits
/// how many requests are missing has one.
pub fn contradictions(files: &[&Survey], is_cut: bool) -> Vec<UnknownRecords> {
    let has_both = |file: &&&Survey| file.requests_read.requests() > 0 && !file.summaries.is_empty();
    if files.iter().filter(has_both).count() > 1 {
        // Of several machines: their requests are different ones.
        let own = |file: &&Survey| contradictions(&[*file], false);
        let of_files = files.iter().flat_map(own);
        return of_files.map(|own| UnknownRecords { basis: UnknownBasis::Records, ..own }).collect();
    }
    let mut read = RequestsRead::default();
    files.iter().for_each(|file| read.merge(&file.requests_read));
    let summaries: Vec<&RequestSummary> = files.iter().flat_map(|file| &file.summaries).collect();
    let stated = files.iter().flat_map(|file| file.stated.iter().cloned());
    if read.requests() == 0 {
        let totals: Vec<StatedTotal> = stated.collect();
        return summaries.into_iter().flat_map(|summary| against_totals(summary, &totals)).collect();
    }
    let is_whole = |total: &StatedTotal| total.scenario.is_empty() && total.endpoint.is_empty();
    let totals =
        summaries.iter().map(|summary| StatedTotal::from_summary(summary)).chain(stated).filter(is_whole);
    let mut found: Vec<UnknownRecords> =
        totals.filter_map(|total| against_records(&total, &read, is_cut)).collect();
    for summary in summaries.into_iter().filter(|s| s.scenario.is_empty() && s.endpoint.is_empty()) {
        found.extend(summary.times.iter().filter_map(|times| against_times(times, &read)));
        found.extend(checks(summary, &read));
    }
    found
}

/// A total beside the records.
fn against_records(total: &StatedTotal, read: &RequestsRead, is_cut: bool) -> Option<UnknownRecords> {
    let (requests, failed) = (read.requests(), read.failed.count());
    let (more, doubtful) = total.differs_from(requests, Some(failed));
    let limits = is_cut && total.requests.is_some() && !total.is_lower_limit;
    (more > 0 || doubtful > 0 || limits).then(|| UnknownRecords {
        more: Some(more),
        doubtful,
        why: format!(
            "{} has {}; the file has records of {} requests, {} of them failed.",
            total.what,
            total.words(),
            count(requests),
            count(failed)
        ),
        ..of_requests("", "")
    })
}

/// A summary beside other totals, where there are no records.
fn against_totals(summary: &RequestSummary, totals: &[StatedTotal]) -> Vec<UnknownRecords> {
    let Some(requests) = summary.requests else { return Vec::new() };
    let is_its =
        |total: &&StatedTotal| (&total.scenario, &total.endpoint) == (&summary.scenario, &summary.endpoint);
    let of_summary = StatedTotal::from_summary(summary);
    let against = |total: &StatedTotal| {
        let (more, doubtful) = total.differs_from(requests, summary.failed);
        (more > 0 || doubtful > 0).then(|| UnknownRecords {
            more: Some(more),
            doubtful,
            why: format!("{} has {}; elsewhere there are {}.", total.what, total.words(), of_summary.words()),
            ..of_requests(&summary.scenario, &summary.endpoint)
        })
    };
    totals.iter().filter(is_its).filter_map(against).collect()
}

fn of_requests(scenario: &str, endpoint: &str) -> UnknownRecords {
    UnknownRecords {
        of: UnknownSubject::Requests,
        basis: UnknownBasis::Totals,
        scenario: scenario.to_owned(),
        endpoint: endpoint.to_owned(),
        more: Some(0),
        doubtful: 0,
        why: String::new(),
    }
}

/// Quantiles beside the times of the records: how many of these have to be on the other side of a quantile for it to be
/// true, if none is missing there, and how many if all that are missing are there.
fn against_times(times: &TimesSummary, read: &RequestsRead) -> Option<UnknownRecords> {
    let mut all = read.ok.clone();
    if times.failed != Some(0) {
        all.merge(&read.failed);
    }
    let missing = times.count.saturating_sub(all.count());
    let sides = times.quantiles.iter().flat_map(|stated| sides_of(*stated, times.rounding, &all));
    let lacks = |side: &QuantileSide, count: u64| side.least(count).saturating_sub(side.found);
    let doubtful = sides.clone().map(|side| lacks(&side, times.count).saturating_sub(missing)).max()?;
    let of_read = sides.max_by_key(|side| lacks(side, all.count()))?;
    let too_few = lacks(&of_read, all.count());
    (too_few > 0 || doubtful > 0).then(|| UnknownRecords {
        doubtful,
        why: format!(
            "The source has a {} of {} ms; of {} records {} too few are {} it.",
            quantile_name(of_read.stated.q),
            (of_read.stated.ms * 100.0).round() / 100.0,
            count(all.count()),
            count(too_few),
            of_read.side
        ),
        ..of_requests("", "")
    })
}

/// The times on one side of a quantile.
#[derive(Clone, Copy)]
struct QuantileSide {
    stated: StatedQuantile,
    side: &'static str,
    /// The share of all times that are there.
    share: f64,
    /// The records that may be.
    found: u64,
}

impl QuantileSide {
    /// Of `n` times at least `⌊(1 − q)n⌋` are at or above their `q`-quantile and `⌊qn⌋` at or below it, less one, because
    /// tools count ranks differently; one has to be there.
    fn least(&self, times: u64) -> u64 {
        let least = (self.share * times as f64 + SHARE_ERROR).floor() as u64;
        least.saturating_sub(1).max(u64::from(times > 0))
    }
}

/// A time is on both sides of a quantile that its bucket contains, or that is rounded to it.
fn sides_of(stated: StatedQuantile, rounding: f64, all: &Histogram) -> [QuantileSide; 2] {
    let us = stated.ms * US_PER_MS;
    let (low, high) = (us * (1.0 - rounding) - 1.0, us * (1.0 + rounding) + 1.0);
    let above = all.buckets().filter(|(_, top, _)| *top as f64 >= low).map(|(.., n)| n).sum();
    let below = all.buckets().filter(|(bottom, ..)| *bottom as f64 <= high).map(|(.., n)| n).sum();
    [
        QuantileSide { stated, side: "at or above", share: 1.0 - stated.q, found: above },
        QuantileSide { stated, side: "at or below", share: stated.q, found: below },
    ]
}

fn quantile_name(q: f64) -> String {
    match q {
        q if q <= 0.0 => "minimum".to_owned(),
        q if q >= 1.0 => "maximum".to_owned(),
        q => format!("p{}", (q * 1e5).round() / 1e3),
    }
}

/// Checks of a summary beside those of the records.
fn checks(summary: &RequestSummary, read: &RequestsRead) -> Option<UnknownRecords> {
    let (passed, failed) = (summary.checks_passed?, summary.checks_failed?);
    let total =
        StatedTotal { requests: Some(passed + failed), failed: Some(failed), ..StatedTotal::default() };
    let made = read.checks_passed + read.checks_failed;
    let (more, doubtful) = total.differs_from(made, Some(read.checks_failed));
    (more > 0 || doubtful > 0).then(|| UnknownRecords {
        of: UnknownSubject::Checks,
        more: Some(more),
        doubtful,
        why: format!(
            "The summary has {} checks, {} of them failed; the file has records of {}, {} of them failed.",
            count(passed + failed),
            count(failed),
            count(made),
            count(read.checks_failed)
        ),
        ..of_requests("", "")
    })
}

#[cfg(test)]
mod tests;
