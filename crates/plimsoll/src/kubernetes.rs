//! `plimsoll run --kubernetes`, `manifest` and `fetch`: runs over pods of a cluster, by the crate `kubernetes`.

#[cfg(feature = "scripts")]
mod script;

use std::time::Duration;

use anyhow::anyhow;
use cluster::kubernetes::{RunObjects, to_yaml};
use conduct::failure::{CommandResult, Failure};
use conduct::live_address::LiveAddress;
use conduct::run_file::RunFilePolicy;
use conduct::run_request::Progress;
use conduct::{standard_output, writable};
use kubernetes::objects::{self, PodOptions, RunOfPlan};
use kubernetes::pod::PodOffer;
use kubernetes::{ClusterAccess, Destination, FetchedRun, RunInCluster, pod as inside};

use crate::arguments::{
    ClusterArguments, FetchArguments, FilesPlace, KubernetesArguments, ManifestArguments, OutputArguments,
    PodPart, PodsArguments, RunArguments, is_script,
};
use crate::report;
#[cfg(feature = "scripts")]
pub(crate) use script::{manifest_of_script, run_script};

/// `plimsoll run PLAN --kubernetes N`.
pub(crate) fn run(arguments: &RunArguments, pods: u16) -> CommandResult<u8> {
    let RunArguments { plan, overrides, output, quiet, kubernetes, options, .. } = arguments;
    if options.once {
        return Err(Failure::usage(anyhow!(
            "--once sends each step from this process: leave out --kubernetes"
        )));
    }
    require_no_live_page(options.live.as_ref())?;
    let destination = Destination { path: output.as_deref(), force: options.force };
    let run = RunOfPlan {
        plan,
        overrides: &overrides.overrides(),
        loops: options.loops,
        no_precheck: options.no_precheck,
        outs: &options.outs,
        pods: &pods_of(&kubernetes.pods, pods),
    };
    let objects = || objects::for_command(&run, kubernetes.cluster.namespace.clone());
    conduct(kubernetes, destination, *quiet, &options.outputs, objects)
}

/// What is recorded is in the cluster until the run is over.
fn require_no_live_page(address: Option<&LiveAddress>) -> CommandResult<()> {
    match address {
        None => Ok(()),
        Some(_) => Err(Failure::usage(anyhow!(
            "--live serves the report of a run that is recorded here, and with --kubernetes a pod records it: leave out one of \
             them; --out sends series from the pod while it goes on"
        ))),
    }
}

/// From the objects to the exit code.
fn conduct(
    asked: &KubernetesArguments,
    destination: Destination<'_>,
    is_quiet: bool,
    outputs: &OutputArguments,
    objects: impl FnOnce() -> CommandResult<RunObjects>,
) -> CommandResult<u8> {
    require_writable(&destination, outputs)?;
    let access = &access(&asked.cluster);
    let objects = objects()?;
    let run = RunInCluster { access, destination, progress: Progress::unless(is_quiet) };
    let start_limit = Duration::from_secs(asked.pods.start_timeout.into());
    match run.run(&objects, start_limit, asked.detach)? {
        Some(fetched) => judge(fetched, outputs),
        None => Ok(0),
    }
}

fn access(asked: &ClusterArguments) -> ClusterAccess {
    let ClusterArguments { namespace, kubeconfig, context } = asked.clone();
    ClusterAccess { namespace, kubeconfig, context }
}

/// So many pods.
fn pods_of(asked: &PodsArguments, count: u16) -> PodOptions {
    let PodsArguments { image, cpu, memory, files_in, run_file_claim, start_timeout } = asked.clone();
    let files_in = files_in.map(|place| match place {
        FilesPlace::Image(folder) => objects::FilesPlace::Image(folder),
        FilesPlace::Claim(name) => objects::FilesPlace::Claim(name),
    });
    PodOptions { count, image, cpu, memory, files_in, run_file_claim, start_limit_s: start_timeout }
}

/// `plimsoll fetch JOB`.
pub(crate) fn fetch(arguments: &FetchArguments) -> CommandResult<u8> {
    let destination = Destination { path: arguments.output.as_deref(), force: arguments.force };
    require_writable(&destination, &arguments.outputs)?;
    let access = &access(&arguments.cluster);
    let run = RunInCluster { access, destination, progress: Progress::unless(arguments.quiet) };
    judge(run.fetch(&arguments.job)?, &arguments.outputs)
}

/// `plimsoll manifest PLAN --kubernetes N`.
pub(crate) fn manifest(arguments: &ManifestArguments) -> CommandResult<u8> {
    let ManifestArguments { plan, overrides, loops, no_precheck, kubernetes, pods, .. } = arguments;
    let run = RunOfPlan {
        plan,
        overrides: &overrides.overrides(),
        loops: *loops,
        no_precheck: *no_precheck,
        outs: &[],
        pods: &pods_of(pods, *kubernetes),
    };
    let mut objects = objects::for_repository(&run, arguments.name.as_deref(), arguments.secret.as_deref())?;
    objects.namespace.clone_from(&arguments.namespace);
    print_manifest(&objects)
}

/// `plimsoll pod …`.
pub(crate) fn pod(part: &PodPart) -> CommandResult<u8> {
    match part {
        PodPart::Offer(arguments) => {
            let of_script = arguments.run.first().is_some_and(|first| is_script(first.as_ref()));
            inside::offer(&PodOffer {
                pods: arguments.pods,
                service: &arguments.service,
                keys: &arguments.keys,
                start_limit_s: arguments.start_limit,
                fetch_limit: Duration::from_secs(arguments.fetch_limit),
                run: &arguments.run,
                of_script,
            })
        }
        PodPart::Send => inside::send().map(|()| 0),
        PodPart::Fetched => inside::fetched().map(|()| 0),
        PodPart::Interrupt => inside::interrupt().map(|()| 0),
    }
}

fn print_manifest(objects: &RunObjects) -> CommandResult<u8> {
    let mut documents = vec![to_yaml(&objects.job().map_err(Failure::usage)?.0)];
    documents.extend(objects.belongings().map_err(Failure::usage)?.iter().map(|object| to_yaml(&object.0)));
    let text = format!("{}{}", objects::heading(objects), documents.join("---\n"));
    standard_output::print_document(&text)?;
    Ok(0)
}

/// The report of the file that was fetched, as `plimsoll report` renders it: it was written elsewhere.
fn judge(fetched: FetchedRun, outputs: &OutputArguments) -> CommandResult<u8> {
    let code = report::report(&fetched.path, &[], outputs)?;
    fetched.exit_code(code)
}

fn require_writable(destination: &Destination<'_>, outputs: &OutputArguments) -> CommandResult<()> {
    let keep = destination.path.map_or(RunFilePolicy::ByName, RunFilePolicy::At);
    if !destination.force {
        keep.refuse_existing()?;
    }
    writable::require(keep.shown_path().into_iter().chain(outputs.named().into_iter().flatten()))
}
