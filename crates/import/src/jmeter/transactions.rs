//! What transactions say of the samples in them, beside these samples: JMeter writes both numbers into a transaction's
//! message.

use std::collections::{HashMap, VecDeque};

use evidence::{UnknownBasis, UnknownRecords, UnknownSubject};

use super::{NS_PER_MS, Sample, TRANSACTION};
use crate::limits::MAX_RECORD_COUNT;
use crate::totals::count;

/// What comes after the number of samples in a transaction's message.
const FAILING: &str = ", number of failing samples :";
/// Threads whose samples are remembered.
const MOST_THREADS: usize = 10_000;
/// Samples of a thread that are remembered: transactions with more are not compared.
const MOST_SAMPLES: usize = 1_000;
/// Transactions of a thread that wait for samples, in files whose lines are in another order.
const MOST_OPEN: usize = 100;

/// The transactions of each thread, and the samples in them.
#[derive(Default)]
pub(super) struct Transactions {
    threads: HashMap<String, Thread>,
    missing: SampleCounts,
}

/// Samples, and how many of them failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct SampleCounts {
    all: u64,
    failed: u64,
}

impl SampleCounts {
    /// Of `Number of samples in transaction : 2, number of failing samples : 1`.
    fn of_message(message: &str) -> Option<SampleCounts> {
        let (all, failed) = message.strip_prefix(TRANSACTION)?.split_once(FAILING)?;
        let number = |text: &str| text.trim().parse().ok().filter(|n| *n <= MAX_RECORD_COUNT);
        Some(SampleCounts { all: number(all)?, failed: number(failed)? })
    }

    fn without(self, found: SampleCounts) -> SampleCounts {
        SampleCounts {
            all: self.all.saturating_sub(found.all),
            failed: self.failed.saturating_sub(found.failed),
        }
    }

    fn add(&mut self, other: SampleCounts) {
        self.all += other.all;
        self.failed += other.failed;
    }
}

#[derive(Default)]
struct Thread {
    /// The last samples, transactions among them: when each began, and whether it failed.
    samples: VecDeque<(i64, bool)>,
    open: Vec<OpenTransaction>,
}

/// A transaction of which not all samples were read yet.
struct OpenTransaction {
    start: i64,
    end: i64,
    lacks: SampleCounts,
}

impl Transactions {
    /// Add a sample, which may be a transaction.
    pub(super) fn add(&mut self, sample: &Sample<'_>, failed: bool) {
        let Some((start, end)) = sample.span() else { return };
        if !self.threads.contains_key(&*sample.thread) {
            if self.threads.len() >= MOST_THREADS {
                self.forget();
            }
            self.threads.insert(sample.thread.to_string(), Thread::default());
        }
        let Some(thread) = self.threads.get_mut(&*sample.thread) else { return };
        let stated = SampleCounts::of_message(&sample.message).filter(|_| sample.is_transaction());
        if let Some(stated) = stated.filter(|stated| stated.all < MOST_SAMPLES as u64) {
            let mut found = SampleCounts::default();
            for (_, failed) in thread.samples.iter().filter(|(began, _)| *began >= start) {
                found.add(SampleCounts { all: 1, failed: u64::from(*failed) });
            }
            let lacks = stated.without(found);
            if lacks != SampleCounts::default() {
                // Its duration is without the time between its samples.
                let idle_ms = sample.idle.parse::<i64>().unwrap_or(0);
                let end = end.saturating_add(idle_ms.saturating_mul(NS_PER_MS));
                thread.open.push(OpenTransaction { start, end, lacks });
            }
        }
        for open in thread.open.iter_mut().filter(|open| (open.start..=open.end).contains(&start)) {
            if stated.is_none() {
                open.lacks = open.lacks.without(SampleCounts { all: 1, failed: u64::from(failed) });
            }
        }
        if thread.open.len() > MOST_OPEN {
            let first = thread.open.remove(0);
            self.missing.add(first.lacks);
        }
        thread.samples.push_back((start, failed));
        if thread.samples.len() > MOST_SAMPLES {
            thread.samples.pop_front();
        }
    }

    /// Forget the threads, and remember what is missing in them.
    fn forget(&mut self) {
        let open = self.threads.drain().flat_map(|(_, thread)| thread.open);
        for transaction in open {
            self.missing.add(transaction.lacks);
        }
    }

    /// The samples that are in transactions and in no record.
    pub(super) fn missing(&self) -> Option<UnknownRecords> {
        let mut missing = self.missing;
        for open in self.threads.values().flat_map(|thread| &thread.open) {
            missing.add(open.lacks);
        }
        (missing != SampleCounts::default()).then(|| UnknownRecords {
            of: UnknownSubject::Requests,
            basis: UnknownBasis::Totals,
            scenario: String::new(),
            endpoint: String::new(),
            more: Some(missing.all),
            doubtful: missing.failed.saturating_sub(missing.all),
            why: format!(
                "By their messages, the transactions have {} more samples than were read, and {} more that failed.",
                count(missing.all),
                count(missing.failed)
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(rows: &[(&str, u64, bool)]) -> Option<(u64, u64)> {
        let mut transactions = Transactions::default();
        for (message, start, failed) in rows {
            let sample = Sample {
                started: start.to_string().into(),
                elapsed: "20".into(),
                message: (*message).into(),
                ..Sample::default()
            };
            transactions.add(&sample, *failed);
        }
        transactions.missing().map(|missing| (missing.more.unwrap(), missing.doubtful))
    }

    #[test]
    fn samples_of_a_transaction_that_are_not_there_are_missing_in_any_order() {
        let both = "Number of samples in transaction : 2, number of failing samples : 1";
        let whole = [("OK", 100, false), ("", 110, true), (both, 100, true)];
        assert_eq!(missing(&whole), None);
        let [a, b, transaction] = whole;
        assert_eq!(missing(&[transaction, a, b]), None, "sorted by their start");
        assert_eq!(missing(&[a, transaction]), Some((1, 0)));
        assert_eq!(missing(&[transaction, b]), Some((1, 0)));
        assert_eq!(missing(&[a, ("", 110, false), transaction]), Some((0, 1)));
        assert_eq!(missing(&[a, b, ("", 115, false), transaction, ("OK", 200, false)]), None);
    }
}
