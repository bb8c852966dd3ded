//! An observer's notices, bounded in number.

use evidence::{Instant, Notice, NoticeKind};

/// Notices that are kept of one observer in a run; later ones are dropped, and the last one says so.
pub(crate) const NOTICES_LIMIT: usize = 100;
/// Bytes of a notice that are kept: a server may answer with an error of any length.
pub(crate) const LONGEST_NOTICE: usize = 1_000;

/// Where a text was cut. Who redacts it later finds by it a secret of which only the beginning is left.
pub(crate) const CUT: char = '…';

/// A text that a server sent; of a longer one its beginning and [`CUT`], at most so many bytes.
pub(crate) fn shortened(text: &str, most_bytes: usize) -> String {
    if text.len() <= most_bytes {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(most_bytes.saturating_sub(CUT.len_utf8()));
    format!("{}{CUT}", &text[..end])
}

/// An observer's notices, bounded.
#[derive(Debug)]
pub(crate) struct Notices {
    observer: String,
    kept: Vec<Notice>,
    added: usize,
}

impl Notices {
    pub(crate) fn new(observer: &str) -> Self {
        Notices { observer: observer.to_owned(), kept: Vec::new(), added: 0 }
    }

    pub(crate) fn add(&mut self, at: Instant, kind: NoticeKind, text: String) {
        let text = shortened(&text, LONGEST_NOTICE);
        let text = match self.added {
            NOTICES_LIMIT.. => return,
            count if count + 1 == NOTICES_LIMIT => format!("{text}; further notices are not kept"),
            _ => text,
        };
        self.added += 1;
        self.kept.push(Notice { at, observer: self.observer.clone(), instance: None, kind, text });
    }

    pub(crate) fn take(&mut self) -> Vec<Notice> {
        std::mem::take(&mut self.kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_notices_are_cut() {
        let mut notices = Notices::new("x");
        notices.add(Instant::EPOCH, NoticeKind::Gone, "ü".repeat(5_000));
        assert_eq!(notices.take()[0].text, format!("{}…", "ü".repeat(498)));
        assert_eq!((shortened("aüüü", 6).as_str(), shortened("aüüü", 7).as_str()), ("aü…", "aüüü"));
    }

    #[test]
    fn notices_of_a_flapping_process_are_bounded() {
        let mut notices = Notices::new("x");
        for second in 0..1000 {
            notices.add(Instant::from_nanos(second), NoticeKind::Gone, "gone".to_owned());
        }
        let taken = notices.take();
        assert_eq!(taken.len(), NOTICES_LIMIT);
        assert_eq!(taken[98].text, "gone");
        assert_eq!(taken[99].text, "gone; further notices are not kept");
        assert!(notices.take().is_empty());
    }
}
