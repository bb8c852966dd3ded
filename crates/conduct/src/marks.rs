//! Events that a user marks while a run goes on, so that its report shows when they happened: a deployment, a failover.
//! They divide nothing: phases, numbers and verdict are the same without them.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

use engine::Clock;
use evidence::{Instant, Notice, NoticeKind, Observed};

/// The most characters of a mark's text; further ones are cut.
pub const MAX_CHARACTERS: usize = 120;

/// The most marks of a run: a file stays small, and a chart legible, whatever posts them.
pub const MAX_MARKS: usize = 100;

/// Marks events of one run. Its clones mark events of the same run.
#[derive(Debug, Clone)]
pub struct Marker {
    clock: Clock,
    marks: Arc<Mutex<Marks>>,
}

#[derive(Debug)]
struct Marks {
    count: usize,
    /// None once the load is over.
    recorder: Option<Sender<Observed>>,
}

/// An event that was marked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark {
    /// When, by the run's clock.
    pub at: Instant,
    /// What its report will show.
    pub text: String,
}

impl Mark {
    /// Its time as reports show it: `1:45`.
    pub fn clock(&self) -> String {
        figures::number::clock(self.at.offset().as_secs())
    }
}

/// Why an event cannot be marked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MarkError {
    /// Nothing is recorded of the load any more.
    #[error("the load of this run is over")]
    Over,
    /// The run has as many marks as it can have.
    #[error("this run has {MAX_MARKS} marks already")]
    TooMany,
}

impl Marker {
    /// Marks events by `clock` for the recorder at the other end of `recorder`.
    pub(crate) fn new(clock: Clock, recorder: Sender<Observed>) -> Marker {
        let marks = Marks { count: 0, recorder: Some(recorder) };
        Marker { clock, marks: Arc::new(Mutex::new(marks)) }
    }

    /// Marks what `text` says as happening now. Blanks around and between words become one each; a mark without a text is
    /// named by its number.
    ///
    /// # Errors
    /// [`MarkError`] when the load is over, or the run has [`MAX_MARKS`] marks.
    pub fn mark(&self, text: &str) -> Result<Mark, MarkError> {
        let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        let recorder = marks.recorder.as_ref().ok_or(MarkError::Over)?;
        if marks.count == MAX_MARKS {
            return Err(MarkError::TooMany);
        }
        let mark = Mark { at: self.clock.now(), text: shortened(text, marks.count + 1) };
        let notice = Notice {
            at: mark.at,
            observer: "mark".to_owned(),
            instance: None,
            kind: NoticeKind::Mark,
            text: mark.text.clone(),
        };
        let observed = Observed { notices: vec![notice], ..Observed::default() };
        recorder.send(observed).map_err(|_| MarkError::Over)?;
        marks.count += 1;
        Ok(mark)
    }

    /// No event is marked from here on: what was marked before is recorded.
    pub(crate) fn close(&self) {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner).recorder = None;
    }
}

fn shortened(text: &str, number: usize) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.chars().count() {
        0 => format!("mark {number}"),
        1..=MAX_CHARACTERS => text,
        _ => text.chars().take(MAX_CHARACTERS - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_mark_is_short_numbered_where_it_has_no_text_and_not_taken_after_the_load() {
        let (sender, recorder) = channel();
        let marker = Marker::new(Clock::starting_in(Duration::ZERO), sender);
        let texts = ["  deployed\n v2\t", "", &"ü".repeat(121), &"ü".repeat(120)];
        let marked = texts.map(|text| marker.clone().mark(text).unwrap());
        let cut = "ü".repeat(119) + "…";
        assert_eq!(marked.clone().map(|mark| mark.text), ["deployed v2", "mark 2", &cut, &"ü".repeat(120)]);
        assert!(marked.iter().all(|mark| mark.clock() == "0:00"));
        marker.close();
        assert_eq!(marker.mark("late"), Err(MarkError::Over));
        let recorded: Vec<Mark> = recorder
            .try_iter()
            .flat_map(|observed| observed.notices)
            .map(|notice| Mark { at: notice.at, text: notice.text })
            .collect();
        assert_eq!(recorded, marked);
    }

    #[test]
    fn a_run_has_a_limited_number_of_marks() {
        let (sender, recorder) = channel();
        let marker = Marker::new(Clock::starting_in(Duration::ZERO), sender);
        assert!((0..MAX_MARKS).all(|_| marker.mark("again").is_ok()));
        assert_eq!(marker.mark("once more"), Err(MarkError::TooMany));
        assert_eq!(recorder.try_iter().count(), MAX_MARKS);
    }
}
