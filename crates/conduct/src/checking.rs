//! What is shown while the check before the load is made: the step that is being sent.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use engine::{DryRunProgress, StepUnderWay};
use evidence::TerminalText;

use crate::run_request::Progress;
use crate::screen::{self, Stream};

/// A check is shown once it has taken so long, and drawn again as often.
const DRAW_EVERY: Duration = Duration::from_millis(100);
/// Where no line can be drawn over itself, the first is written after so long, and a further one each time.
const WRITE_EVERY: Duration = Duration::from_secs(1);

/// Calls `check`, and shows how far it is meanwhile.
pub(crate) fn shown<T>(progress: Progress, steps: DryRunProgress, check: impl FnOnce() -> T) -> T {
    if progress == Progress::Quiet {
        return check();
    }
    let is_drawn = screen::is_drawable();
    thread::scope(|scope| {
        let (checking, ended) = channel::<()>();
        let show = move || {
            let every = if is_drawn { DRAW_EVERY } else { WRITE_EVERY };
            while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                let Some(step) = steps.now() else { continue };
                // A failure to show it is none of the check.
                let _ = match is_drawn {
                    true => screen::draw(TerminalText::default().line(fit(&step, Stream::Error.width()))),
                    false => screen::print(TerminalText::default().line(in_words(&step))),
                };
            }
        };
        // Without the thread nothing is shown.
        let shower = thread::Builder::new().name("checking".to_owned()).spawn_scoped(scope, show);
        let checked = check();
        drop(checking);
        if shower.is_ok_and(|shower| shower.join().is_ok()) && is_drawn {
            let _ = screen::print(&TerminalText::default());
        }
        checked
    })
}

/// `checking before the load: list (3 of 5)`.
fn in_words(step: &StepUnderWay) -> String {
    let StepUnderWay { name, number, of } = step;
    format!("checking before the load: {name} ({number} of {of})")
}

/// The same in so many columns, with its numbers.
fn fit(step: &StepUnderWay, columns: usize) -> String {
    let whole = in_words(step).chars().count();
    let excess = whole.saturating_sub(columns.saturating_sub(1));
    let kept = step.name.chars().count().saturating_sub(excess + 1);
    match excess {
        0 => in_words(step),
        _ => {
            let name = step.name.chars().take(kept).chain(['…']).collect();
            in_words(&StepUnderWay { name, ..step.clone() })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_cut_and_the_numbers_stay() {
        let step = |name: &str| StepUnderWay { name: name.to_owned(), number: 3, of: 5 };
        assert_eq!(fit(&step("list"), 80), "checking before the load: list (3 of 5)");
        let cut = fit(&step(&"x".repeat(100)), 60);
        assert_eq!((cut.chars().count(), cut.ends_with("x… (3 of 5)")), (59, true), "{cut}");
    }
}
