//! What an observer has to say besides numbers.

use std::collections::VecDeque;

use evidence::Instant;

/// Notices one observer keeps until they are taken; what comes after is dropped, and the last one says so.
const NOTICES_LIMIT: usize = 100;

/// The kind of trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NoticeKind {
    /// The process could not be found, or has ended: its series have a gap from here on.
    Gone,
    /// The process was found after it could not be: its series begin or go on here.
    Appeared,
    /// Another process took its place: rates begin anew, with a gap of one sample.
    Restarted,
    /// Part of what was asked for cannot be read.
    Unreadable,
    /// Several processes answer to the reference, and one of them is watched.
    Several,
    /// Samples were not taken when they were due.
    Late,
}

/// A sentence about a series that its numbers cannot say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// When it was noticed.
    pub at: Instant,
    /// The observer's name.
    pub observer: String,
    /// What kind of trouble it is.
    pub kind: NoticeKind,
    /// A sentence for the reader of the report, without a full stop.
    pub text: String,
}

/// An observer's notices, bounded.
#[derive(Debug)]
pub(crate) struct Notices {
    observer: String,
    kept: VecDeque<Notice>,
}

impl Notices {
    pub(crate) fn new(observer: &str) -> Self {
        Notices { observer: observer.to_owned(), kept: VecDeque::new() }
    }

    pub(crate) fn say(&mut self, at: Instant, kind: NoticeKind, text: String) {
        let text = match self.kept.len() {
            NOTICES_LIMIT.. => return,
            count if count + 1 == NOTICES_LIMIT => format!("{text}; further notices are not kept"),
            _ => text,
        };
        self.kept.push_back(Notice { at, observer: self.observer.clone(), kind, text });
    }

    pub(crate) fn take(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.kept).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_flaps_fills_no_memory() {
        let mut notices = Notices::new("x");
        for second in 0..1000 {
            notices.say(Instant::from_nanos(second), NoticeKind::Gone, "gone".to_owned());
        }
        let taken = notices.take();
        assert_eq!(taken.len(), NOTICES_LIMIT);
        assert_eq!(taken[98].text, "gone");
        assert_eq!(taken[99].text, "gone; further notices are not kept");
        assert!(notices.take().is_empty());
    }
}
