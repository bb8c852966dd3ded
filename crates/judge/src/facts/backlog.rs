//! What phases took over from the one before: requests that were due there and ended here.

use evidence::run::{ReadError, select};
use evidence::{Metric, Outcome, Run, Seconds};

use super::tables::Span;
use crate::thresholds::CARRIED_SHARE;

/// A phase that began with a backlog.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Backlog {
    /// The phase that had to work it off.
    pub(crate) phase: String,
    /// Seconds from its beginning on in which a good part of what ended was due before it.
    pub(crate) drained_s: u32,
    /// How many ended in these seconds, the first one left out: what is under way when phases meet ends in it.
    pub(crate) carried: u64,
    /// How long the phase is, in seconds.
    pub(crate) length_s: f64,
}

/// The backlogs of all phases that took one over. What is due in a phase is kept under its name, whenever it ends.
pub(super) fn backlogs(run: &dyn Run, spans: &[Span]) -> Result<Vec<Backlog>, ReadError> {
    let mut backlogs = Vec::new();
    for (at, span) in spans.iter().enumerate().skip(1) {
        let seconds = span.seconds();
        let later = seconds.start + 1..seconds.end.min(run.seconds());
        if later.is_empty() {
            continue;
        }
        let earlier: Vec<&str> = spans[..at].iter().map(|before| before.name.as_str()).collect();
        let (mut carried, mut drained_s) = (0, 0);
        for (second, (old, all)) in (1..).zip(ended(run, (&earlier, &later))?) {
            if (old as f64) < CARRIED_SHARE * all as f64 || old == 0 {
                break;
            }
            (carried, drained_s) = (carried + old, second + 1);
        }
        if carried > 0 {
            let length_s = span.length_s();
            backlogs.push(Backlog { phase: span.name.clone(), drained_s, carried, length_s });
        }
    }
    Ok(backlogs)
}

/// For each second what ended in it of earlier phases, and what ended in it at all.
fn ended(run: &dyn Run, (earlier, window): (&[&str], &Seconds)) -> Result<Vec<(u64, u64)>, ReadError> {
    let mut seconds = vec![(0, 0); window.len()];
    let is_end = |key: &evidence::Key| key.outcome != Some(Outcome::Cancelled);
    for (id, key) in select(run.keys(), Metric::ResponseTime, is_end) {
        let is_earlier = earlier.contains(&&*key.phase);
        for (second, times) in run.histograms(id, window.clone())? {
            let sums = &mut seconds[(second - window.start) as usize];
            sums.0 += if is_earlier { times.count() } else { 0 };
            sums.1 += times.count();
        }
    }
    Ok(seconds)
}
