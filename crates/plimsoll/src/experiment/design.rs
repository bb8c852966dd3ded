//! What one kind of experiment is: which runs it makes, what they show, and how they are judged.

use std::path::PathBuf;
use std::time::Duration;

use evidence::ExperimentEnd;
use judge::Side;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use workload::{LoadedPlan, Redactor};

use super::slot::{MadeRun, SlotPlan};
use crate::failure::{CommandResult, Failure};
use crate::manifest::sha256_hex;

/// One kind of experiment. The value is what the list on disk contains of it, with which its runs are judged again; what else
/// is needed to make them is its subject.
pub(crate) trait Design: Serialize + DeserializeOwned {
    /// What it is called.
    const TERMS: Terms;
    /// What its runs are made of.
    type Subject;
    /// Which of its runs one is.
    type RunPlace: RunPlace;
    /// The runs of a step, measured.
    type Step;
    /// What its steps say together.
    type Judgement: Clone + Serialize + DeserializeOwned;
    /// What is reported.
    type Summary;

    fn begin(prepared: &Prepared<Self::Subject>, redactor: &Redactor, loops: u16) -> CommandResult<Self>;

    /// Take over what another session may ask for otherwise.
    fn resume(&mut self, subject: &Self::Subject);

    /// It may come from others: what is wrong with it or with a run's place, if anything is.
    fn check(&self, _runs: &[RecordedRun<Self::RunPlace>]) -> Result<(), String> {
        Ok(())
    }

    /// The runs of the next step.
    fn next(&self, subject: &Self::Subject, so_far: &SoFar<'_, Self::Step>) -> CommandResult<Next<Self>>;

    fn plan(&self, subject: &Self::Subject, place: &Self::RunPlace) -> CommandResult<SlotPlan>;

    /// What the runs of a step show, after those `before` it.
    fn measure(
        &self,
        before: &[Self::Step],
        place: &Self::RunPlace,
        sides: &[Side<'_>],
    ) -> CommandResult<Self::Step>;

    /// A step on one line.
    fn line(&self, step: &Self::Step) -> Option<String>;

    fn judge(&self, steps: &[Self::Step], end: ExperimentEnd) -> CommandResult<Self::Judgement>;

    fn left(&self, steps: &[Self::Step], end: &ExperimentEnd) -> Remaining;

    /// What is reported of one with this name and these steps.
    fn summary(
        &self,
        name: &str,
        steps: &[Vec<&RecordedRun<Self::RunPlace>>],
        judgement: Self::Judgement,
    ) -> Self::Summary;
}

/// What a kind of experiment is called.
pub(crate) struct Terms {
    /// The kind in its list, and the extension of its folder.
    pub(crate) kind: &'static str,
    /// What the list is of.
    pub(crate) what: &'static str,
    /// The same in one word.
    pub(crate) noun: &'static str,
    /// Its steps.
    pub(crate) steps: &'static str,
    /// How many runs a step has.
    pub(crate) runs_a_step: usize,
    /// What it is made of.
    pub(crate) parts: &'static str,
}

/// An experiment before its first run.
pub(crate) struct Prepared<S> {
    pub(crate) name: String,
    /// The folder in which its commands run.
    pub(crate) folder: PathBuf,
    /// What is offered.
    pub(crate) plan: LoadedPlan,
    /// A digest of what makes two sessions the same experiment: everything but the time that it may take.
    pub(crate) definition: String,
    pub(crate) subject: S,
}

/// A digest of what an experiment is made of.
pub(crate) fn definition(parts: &impl Serialize) -> CommandResult<String> {
    let text = serde_json::to_string(parts).map_err(Failure::own)?;
    Ok(sha256_hex(text.as_bytes()))
}

/// The place of a run.
pub(crate) trait RunPlace: Serialize + DeserializeOwned {
    /// Its step, from 1.
    fn step(&self) -> u32;
    /// Which of the step's runs it is, from 0.
    fn side(&self) -> usize;
}

/// One run of the list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct RecordedRun<P> {
    #[serde(flatten)]
    pub(crate) place: P,
    #[serde(flatten)]
    pub(crate) made: MadeRun,
}

/// What was made so far.
pub(crate) struct SoFar<'a, S> {
    pub(crate) steps: &'a [S],
    /// In this session.
    pub(crate) elapsed: Duration,
    /// What the last step of this session took.
    pub(crate) took: Option<Duration>,
}

/// What comes next.
pub(crate) enum Next<D: Design> {
    /// Runs at these places, one after the other.
    Make(Vec<D::RunPlace>),
    /// Nothing: why.
    End(ExperimentEnd),
    /// Not known: another version made the steps so far.
    Unknown,
}

/// What is left to be done after an end.
pub(crate) enum Remaining {
    Nothing,
    /// It can be resumed.
    More,
    /// It would end as it did; what is said of it.
    Same(&'static str),
}
