//! What one kind of experiment is: which runs it makes, what they show, and how they are judged.

use std::path::Path;
use std::time::Duration;

use judge::Side;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use workload::{LoadedPlan, Redactor, Workload};

use super::slot::{MadeRun, SlotPlan};
use crate::failure::CommandResult;

/// One kind of experiment. The value is what the list on disk contains of it, with which its runs are judged again; what else
/// is needed to make them is its subject.
pub(crate) trait Design: Serialize + DeserializeOwned {
    /// What it is called.
    const TERMS: Terms;
    /// The end of one that was interrupted.
    const INTERRUPTED: Self::End;

    /// What its runs are made of.
    type Subject;
    /// Which of its runs one is.
    type Place: Place;
    /// The runs of a step, measured.
    type Step;
    /// Why there are no more.
    type End: Clone + Serialize + DeserializeOwned;
    /// What its steps say together.
    type Judgement: Clone + Serialize + DeserializeOwned;
    /// What is reported.
    type Summary;

    fn source(subject: &Self::Subject) -> Source<'_>;

    /// What makes two sessions the same experiment: everything but the time that it may take.
    fn definition(subject: &Self::Subject, workload: &Workload) -> serde_json::Result<String>;

    /// Say what it will take; a budget that is too short is refused before anything is started.
    fn announce(subject: &Self::Subject, workload: &Workload) -> CommandResult<()>;

    fn begin(subject: &Self::Subject, beginning: &Beginning<'_>) -> CommandResult<Self>;

    /// Take over what another session may ask for otherwise.
    fn resume(&mut self, subject: &Self::Subject);

    /// It may come from others: what is wrong with it or with a run's place, if anything is.
    fn check(&self, runs: &[RecordedRun<Self::Place>]) -> Result<(), String>;

    /// The runs of the next step.
    fn next(&self, subject: &Self::Subject, so_far: &SoFar<'_, Self::Step>) -> CommandResult<Next<Self>>;

    fn plan(&self, subject: &Self::Subject, place: &Self::Place) -> CommandResult<SlotPlan>;

    /// What the runs of a step show, after those `before` it.
    fn measure(
        &self,
        before: &[Self::Step],
        place: &Self::Place,
        sides: &[Side<'_>],
    ) -> CommandResult<Self::Step>;

    /// A step on one line.
    fn line(&self, step: &Self::Step) -> Option<String>;

    fn judge(&self, steps: &[Self::Step], end: Self::End) -> CommandResult<Self::Judgement>;

    /// The end of one that could not go on.
    fn broken(why: String) -> Self::End;

    fn left(&self, steps: &[Self::Step], end: &Self::End) -> Left;

    /// What is reported of one with this name and these steps.
    fn summary(
        &self,
        name: &str,
        steps: &[Vec<&RecordedRun<Self::Place>>],
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

/// Where a subject comes from.
pub(crate) struct Source<'a> {
    pub(crate) name: &'a str,
    /// Its plan.
    pub(crate) plan: &'a Path,
    /// The folder in which its commands run.
    pub(crate) folder: &'a Path,
}

/// What an experiment begins with.
pub(crate) struct Beginning<'a> {
    pub(crate) plan: &'a LoadedPlan,
    /// Takes secrets out of what is kept.
    pub(crate) redactor: Redactor,
    /// Loops that offer the load.
    pub(crate) loops: u16,
}

/// The place of a run.
pub(crate) trait Place: Serialize + DeserializeOwned {
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
pub(crate) enum Next<D: Design + ?Sized> {
    /// Runs at these places, one after the other.
    Make(Vec<D::Place>),
    /// Nothing: why.
    End(D::End),
    /// Not known: another version made the steps so far.
    Unknown,
}

/// What is left to be done after an end.
pub(crate) enum Left {
    Nothing,
    /// It can be resumed.
    More,
    /// It would end as it did; what is said of it.
    Same(&'static str),
}
