//! What observers return, without secrets: a server may repeat what it was asked with, and a page of metrics may name a
//! password in a label.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use evidence::{Instant, Notice, Sample, SeriesKey};
use observe::Observer;
use workload::Redactor;

/// An observer whose series and notices are redacted.
pub(super) struct Redacted {
    observer: Box<dyn Observer>,
    redactor: Arc<Redactor>,
}

impl Redacted {
    pub(super) fn boxed(observer: Box<dyn Observer>, redactor: &Arc<Redactor>) -> Box<dyn Observer> {
        Box::new(Redacted { observer, redactor: redactor.clone() })
    }

    fn all(&self, samples: Vec<(SeriesKey, Sample)>) -> Vec<(SeriesKey, Sample)> {
        let redacted = |(mut key, sample): (SeriesKey, Sample)| {
            for text in [&mut key.name, &mut key.part] {
                let shown = match self.redactor.without_cut_values(text) {
                    Cow::Borrowed(_) => continue,
                    Cow::Owned(shown) => shown,
                };
                *text = shown.into();
            }
            (key, sample)
        };
        samples.into_iter().map(redacted).collect()
    }
}

impl Observer for Redacted {
    fn name(&self) -> &str {
        self.observer.name()
    }

    fn sample(&mut self, at: Instant) -> Vec<(SeriesKey, Sample)> {
        let samples = self.observer.sample(at);
        self.all(samples)
    }

    fn sample_closing(&mut self, at: Instant) -> Vec<(SeriesKey, Sample)> {
        let samples = self.observer.sample_closing(at);
        self.all(samples)
    }

    fn await_closing(&mut self, patience: Duration) -> Vec<(SeriesKey, Sample)> {
        let samples = self.observer.await_closing(patience);
        self.all(samples)
    }

    fn take_notices(&mut self) -> Vec<Notice> {
        let notices = self.observer.take_notices().into_iter();
        let redacted = |notice: Notice| {
            let text = self.redactor.without_cut_values(&notice.text).into_owned();
            Notice { text, ..notice }
        };
        notices.map(redacted).collect()
    }

    fn take_cost(&mut self) -> Duration {
        self.observer.take_cost()
    }
}
