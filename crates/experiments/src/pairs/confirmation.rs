//! Pairs in turn that confirm what pairs at the same moment do not show: how many, and when they end.

use evidence::{ExperimentEnd, ExperimentJudgement};
use judge::experiment::{Confirmation, Futility, JudgedPair, Rulebook, can_be_confirmed, judge_experiment};

use super::{Pairs, show_look};

/// The pairs at the same moment, and those in turn that follow them.
pub(super) fn parts(pairs: &[JudgedPair]) -> (&[JudgedPair], &[JudgedPair]) {
    pairs.split_at(pairs.iter().take_while(|pair| pair.share_of_b.is_some()).count())
}

/// Whether nothing can be added to the first part.
fn is_complete(end: &ExperimentEnd) -> bool {
    matches!(end, ExperimentEnd::Decided | ExperimentEnd::LastLook | ExperimentEnd::Futile)
}

impl Pairs {
    /// Whether pairs in turn are appended.
    pub(super) fn is_confirmed(&self) -> bool {
        self.design.together.as_ref().is_some_and(|together| together.confirm)
    }

    /// The judgement on pairs that ended so; of both parts, where there are two or there should be.
    pub(super) fn judge_parts(
        &self,
        rules: &Rulebook<'_>,
        pairs: &[JudgedPair],
        end: ExperimentEnd,
    ) -> ExperimentJudgement {
        let (together, in_turn) = parts(pairs);
        if !self.is_confirmed() {
            return judge_experiment(rules, pairs, end);
        }
        let first_end = self.end_of_looks(rules, together).filter(is_complete);
        let first = judge_experiment(rules, together, first_end.clone().unwrap_or_else(|| end.clone()));
        match can_be_confirmed(&first) {
            true => Confirmation::judge(rules, &first, in_turn, end).joined(rules, first),
            false => first,
        }
    }

    /// The number of the next pair among those in turn that confirm the others, from 1, where one more pair shall follow `pairs`; none
    /// where the next pair is another one.
    pub(super) fn confirming(&self, rules: &Rulebook<'_>, pairs: &[JudgedPair]) -> Option<u32> {
        let (together, in_turn) = parts(pairs);
        let is_its = self.is_confirmed() && self.end_of_looks(rules, together).is_some();
        is_its.then(|| in_turn.len() as u32 + 1)
    }

    /// How many pairs in turn there are, where another one shall follow; else why none does.
    pub(super) fn next_confirming(
        &self,
        rules: &Rulebook<'_>,
        pairs: &[JudgedPair],
        end: ExperimentEnd,
    ) -> Result<u32, ExperimentEnd> {
        let (together, in_turn) = parts(pairs);
        let first = judge_experiment(rules, together, end.clone());
        if !is_complete(&end) || !can_be_confirmed(&first) {
            return Err(end);
        }
        let (made, looks) = (in_turn.len() as u32, rules.looks);
        if looks.at().contains(&made) {
            let so_far = Confirmation::judge(rules, &first, in_turn, ExperimentEnd::Decided);
            show_look(made, so_far.metrics());
            if so_far.is_decided(&first) {
                return Err(ExperimentEnd::Decided);
            }
            if made < looks.last() && so_far.futility(rules, &first) == Futility::Futile {
                return Err(ExperimentEnd::Futile);
            }
        }
        if made >= looks.last() { Err(ExperimentEnd::LastLook) } else { Ok(made) }
    }

    /// Why no other pair follows by looks alone; none if one may.
    pub(super) fn end_of_looks(&self, rules: &Rulebook<'_>, pairs: &[JudgedPair]) -> Option<ExperimentEnd> {
        let (made, looks) = (pairs.len() as u32, rules.looks);
        if looks.at().contains(&made) {
            let judgement = judge_experiment(rules, pairs, ExperimentEnd::Decided);
            if judgement.verdict != evidence::Verdict::Inconclusive {
                return Some(ExperimentEnd::Decided);
            }
            if made < looks.last()
                && judge::experiment::futility(rules, &judgement.metrics) == Futility::Futile
            {
                return Some(ExperimentEnd::Futile);
            }
        }
        (made >= looks.last()).then_some(ExperimentEnd::LastLook)
    }
}
