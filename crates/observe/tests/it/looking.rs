//! An observer of something over a network, looked through one look at a time.

use std::time::Duration;

use evidence::{Instant, Notice, NoticeKind, Sample, SeriesKey};
use observe::Observer;
use peers::poll;

/// Longer than any observer waits for an answer.
const SEEN_WITHIN: Duration = Duration::from_secs(30);

/// An observer whose clock is the test's: a second passes from look to look, however long each takes.
pub(crate) struct Looking {
    observer: Box<dyn Observer>,
    at: Instant,
}

/// What came of a look.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    samples: Vec<(SeriesKey, Sample)>,
    notices: Vec<Notice>,
}

impl Looking {
    pub(crate) fn new(observer: Box<dyn Observer>) -> Looking {
        Looking { observer, at: Instant::EPOCH }
    }

    /// Lets so many seconds pass in which no look is due.
    pub(crate) fn pass(&mut self, seconds: u32) {
        for _ in 0..seconds {
            self.at = self.at + Duration::from_secs(1);
            assert_eq!(self.observer.sample(self.at), []);
        }
    }

    /// Has one look taken and waits until something comes of it.
    pub(crate) fn look(&mut self) -> Seen {
        self.at = self.at + Duration::from_secs(1);
        let found = poll::find(SEEN_WITHIN, || {
            let seen = Seen { samples: self.observer.sample(self.at), notices: self.observer.take_notices() };
            (!seen.samples.is_empty() || !seen.notices.is_empty()).then_some(seen)
        });
        found.expect("something comes of a look")
    }
}

impl Seen {
    /// The value of the series with this name and part.
    pub(crate) fn value(&self, name: &str, part: &str) -> Option<f64> {
        let found = self.samples.iter().find(|(key, _)| &*key.name == name && &*key.part == part);
        found.map(|(_, sample)| sample.value)
    }

    /// Parts of the series with this name, and their values.
    pub(crate) fn parts(&self, name: &str) -> Vec<(&str, f64)> {
        let named = self.samples.iter().filter(|(key, _)| &*key.name == name);
        named.map(|(key, sample)| (&*key.part, sample.value)).collect()
    }

    /// Names of series, each once, without the observer's own.
    pub(crate) fn names(&self) -> Vec<&str> {
        let own = |key: &&SeriesKey| &*key.target != SeriesKey::GENERATOR;
        let mut names: Vec<&str> =
            self.samples.iter().map(|(key, _)| key).filter(own).map(|key| &*key.name).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    pub(crate) fn kinds(&self) -> Vec<NoticeKind> {
        self.notices.iter().map(|notice| notice.kind).collect()
    }

    pub(crate) fn texts(&self) -> Vec<&str> {
        self.notices.iter().map(|notice| notice.text.as_str()).collect()
    }
}
