//! Runs over pods of a Kubernetes cluster: `plimsoll run --kubernetes`, `manifest` and `fetch`, and what runs inside the pods.
//!
//! The cluster is asked through `kubectl`, which users have configured: its plugins for authentication, proxies and
//! certificates are theirs. What is applied is made by `cluster::kubernetes`.

mod follow;
mod kubectl;
mod log;
mod objects;
mod pod;
mod progress;
mod retrieve;
#[cfg(feature = "scripts")]
mod script;
mod secret_files;

use std::path::Path;

use anyhow::anyhow;
use cluster::kubernetes::{OWNER, OWNER_LABEL, RunObjects, to_yaml};
use conduct::failure::{CommandResult, Failure};
use conduct::run_file::Keep;
use conduct::run_request::Progress;
use conduct::screen::note;
use conduct::signals::Listener;
use conduct::{standard_output, writable};
use evidence::{TerminalText, visible};

use crate::arguments::{
    FetchArguments, KubernetesArguments, ManifestArguments, OutputArguments, RunArguments,
};
use crate::reported;
use follow::{Followed, Follower, Patience};
use kubectl::Kubectl;
use log::RunOf;
use objects::{for_command, for_repository};
use retrieve::Destination;

pub(crate) use pod::pod;
#[cfg(feature = "scripts")]
pub(crate) use script::{manifest_of_script, run_script};

/// A run in a cluster that a command line asks for.
struct AskedRun<'a> {
    pods: u16,
    kubernetes: &'a KubernetesArguments,
    destination: Destination<'a>,
    progress: Progress,
    outputs: &'a OutputArguments,
}

/// `plimsoll run PLAN --kubernetes N`.
pub(crate) fn run(arguments: &RunArguments, pods: u16) -> CommandResult<u8> {
    let options = &arguments.options;
    if options.once {
        return Err(Failure::usage(anyhow!(
            "--once sends each step from this process: leave out --kubernetes"
        )));
    }
    let asked = AskedRun {
        pods,
        kubernetes: &arguments.kubernetes,
        destination: Destination { path: arguments.output.as_deref(), force: options.force },
        progress: Progress::unless(arguments.quiet),
        outputs: &options.outputs,
    };
    asked.run(|| for_command(arguments, pods))
}

impl AskedRun<'_> {
    /// From the objects to the exit code.
    fn run(self, objects: impl FnOnce() -> CommandResult<RunObjects>) -> CommandResult<u8> {
        self.destination.require_writable(self.outputs)?;
        let objects = objects()?;
        let kubectl = Kubectl::new(&self.kubernetes.cluster);
        self.conduct(&objects, &kubectl)
    }

    fn conduct(self, objects: &RunObjects, kubectl: &Kubectl) -> CommandResult<u8> {
        kubectl.require()?;
        let listener = Listener::start()?;
        let control = listener.control_run();
        let (job, pods) = (&objects.name, self.pods);
        if let Err(failure) = kubectl.make(objects) {
            return Err(deleted_after(kubectl, job, failure));
        }
        let fetch = format!("`plimsoll fetch {job}{}`", kubectl.flags_text());
        if self.kubernetes.detach {
            standard_output::print(TerminalText::default().line(job))?;
            note(format_args!("the run goes on in the cluster: {fetch}"));
            return Ok(0);
        }
        note(format_args!("run {job}: {pods} pods; if this command ends early: {fetch}"));
        let follower = Follower {
            kubectl,
            job,
            pods,
            progress: self.progress,
            patience: Patience::of(self.kubernetes.pods.start_timeout),
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
        // A process that reads foreign files is confined before it has threads.
        drop(listener);
        let code = judge(&path, &run, self.outputs)?;
        deleted.map(|()| code)
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

/// `plimsoll fetch JOB`.
pub(crate) fn fetch(arguments: &FetchArguments) -> CommandResult<u8> {
    let destination = Destination { path: arguments.output.as_deref(), force: arguments.force };
    destination.require_writable(&arguments.outputs)?;
    let kubectl = Kubectl::new(&arguments.cluster);
    let job = kubectl.job(&arguments.job)?;
    let labels = &job["metadata"]["labels"];
    let pods = job["spec"]["completions"].as_u64().and_then(|pods| u16::try_from(pods).ok());
    let Some(pods) = pods.filter(|_| labels["app.kubernetes.io/name"] == "plimsoll") else {
        return Err(Failure::usage(anyhow!("the Job `{}` is no run of plimsoll", visible(&arguments.job))));
    };
    let follower = Follower {
        kubectl: &kubectl,
        job: &arguments.job,
        pods,
        progress: Progress::unless(arguments.quiet),
        patience: Patience::Unlimited,
        control: None,
    };
    let run = follower.to_the_end()?;
    let path = destination.fetch(&kubectl, &run)?;
    show_summary(&kubectl, &run);
    if labels[OWNER_LABEL] == OWNER {
        kubectl.delete(&arguments.job)?;
    } else {
        // What a repository describes is deleted by the process that applied it.
        kubectl.in_pod(&run.pod, "fetched")?;
    }
    judge(&path, &run, &arguments.outputs)
}

/// `plimsoll manifest PLAN --kubernetes N`.
pub(crate) fn manifest(arguments: &ManifestArguments) -> CommandResult<u8> {
    print_manifest(&for_repository(arguments)?)
}

fn print_manifest(objects: &RunObjects) -> CommandResult<u8> {
    let mut documents = vec![to_yaml(&objects.job().map_err(Failure::usage)?.0)];
    documents.extend(objects.belongings().map_err(Failure::usage)?.iter().map(|object| to_yaml(&object.0)));
    let text = format!("{}{}", objects::heading(objects), documents.join("---\n"));
    standard_output::print_document(&text)?;
    Ok(0)
}

/// The report of the file that was fetched, as `plimsoll report` renders it: it was written elsewhere.
fn judge(path: &Path, run: &Followed, outputs: &OutputArguments) -> CommandResult<u8> {
    let code = reported::report(path, &[], outputs)?;
    // A run that was broken off says so by its exit code, here as there; a script has k6's.
    Ok(if run.exit == 1 || run.file.of == RunOf::Script { run.exit } else { code })
}

impl Destination<'_> {
    fn require_writable(&self, outputs: &OutputArguments) -> CommandResult<()> {
        let keep = self.path.map_or(Keep::ByName, Keep::At);
        if !self.force {
            keep.refuse_existing()?;
        }
        writable::require(keep.shown_path().into_iter().chain(outputs.named().into_iter().flatten()))
    }
}
