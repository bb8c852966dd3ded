//! Follows a run in a cluster until its file can be fetched. The cluster is asked again and again; nothing depends on a
//! connection, so that a laptop may sleep meanwhile.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use cluster::kubernetes::{Pod, PodState, Snapshot, refusal};
use conduct::failure::{CommandResult, Failure};
use conduct::run_request::Progress;
use conduct::screen::{self, note};
use engine::{Command, Control};
use evidence::{TerminalText, visible};

use crate::kubectl::Kubectl;
use crate::log::{self, RunFileLine};
use crate::progress::{Shown, last_lines, state};

const ASKED_EVERY: Duration = Duration::from_secs(2);
/// How often it is looked whether a signal came.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// How long an obstacle that does not go away by itself is waited for: a registry may fail once.
const OBSTACLE_LIMIT: Duration = Duration::from_secs(45);

/// How long pods are waited for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Patience {
    /// Until all have started.
    Limited(Duration),
    /// As long as there is a Job.
    Unlimited,
}

/// A run in a cluster.
pub(crate) struct Follower<'a> {
    pub(crate) kubectl: &'a Kubectl,
    pub(crate) job: &'a str,
    pub(crate) pods: u16,
    pub(crate) progress: Progress,
    pub(crate) patience: Patience,
    /// By what the run is stopped.
    pub(crate) control: Option<&'a Control>,
}

/// A run whose file can be fetched.
#[derive(Debug, Clone)]
pub(crate) struct Followed {
    /// The pod with the file.
    pub(crate) pod: String,
    /// The file's digest and size.
    pub(crate) file: RunFileLine,
    /// The exit code of the run.
    pub(crate) exit: u8,
}

/// What has happened so far.
struct SoFar {
    began: Instant,
    shown: Shown,
    /// Whether all pods have run: what happens to them later is in its report.
    has_started: bool,
    /// Since when an obstacle is there that does not go away.
    obstacle_since: Option<Instant>,
    is_interrupted: bool,
}

impl Follower<'_> {
    /// Wait until the run has ended and its file can be fetched.
    pub(crate) fn to_the_end(&self) -> CommandResult<Followed> {
        let mut so_far = SoFar {
            began: Instant::now(),
            shown: Shown::nothing(self.progress),
            has_started: false,
            obstacle_since: None,
            is_interrupted: false,
        };
        loop {
            match self.kubectl.job_and_pods(self.job) {
                Ok(list) => {
                    if let Some(followed) = self.look(&Snapshot::from_list(&list), &mut so_far)? {
                        return Ok(followed);
                    }
                }
                // The network of this machine, more often than the cluster.
                Err(error) => so_far.shown.no_answer(&error),
            }
            self.wait()?;
        }
    }

    /// Until the cluster is asked again, or a signal came.
    fn wait(&self) -> CommandResult<()> {
        let until = Instant::now() + ASKED_EVERY;
        let before = self.control.map(Control::command);
        while Instant::now() < until {
            let now = self.control.map(Control::command);
            if now == Some(Command::Abandon) {
                return Err(Failure::own(anyhow!(
                    "the run {} was ended at once; nothing of it was fetched",
                    self.job
                )));
            }
            if now != before {
                return Ok(());
            }
            thread::sleep(LOOK_INTERVAL);
        }
        Ok(())
    }

    fn look(&self, snapshot: &Snapshot, so_far: &mut SoFar) -> CommandResult<Option<Followed>> {
        let refused = match snapshot.pods.len() < usize::from(self.pods) {
            true => self.kubectl.events_of(self.job).ok().and_then(|events| refusal(&events)),
            false => None,
        };
        so_far.shown.pods(snapshot, self.pods, refused.as_deref());
        if let Some(pod) = snapshot.coordinator().filter(|pod| !matches!(pod.state, PodState::Waiting(_))) {
            let log = match self.kubectl.log(&pod.name) {
                Ok(log) => log,
                Err(error) => {
                    so_far.shown.no_answer(&error);
                    return Ok(None);
                }
            };
            let (lines, file) = log::read(&log);
            so_far.shown.log(&lines);
            if let Some(file) = file {
                return self.can_be_fetched(pod, file).map(Some);
            }
            self.still_runs(pod, &log)?;
        }
        if !snapshot.has_job {
            return Err(Failure::own(anyhow!(
                "the Job {} was deleted by another user; nothing of it was fetched",
                self.job
            )));
        }
        if let Some(why) = &snapshot.failed {
            let why = visible(why).into_owned();
            return Err(Failure::own(anyhow!("Kubernetes has given the Job {} up: {why}", self.job)));
        }
        self.interrupt(snapshot, so_far)?;
        self.require_start(snapshot, so_far, refused.as_deref())?;
        Ok(None)
    }

    fn can_be_fetched(&self, pod: &Pod, file: RunFileLine) -> CommandResult<Followed> {
        match pod.state {
            PodState::Ended(_) => Err(Failure::own(anyhow!(
                "the run {} has ended, and its file was not fetched within the time that it was kept",
                self.job
            ))),
            _ => Ok(Followed { pod: pod.name.clone(), exit: file.exit, file }),
        }
    }

    /// A coordinator that has ended without a file says why.
    fn still_runs(&self, pod: &Pod, log: &str) -> CommandResult<()> {
        let PodState::Ended(code) = pod.state else { return Ok(()) };
        let mut text = TerminalText::default();
        text.line(format_args!("the last lines of {}:", visible(&pod.name)));
        text.quote("  ", &last_lines(log));
        // The reason is in the message as well.
        let _ = screen::print(&text);
        let code_text = code.map_or("an unknown exit code".to_owned(), |code| format!("exit code {code}"));
        let error = anyhow!("the run {} ended with {code_text} and left no file", self.job);
        // Its own exit codes mean here what they mean there.
        Err(if code == Some(2) { Failure::usage(error) } else { Failure::own(error) })
    }

    /// The first signal drains the run, as it does here; before the load there is nothing to drain.
    fn interrupt(&self, snapshot: &Snapshot, so_far: &mut SoFar) -> CommandResult<()> {
        if so_far.is_interrupted || self.control.map(Control::command) != Some(Command::Drain) {
            return Ok(());
        }
        so_far.is_interrupted = true;
        let running = snapshot.coordinator().filter(|pod| pod.state == PodState::Running);
        let asked = running.map(|pod| self.kubectl.in_pod(&pod.name, "interrupt"));
        match asked {
            Some(Ok(())) => Ok(()),
            Some(Err(failure)) => {
                note(failure.text().trim_end());
                Err(self.stopped_early())
            }
            None => Err(self.stopped_early()),
        }
    }

    fn stopped_early(&self) -> Failure {
        Failure::own(anyhow!("the run {} was stopped before its load; nothing was recorded", self.job))
    }

    fn require_start(
        &self,
        snapshot: &Snapshot,
        so_far: &mut SoFar,
        refused: Option<&str>,
    ) -> CommandResult<()> {
        let Patience::Limited(limit) = self.patience else { return Ok(()) };
        so_far.has_started |= snapshot.started() >= usize::from(self.pods);
        if so_far.has_started {
            return Ok(());
        }
        let has_final = snapshot.obstacles().any(|(_, obstacle)| obstacle.is_final());
        so_far.obstacle_since = has_final.then(|| so_far.obstacle_since.unwrap_or_else(Instant::now));
        let is_stuck = so_far.obstacle_since.is_some_and(|since| since.elapsed() > OBSTACLE_LIMIT);
        if is_stuck || so_far.began.elapsed() > limit {
            let state = visible(&state(snapshot, self.pods, refused)).into_owned();
            let seconds = so_far.began.elapsed().as_secs();
            return Err(Failure::usage(anyhow!(
                "the run {} did not start within {seconds} s: {state}",
                self.job
            )));
        }
        Ok(())
    }
}
