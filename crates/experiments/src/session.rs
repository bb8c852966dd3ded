//! An experiment while it is made: step after step, until there is a reason to make no more.

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::anyhow;
use conduct::clock;
use conduct::failure::{CommandResult, Failure};
use conduct::run_request::Progress;
use conduct::screen::note;
use conduct::signals::Listener;
use evidence::ExperimentEnd;
use workload::Redactor;

use crate::arm::NotBegun;
use crate::design::{Design, Next, Prepared, RecordedRun, Remaining, RunPlace as _, Runs, SoFar};
use crate::record::Record;
use crate::slot::{RunMaker, TogetherMade};

/// What a run takes besides its load, before any was made.
pub(crate) const OVERHEAD: Duration = Duration::from_secs(2);

/// How the runs of an experiment are made and kept.
#[derive(Debug)]
pub struct SessionOptions {
    /// The folder to go on with.
    pub resume: Option<PathBuf>,
    /// The folder for the runs; none: by name and time.
    pub folder: Option<PathBuf>,
    /// How many loops offer the load of each.
    pub loops: u16,
    /// Whether the progress of each is drawn.
    pub progress: Progress,
}

/// That an arm could not be made ready in the first step; why.
#[derive(Debug)]
pub struct NotReady(String);

impl fmt::Display for NotReady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for NotReady {}

/// An experiment that was made.
pub struct Made<D: Design> {
    /// Where its runs are.
    pub(crate) folder: PathBuf,
    /// The list of them.
    pub(crate) record: Record<D>,
    /// Its steps, measured.
    pub steps: Vec<D::Step>,
    /// What they show.
    pub judgement: D::Judgement,
    /// What the last step of this session took; none where there was none.
    pub(crate) took: Option<Duration>,
}

impl<D: Design> Made<D> {
    pub fn summary(&self) -> D::Summary {
        self.record.summary(self.judgement.clone())
    }
}

/// An experiment under way.
struct Session<'a, D: Design> {
    prepared: &'a Prepared<D::Subject>,
    options: &'a SessionOptions,
    listener: &'a Listener,
    folder: PathBuf,
    record: Record<D>,
    steps: Vec<D::Step>,
    began: Instant,
    took: Option<Duration>,
}

/// Make the experiment, or what is left of it, and judge it.
pub fn run<D: Design>(
    listener: &Listener,
    prepared: &Prepared<D::Subject>,
    options: &SessionOptions,
) -> CommandResult<Made<D>> {
    let (folder, record) = match &options.resume {
        Some(folder) => (folder.clone(), resumed(folder, prepared)?),
        None => begun(prepared, options)?,
    };
    listener.between_slots();
    let (steps, began) = (Vec::new(), Instant::now());
    let mut session = Session { prepared, options, listener, folder, record, steps, began, took: None };
    session.read_steps()?;
    let end = session.go_on()?;
    session.end(end)
}

fn begun<D: Design>(
    prepared: &Prepared<D::Subject>,
    options: &SessionOptions,
) -> CommandResult<(PathBuf, Record<D>)> {
    let redactor = Redactor::new(&prepared.plan.workload, &prepared.plan.env);
    let design = D::begin(prepared, &redactor, options.loops)?;
    let record =
        Record::begun(design, &prepared.name, &clock::rfc3339(clock::now()), prepared.definition.clone());
    let folder = record.make_folder(options.folder.as_deref())?;
    record.write(&folder)?;
    Ok((folder, record))
}

fn resumed<D: Design>(folder: &Path, prepared: &Prepared<D::Subject>) -> CommandResult<Record<D>> {
    let mut record: Record<D> = Record::read(folder)?;
    if record.definition != prepared.definition {
        return Err(Failure::usage(anyhow!(
            "{}: {} have changed since it began; begin another {}",
            folder.display(),
            D::TERMS.parts,
            D::TERMS.noun
        )));
    }
    record.drop_incomplete();
    record.end = None;
    record.design.resume(&prepared.subject);
    note(format_args!("resumed with {} {}", record.steps().len(), D::TERMS.steps));
    Ok(record)
}

impl<D: Design> Session<'_, D> {
    /// Measure the steps that are there.
    fn read_steps(&mut self) -> CommandResult<()> {
        for runs in self.record.steps() {
            let step = self.record.measured_in(&self.folder, &self.steps, &runs)?;
            self.steps.push(step);
        }
        Ok(())
    }

    /// Make steps until there is a reason to make no more.
    fn go_on(&mut self) -> CommandResult<ExperimentEnd> {
        loop {
            if self.listener.interrupted() {
                return Ok(ExperimentEnd::Interrupted);
            }
            let so_far = SoFar { steps: &self.steps, elapsed: self.began.elapsed(), took: self.took };
            let runs = match self.record.design.next(&self.prepared.subject, &so_far)? {
                Next::Make(runs) => runs,
                Next::End(end) => return Ok(end),
                Next::Unknown => {
                    return Err(Failure::usage(anyhow!(
                        "the {} of {} were planned by another version; begin another {}",
                        D::TERMS.steps,
                        self.folder.display(),
                        D::TERMS.noun
                    )));
                }
            };
            let began = Instant::now();
            match self.make(runs) {
                Ok(()) => self.took = Some(began.elapsed()),
                Err(NotBegun::Interrupted) => return Ok(ExperimentEnd::Interrupted),
                Err(NotBegun::NotReady(why)) if self.steps.is_empty() => {
                    return Err(Failure::usage(NotReady(why)));
                }
                Err(NotBegun::NotReady(why)) => return Ok(ExperimentEnd::Broken(why)),
                Err(NotBegun::Failed(failure)) => {
                    note_kept(&self.folder);
                    return Err(failure);
                }
            }
        }
    }

    /// Make the runs of a step, and measure them.
    fn make(&mut self, runs: Runs<D>) -> Result<(), NotBegun> {
        let first = self.record.runs.len();
        let maker = RunMaker {
            commands_in: &self.prepared.folder,
            folder: &self.folder,
            loops: self.options.loops,
            progress: self.options.progress,
            listener: self.listener,
        };
        let planned = |place: &D::RunPlace| self.record.design.plan(&self.prepared.subject, place);
        match runs {
            Runs::InTurn(places) => {
                for place in places {
                    let plan = self.record.design.plan(&self.prepared.subject, &place)?;
                    note(&plan.title);
                    let made = maker.make(&plan)?;
                    self.record.runs.push(RecordedRun { place, made, repeated: Vec::new() });
                    self.record.write(&self.folder)?;
                }
            }
            Runs::Together([one, other]) => {
                let plans = [planned(&one)?, planned(&other)?];
                note(&plans[0].title);
                let TogetherMade { runs: [of_one, of_other], repeated } =
                    maker.make_together([&plans[0], &plans[1]])?;
                let again = repeated.clone();
                self.record.runs.push(RecordedRun { place: one, made: of_one, repeated });
                self.record.runs.push(RecordedRun { place: other, made: of_other, repeated: again });
                self.record.write(&self.folder)?;
            }
        }
        let mut runs: Vec<_> = self.record.runs[first..].iter().collect();
        runs.sort_by_key(|run| run.place.side());
        let step = self.record.measured_in(&self.folder, &self.steps, &runs)?;
        if let Some(line) = self.record.design.step_line(&step) {
            note(line);
        }
        self.steps.push(step);
        Ok(())
    }

    fn end(mut self, end: ExperimentEnd) -> CommandResult<Made<D>> {
        let judgement = self.record.design.judge(&self.steps, end.clone())?;
        let left = self.record.design.left(&self.steps, &end);
        self.record.end = Some(end);
        self.record.judgement = Some(judgement.clone());
        self.record.write(&self.folder)?;
        let folder = self.folder.display();
        match left {
            Remaining::Nothing => note(format_args!("the runs are in {folder}")),
            Remaining::More => note_kept(&self.folder),
            Remaining::Same(why) => note(format_args!("the runs are in {folder}; {why}")),
        }
        let Session { folder, record, steps, took, .. } = self;
        Ok(Made { folder, record, steps, judgement, took })
    }
}

/// Say where the runs are of what did not come to its end.
fn note_kept(folder: &Path) {
    let folder = folder.display();
    note(format_args!("the runs are in {folder}; go on with `--resume {folder}`"));
}
