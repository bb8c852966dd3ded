//! Violations of several objectives together.

use evidence::Verdict;
use workload::{Objective, Workload};

use super::Measurement;
use crate::shares::{ShareAnswer, ShareQuestion};

/// The confidence of all violations together in a run that is judged `family` by the plan: several looks share what it may
/// be wrong (Bonferroni, since Pocock's constants are for one objective).
pub(crate) fn family_confidence(workload: &Workload, family: f64) -> f64 {
    let looks = workload.until_decided.as_ref().map_or(1, |until| until.looks.len() + 1);
    1.0 - (1.0 - family) / looks as f64
}

/// An objective that a limit decides.
pub(crate) struct Tested<'m> {
    pub(crate) objective: &'m Objective,
    pub(crate) observed: &'m mut Measurement,
}

/// Corrects violations for the number of objectives, so that none of them is wrong at the confidence `family`: S. Holm, "A
/// simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6, 1979. Those that allow
/// nothing are about this run alone, and need no correction.
pub(crate) fn correct_violations(objectives: Vec<Tested<'_>>, family: f64) {
    let mut open: Vec<Tested<'_>> = objectives.into_iter().filter(Tested::is_test).collect();
    while !open.is_empty() {
        let confidence = 1.0 - (1.0 - family) / open.len() as f64;
        let before = open.len();
        open.retain_mut(|tested| !tested.is_violated_at(confidence));
        if open.len() == before {
            break;
        }
    }
    let confidence = 1.0 - (1.0 - family) / open.len().max(1) as f64;
    open.iter_mut().filter(|tested| tested.is_violated()).for_each(|tested| tested.decide_at(confidence));
}

impl Tested<'_> {
    fn is_test(&self) -> bool {
        self.observed.rate.is_some()
            || self.observed.share.as_ref().is_some_and(|share| share.question.allowed > 0.0)
    }

    fn is_violated(&self) -> bool {
        let by_share =
            self.observed.share.as_ref().is_some_and(|share| share.decision.answer == ShareAnswer::Fail);
        let by_rate =
            self.observed.rate.as_ref().is_some_and(|rate| rate.verdict(self.objective) == Verdict::Fail);
        by_share || by_rate
    }

    fn decide_at(&mut self, confidence: f64) {
        if let Some(share) = &mut self.observed.share {
            share.question = ShareQuestion { confidence, ..share.question.clone() };
            share.decision = share.question.decide();
        }
        if let Some(rate) = &mut self.observed.rate {
            *rate = rate.at(confidence);
        }
    }

    /// Decides a violation at this confidence, and keeps the decision if it is one.
    fn is_violated_at(&mut self, confidence: f64) -> bool {
        let before = (self.observed.share.clone(), self.observed.rate.clone());
        self.decide_at(confidence);
        let is_violated = self.is_violated();
        if !is_violated {
            (self.observed.share, self.observed.rate) = before;
        }
        is_violated
    }
}
