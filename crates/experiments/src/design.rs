//! The part of an experiment that differs by kind: which runs it makes, how they are measured and how they are judged.

use std::path::PathBuf;
use std::time::Duration;

use conduct::failure::{CommandResult, Failure};
use conduct::manifest::sha256_hex;
use evidence::ExperimentEnd;
use judge::Side;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use workload::{LoadedPlan, Redactor};

use crate::slot::{MadeRun, SlotPlan};

/// One kind of experiment. The value is stored in the list of runs, and suffices to judge these again; making more of them also
/// needs the subject.
pub trait Design: Serialize + DeserializeOwned {
    /// The words for it.
    const TERMS: Terms;
    /// What it needs to make runs.
    type Subject;
    /// The position of a run among its runs.
    type RunPlace: RunPlace;
    /// The measurements of one step.
    type Step;
    /// The judgement on all steps.
    type Judgement: Clone + Serialize + DeserializeOwned;
    /// The content of its reports.
    type Summary;

    /// One that begins, with so many loops.
    fn begin(prepared: &Prepared<Self::Subject>, redactor: &Redactor, loops: u16) -> CommandResult<Self>;

    /// Takes the settings that may differ from those of the session before, such as the budget.
    fn resume(&mut self, subject: &Self::Subject);

    /// Checks a list that was read from disk and may be malformed; the error says what is wrong.
    fn check(&self, _runs: &[RecordedRun<Self::RunPlace>]) -> Result<(), String> {
        Ok(())
    }

    /// The runs of the next step.
    fn next(&self, subject: &Self::Subject, so_far: &SoFar<'_, Self::Step>) -> CommandResult<Next<Self>>;

    fn plan(&self, subject: &Self::Subject, place: &Self::RunPlace) -> CommandResult<SlotPlan>;

    /// Measures the runs of a step, `first` among them, which follows the steps `before` it.
    fn measure(
        &self,
        before: &[Self::Step],
        first: &RecordedRun<Self::RunPlace>,
        sides: &[Side<'_>],
    ) -> CommandResult<Self::Step>;

    fn step_line(&self, step: &Self::Step) -> Option<String>;

    /// The last judgement, on these steps, of a session that ended for this reason.
    fn judge(&self, steps: &[Self::Step], end: ExperimentEnd) -> CommandResult<Self::Judgement>;

    /// What can follow this end.
    fn left(&self, steps: &[Self::Step], end: &ExperimentEnd) -> Remaining;

    /// The content of the reports of an experiment with this name and these steps.
    fn summary(
        &self,
        name: &str,
        steps: &[Vec<&RecordedRun<Self::RunPlace>>],
        judgement: Self::Judgement,
    ) -> Self::Summary;
}

/// The words for a kind of experiment.
pub struct Terms {
    /// The kind in its list, and the extension of its folder.
    pub kind: &'static str,
    /// The kind with its article: "a capacity search".
    pub what: &'static str,
    /// The kind in one word.
    pub noun: &'static str,
    /// Its steps, in the plural.
    pub steps: &'static str,
    /// How many runs a step has.
    pub runs_a_step: usize,
    /// Everything that must not change between sessions, as a list in words.
    pub parts: &'static str,
}

/// An experiment before its first run.
pub struct Prepared<S> {
    pub name: String,
    /// The folder in which its commands run.
    pub folder: PathBuf,
    /// What is offered.
    pub plan: LoadedPlan,
    /// A digest of what makes two sessions the same experiment: everything but the time that it may take.
    pub definition: String,
    /// What its runs are made of.
    pub subject: S,
}

/// A digest of what an experiment is made of.
pub(crate) fn definition(parts: &impl Serialize) -> CommandResult<String> {
    let text = serde_json::to_string(parts).map_err(Failure::own)?;
    Ok(sha256_hex(text.as_bytes()))
}

pub trait RunPlace: Serialize + DeserializeOwned {
    /// Its step, from 1.
    fn step(&self) -> u32;
    /// Which of the step's runs it is, from 0.
    fn side(&self) -> usize;
}

/// One run of the list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RecordedRun<P> {
    #[serde(flatten)]
    pub place: P,
    #[serde(flatten)]
    /// Its file.
    pub made: MadeRun,
    /// Why it was made again, once for each time; of runs at the same moment.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repeated: Vec<String>,
}

/// The steps made so far, and their time.
pub struct SoFar<'a, S> {
    /// The steps, measured.
    pub steps: &'a [S],
    /// Time since this session began.
    pub elapsed: Duration,
    /// How long the last step of this session took.
    pub took: Option<Duration>,
}

/// The runs of a step, by their places.
pub enum Runs<D: Design> {
    /// One after the other.
    InTurn(Vec<D::RunPlace>),
    /// At the same moment; the first is started first.
    Together([D::RunPlace; 2]),
}

pub enum Next<D: Design> {
    Make(Runs<D>),
    /// Nothing: why.
    End(ExperimentEnd),
    /// Unknown: a version with another order of runs made the steps so far.
    Unknown,
}

/// What can follow the end of a session.
pub enum Remaining {
    Nothing,
    /// It can be resumed.
    More,
    /// Resumed, it would end in the same way; the sentence that says so.
    Same(&'static str),
}
