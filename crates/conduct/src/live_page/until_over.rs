//! A run whose evidence can be read until its load is over: nothing that reads it keeps its file from being sealed for longer than
//! one question to it takes. Only its complete seconds are there.

use std::sync::atomic::{AtomicBool, Ordering};

use evidence::Run;
use evidence::run::{Excerpt, ReadError};

pub(super) fn until_over<'a>(run: &'a dyn Run, is_over: &'a AtomicBool, complete: u32) -> impl Run + 'a {
    let run = Excerpt::new(run, |_, window| match is_over.load(Ordering::Relaxed) {
        false => Ok(window),
        true => Err(ReadError("its load is over".to_owned())),
    });
    run.of_first(complete)
}

#[cfg(test)]
mod tests {
    use evidence::memory::MemoryRun;
    use evidence::{Key, Manifest, Metric};

    use super::*;

    #[test]
    fn a_run_that_is_over_answers_no_further_question() {
        let mut memory = MemoryRun::new(Manifest::named("demo"));
        memory.add(&Key::of(Metric::Requests), 3, 7);
        let is_over = AtomicBool::new(false);
        let run = until_over(&memory, &is_over, u32::MAX);
        let key = run.keys()[0].0;
        assert_eq!(run.total(key).unwrap(), 7);
        is_over.store(true, Ordering::Relaxed);
        assert!(run.total(key).is_err() && run.notices().is_err() && run.histogram(key, 0..4).is_err());
        assert_eq!(run.seconds(), 4);
    }
}
