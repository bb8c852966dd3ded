//! Parts of samples, redirects and embedded resources, which the CSV has as samples of their own after the whole. XML
//! nests them.

use std::collections::HashMap;

use super::super::{NS_PER_MS, Sample};
use crate::event::{Event, Receive};
use crate::lines::LineError;

/// Threads whose last sample is remembered. JMeter writes a sample and its parts one after the other, so that few would do.
const MOST_THREADS: usize = 10_000;

/// The last sample of each thread that is not part.
#[derive(Default)]
pub(super) struct Parts {
    wholes: HashMap<String, Whole>,
    has_remark: bool,
}

struct Whole {
    label: String,
    start: i64,
    end: i64,
}

impl Parts {
    /// Whether the sample is a part of the last one of its thread: it has that one's label with a number, as in `page-0`,
    /// and its time is in that one's time.
    pub(super) fn contain(
        &mut self,
        sample: &Sample<'_>,
        receiver: &mut dyn Receive,
    ) -> Result<bool, LineError> {
        let Some((start, end)) = sample.span() else { return Ok(false) };
        // A part may begin or end between two milliseconds.
        let is_part = self.wholes.get(&*sample.thread).is_some_and(|whole| {
            is_numbered(&sample.label, &whole.label)
                && whole.start - NS_PER_MS <= start
                && end <= whole.end + NS_PER_MS
        });
        if !is_part {
            if self.wholes.len() >= MOST_THREADS {
                self.wholes.clear();
            }
            let whole = Whole { label: sample.label.to_string(), start, end };
            self.wholes.insert(sample.thread.to_string(), whole);
        } else if !std::mem::replace(&mut self.has_remark, true) {
            receiver.receive(Event::Remark(
                "redirects and embedded resources that JMeter wrote as samples of their own, such as `page-0` after \
                 `page`, are parts of that sample and no requests"
                    .to_owned(),
            ))?;
        }
        Ok(is_part)
    }
}

/// Whether a label is `whole` with numbers after it: `page-0`, `page-3-1`.
fn is_numbered(label: &str, whole: &str) -> bool {
    let numbers = label.strip_prefix(whole).and_then(|rest| rest.strip_prefix('-'));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    numbers.is_some_and(|numbers| numbers.split('-').all(is_number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Survey;

    #[test]
    fn a_part_is_numbered_and_within_the_time_of_the_whole() {
        let mut parts = Parts::default();
        let mut is_part = |label: &'static str, thread: &'static str, started: &'static str| {
            let [label, thread, started] = [label, thread, started].map(Into::into);
            let sample = Sample { label, thread, started, elapsed: "50".into(), ..Sample::default() };
            parts.contain(&sample, &mut Survey::default()).ok().unwrap()
        };
        assert!(!is_part("page", "Browse 1-1", "1795384823000"));
        assert!(!is_part("page-0", "Browse 1-2", "1795384823000"), "of another thread");
        assert!(is_part("page-0", "Browse 1-1", "1795384823000"));
        assert!(is_part("page-1-0", "Browse 1-1", "1795384823001"));
        assert!(!is_part("page-two", "Browse 1-1", "1795384823000"));
        assert!(!is_part("page", "Browse 1-1", "1795384824000"));
        assert!(!is_part("page-1", "Browse 1-1", "1795384824100"), "it began after the whole");
    }
}
