//! What an observer has to say besides numbers, within bounds.

use evidence::{Instant, Notice, NoticeKind};

/// Notices that one observer gives in a run; what comes after is dropped, and the last one says so.
pub(crate) const NOTICES_LIMIT: usize = 100;

/// An observer's notices, bounded.
#[derive(Debug)]
pub(crate) struct Notices {
    observer: String,
    kept: Vec<Notice>,
    said: usize,
}

impl Notices {
    pub(crate) fn new(observer: &str) -> Self {
        Notices { observer: observer.to_owned(), kept: Vec::new(), said: 0 }
    }

    pub(crate) fn say(&mut self, at: Instant, kind: NoticeKind, text: String) {
        let text = match self.said {
            NOTICES_LIMIT.. => return,
            count if count + 1 == NOTICES_LIMIT => format!("{text}; further notices are not kept"),
            _ => text,
        };
        self.said += 1;
        self.kept.push(Notice { at, observer: self.observer.clone(), kind, text });
    }

    pub(crate) fn take(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.kept)
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
