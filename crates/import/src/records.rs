//! Which records a file has, as a sample of their fingerprints: to find requests that are in two files.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::event::Event;

/// The most fingerprints that are stored. A file with fewer records is compared completely.
const MAX_STORED: usize = 1 << 14;
const SECOND_NS: i64 = 1_000_000_000;

/// A sample of the records of a file. A record is in the sample if its fingerprint is at most a limit, so two samples of
/// the same records have the same fingerprints below the lower of their limits.
#[derive(Debug)]
pub struct RecordSample {
    fingerprints: HashSet<u64>,
    highest: u64,
}

impl Default for RecordSample {
    fn default() -> RecordSample {
        RecordSample { fingerprints: HashSet::new(), highest: u64::MAX }
    }
}

impl RecordSample {
    /// Add the record that this event was made from, if it identifies one.
    pub(crate) fn add(&mut self, event: &Event<'_>) {
        let Some(fingerprint) = fingerprint(event).filter(|f| *f <= self.highest) else { return };
        self.fingerprints.insert(fingerprint);
        while self.fingerprints.len() > MAX_STORED {
            self.highest /= 2;
            let highest = self.highest;
            self.fingerprints.retain(|fingerprint| *fingerprint <= highest);
        }
    }

    /// The share of the smaller file's records that are also in the larger file, 0 to 1; 0 where nothing can be compared.
    pub fn share_in(&self, other: &RecordSample) -> f64 {
        let highest = self.highest.min(other.highest);
        let below = |sample: &RecordSample| sample.fingerprints.iter().filter(|f| **f <= highest).count();
        let in_both = self.fingerprints.iter().filter(|f| **f <= highest && other.fingerprints.contains(f));
        in_both.count() as f64 / below(self).min(below(other)).max(1) as f64
    }
}

/// What identifies a record. Requests are identified by endpoint, end and duration, intervals by tag, start and values.
/// Other events are made from the same records. Requests that took no time at a whole second are the same record in the
/// file of any machine that was refused, so they identify none.
fn fingerprint(event: &Event<'_>) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    match event {
        Event::Times { metric, subject, end, nanos, .. } if *nanos > 0 || end % SECOND_NS != 0 => {
            (metric, subject.scenario, subject.endpoint, end, nanos).hash(&mut hasher);
        }
        Event::Interval { subject, begin, times, .. } if !times.is_empty() => {
            (subject.endpoint, begin).hash(&mut hasher);
            times.buckets().for_each(|bucket| bucket.hash(&mut hasher));
        }
        _ => return None,
    }
    Some(hasher.finish())
}

#[cfg(test)]
mod tests {
    use evidence::{Metric, Outcome};

    use super::*;
    use crate::event::EndpointRef;

    /// The sample of requests that ended 1.000142 ms after each other.
    fn sample(numbers: std::ops::Range<i64>) -> RecordSample {
        let mut sample = RecordSample::default();
        for n in numbers {
            sample.add(&Event::Times {
                metric: Metric::ResponseTime,
                subject: EndpointRef { scenario: "browse", endpoint: "list" },
                outcome: Some(Outcome::Ok),
                end: 1_795_295_971_587_890_628 + n * 1_000_142,
                nanos: 2_470_721,
            });
        }
        sample
    }

    #[test]
    fn shared_records_are_a_share_of_the_smaller_file() {
        let shares = [(0..100, 100..200), (0..100, 90..190), (0..100, 0..1_000), (0..0, 0..100)];
        let shares = shares.map(|(a, b)| sample(a).share_in(&sample(b)));
        assert_eq!(shares, [0.0, 0.1, 1.0, 0.0]);
    }

    #[test]
    fn large_files_are_compared_by_a_sample_of_bounded_size() {
        let (all, half, other) = (sample(0..60_000), sample(0..30_000), sample(60_000..120_000));
        assert!(all.fingerprints.len() <= MAX_STORED && half.fingerprints.len() <= MAX_STORED);
        assert_eq!((all.share_in(&half), half.share_in(&all)), (1.0, 1.0));
        assert_eq!(all.share_in(&other), 0.0);
        let share = half.share_in(&sample(20_000..50_000));
        assert!((share - 1.0 / 3.0).abs() < 0.02, "{share}");
    }
}
