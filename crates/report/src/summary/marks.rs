//! Events that a user marked during the run.

use evidence::run::ReadError;
use evidence::{NoticeKind, Run};
use serde::Serialize;

/// An event that a user marked.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MarkedEvent {
    /// When, in seconds of the run.
    pub at_s: f64,
    pub text: String,
}

/// In order of time.
pub(super) fn of(run: &dyn Run) -> Result<Vec<MarkedEvent>, ReadError> {
    let marks = run.notices()?.into_iter().filter(|notice| notice.kind == NoticeKind::Mark);
    let mut marked: Vec<MarkedEvent> =
        marks.map(|mark| MarkedEvent { at_s: mark.at.offset().as_secs_f64(), text: mark.text }).collect();
    marked.sort_by(|a, b| a.at_s.total_cmp(&b.at_s));
    Ok(marked)
}
