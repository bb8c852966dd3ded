//! Drives runs over pods of a Kubernetes cluster: makes their objects, follows them, fetches the run file; and is what runs
//! inside the pods.
//!
//! The cluster is asked through `kubectl`, which users have configured: its plugins for authentication, proxies and
//! certificates are theirs. What is applied is made by `cluster::kubernetes`. Start reading at [`RunInCluster`].

mod follow;
mod kubectl;
mod log;
pub mod objects;
pub mod pod;
mod progress;
mod retrieve;
mod secret_files;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::anyhow;
use cluster::kubernetes::{OWNER, OWNER_LABEL, RunObjects};
use conduct::failure::{CommandResult, Failure};
use conduct::run_request::Progress;
use conduct::screen::note;
use conduct::signals::Listener;
use conduct::standard_output;
use evidence::{TerminalText, visible};

use follow::{Followed, Follower, Patience};
use kubectl::Kubectl;
use log::RunOf;

pub use kubectl::ClusterAccess;
pub use log::REPORT_BEGINS;
pub use retrieve::Destination;

/// A run in a cluster, from its objects to its file.
pub struct RunInCluster<'a> {
    /// How the cluster is reached.
    pub access: &'a ClusterAccess,
    /// Where the run file is to be.
    pub destination: Destination<'a>,
    /// Whether progress is shown.
    pub progress: Progress,
}

/// A run that has ended in a cluster, and whose file is here.
pub struct FetchedRun {
    pub path: PathBuf,
    /// The exit code of the run there.
    exit: u8,
    of: RunOf,
    /// Whether everything of it is deleted from the cluster.
    deleted: CommandResult<()>,
}

impl FetchedRun {
    /// The exit code here, where the file was judged again with this one. A run that was broken off says so by its exit code,
    /// here as there; a script has k6's.
    ///
    /// # Errors
    /// When something of the run is left in the cluster.
    pub fn exit_code(self, judged: u8) -> CommandResult<u8> {
        let code = if self.exit == 1 || self.of == RunOf::Script { self.exit } else { judged };
        self.deleted.map(|()| code)
    }
}

impl RunInCluster<'_> {
    /// Make the run, follow it and fetch its file, for as long as pods need to start. None where `detach` asks for the run to
    /// go on without this command.
    pub fn run(
        &self,
        objects: &RunObjects,
        start_limit: Duration,
        detach: bool,
    ) -> CommandResult<Option<FetchedRun>> {
        let kubectl = &Kubectl::new(self.access);
        kubectl.require()?;
        let listener = Listener::start()?;
        let control = listener.control_run();
        let (job, pods) = (&objects.name, objects.pods);
        if let Err(failure) = kubectl.make(objects) {
            return Err(deleted_after(kubectl, job, failure));
        }
        let fetch = format!("`plimsoll fetch {job}{}`", kubectl.flags_text());
        if detach {
            standard_output::print(TerminalText::default().line(job))?;
            note(format_args!("the run goes on in the cluster: {fetch}"));
            return Ok(None);
        }
        note(format_args!("run {job}: {pods} pods; if this command ends early: {fetch}"));
        let follower = Follower {
            kubectl,
            job,
            pods,
            progress: self.progress,
            patience: Patience::Limited(start_limit),
            control: Some(&control),
        };
        let run = follower.to_the_end().map_err(|failure| deleted_after(kubectl, job, failure))?;
        let path = self.destination.fetch(kubectl, &run).inspect_err(|_| {
            note(format_args!(
                "the run file is kept in the cluster for half an hour, and then deleted with the run: {fetch}"
            ));
        })?;
        show_summary(kubectl, &run);
        let deleted = kubectl.delete(job);
        Ok(Some(FetchedRun { path, exit: run.exit, of: run.file.of, deleted }))
    }

    /// Follow the run of this Job, which another command has begun, and fetch its file.
    pub fn fetch(&self, job: &str) -> CommandResult<FetchedRun> {
        let kubectl = Kubectl::new(self.access);
        let object = kubectl.job(job)?;
        let labels = &object["metadata"]["labels"];
        let pods = object["spec"]["completions"].as_u64().and_then(|pods| u16::try_from(pods).ok());
        let Some(pods) = pods.filter(|_| labels["app.kubernetes.io/name"] == "plimsoll") else {
            return Err(Failure::usage(anyhow!("the Job `{}` is not a run of plimsoll", visible(job))));
        };
        let follower = Follower {
            kubectl: &kubectl,
            job,
            pods,
            progress: self.progress,
            patience: Patience::Unlimited,
            control: None,
        };
        let run = follower.to_the_end()?;
        let path = self.destination.fetch(&kubectl, &run)?;
        show_summary(&kubectl, &run);
        if labels[OWNER_LABEL] == OWNER {
            kubectl.delete(job)?;
        } else {
            // What a repository describes is deleted by the process that applied it.
            kubectl.in_pod(&run.pod, "fetched")?;
        }
        Ok(FetchedRun { path, exit: run.exit, of: run.file.of, deleted: Ok(()) })
    }
}

/// What a script says of its run, such as k6's summary, is printed in its pod only.
fn show_summary(kubectl: &Kubectl, run: &Followed) {
    if run.file.of != RunOf::Script {
        return;
    }
    match kubectl.log(&run.pod) {
        Ok(log) => {
            let mut text = TerminalText::default();
            text.quote("", log::script_summary(&log));
            // A failure to draw is none of the run.
            let _ = standard_output::print(&text);
        }
        Err(error) => note(format_args!("the summary of the script is not shown: {error:#}")),
    }
}

/// The failure, after everything of the run was deleted.
fn deleted_after(kubectl: &Kubectl, job: &str, failure: Failure) -> Failure {
    if let Err(left) = kubectl.delete(job) {
        note(left.text().trim_end());
    }
    failure
}
