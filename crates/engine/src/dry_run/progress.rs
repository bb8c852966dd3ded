//! How far a dry run is, for those who watch it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A step that is being sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StepUnderWay {
    /// What tables call it.
    pub name: String,
    /// Its place among those that are sent, from 1.
    pub number: usize,
    /// How many are sent if none fails.
    pub of: usize,
}

/// How far a dry run is. Its clones are about the same one.
#[derive(Debug, Clone, Default)]
pub struct DryRunProgress {
    step: Arc<Mutex<StepUnderWay>>,
}

impl DryRunProgress {
    /// The step that is being sent; none before the first.
    pub fn now(&self) -> Option<StepUnderWay> {
        Some(self.locked().clone()).filter(|step| step.number > 0)
    }

    pub(super) fn expect(&self, of: usize) {
        *self.locked() = StepUnderWay { of, ..StepUnderWay::default() };
    }

    pub(super) fn begin(&self, name: &str) {
        let mut step = self.locked();
        step.name = name.to_owned();
        step.number += 1;
        step.of = step.of.max(step.number);
    }

    fn locked(&self) -> MutexGuard<'_, StepUnderWay> {
        self.step.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
