//! `plimsoll run`: the run of a plan.

use anyhow::anyhow;
use conduct::failure::{CommandResult, Failure};
use conduct::judged::Judged;
use conduct::prepare::{Additions, prepare};
use conduct::recording::SealedRun;
use conduct::run_file::Keep;
use conduct::run_request::{Precheck, Progress, RunRequest, overwrite};
use conduct::signals::Listener;
use conduct::workers::{self, ConnectedWorkers, ResolvedRun};
use conduct::{RunKind, conduct, once};
use engine::DryRun;

use crate::arguments::{OutputArguments, RunArguments, RunOptionArguments};
use crate::outputs::{self, PreopenedReports};

pub(crate) fn run(arguments: &RunArguments) -> CommandResult<u8> {
    let listener = Listener::start()?;
    let workers = arguments.workers.asked();
    if workers.is_some() && arguments.options.once {
        return Err(Failure::usage(anyhow!(
            "--once sends each step from this process: leave out the workers"
        )));
    }
    let resolved = workers::resolve(&arguments.plan, &arguments.overrides.overrides(), workers.as_ref())?; // 1
    let keep = arguments.output.as_deref().map_or(Keep::ByName, Keep::At);
    let request = RunRequest {
        workers: resolved.workers.as_ref().map_or(0, ConnectedWorkers::weight),
        address_hint: |name| format!(", or give its address: --target {name}=ADDRESS"),
        ..request(keep, arguments.quiet, &arguments.options)
    };
    conduct_plan(&listener, resolved, &arguments.options, &request)
}

/// The request of a run with these options.
pub(crate) fn request<'a>(keep: Keep<'a>, is_quiet: bool, options: &'a RunOptionArguments) -> RunRequest<'a> {
    RunRequest {
        overwrite: overwrite(options.force),
        loops: options.loops,
        precheck: if options.no_precheck { Precheck::Skipped } else { Precheck::AsPlanned },
        outs: &options.outs,
        reports: options.outputs.named().into_iter().flatten().collect(),
        ..RunRequest::new(keep, Progress::unless(is_quiet))
    }
}

/// From a plan to the exit code of its verdict; with `--once` each step is sent once instead.
pub(crate) fn conduct_plan(
    listener: &Listener,
    resolved: ResolvedRun,
    options: &RunOptionArguments,
    request: &RunRequest<'_>,
) -> CommandResult<u8> {
    let ResolvedRun { plan, workers } = resolved;
    if options.once {
        return once::once(&prepare(plan, request)?.dry_run);
    }
    conduct(listener, plan, PlanRun { workers, outputs: &options.outputs }, request)
}

/// A run of a plan.
struct PlanRun<'a> {
    workers: Option<ConnectedWorkers>,
    outputs: &'a OutputArguments,
}

impl RunKind for PlanRun<'_> {
    fn set_up(&mut self, dry_run: DryRun) -> CommandResult<(DryRun, Additions)> {
        Ok((dry_run, Additions { workers: self.workers.take(), ..Additions::default() }))
    }

    fn report(self, mut sealed: SealedRun, judged: Judged, _: &Listener) -> CommandResult<u8> {
        let summary = self.outputs.reported(judged.summary, &self.outputs.files(sealed.kept()));
        outputs::write(
            &summary,
            &self.outputs.reports.files,
            self.outputs.detail(),
            &PreopenedReports::default(),
        )?;
        sealed.completed()?;
        Ok(outputs::exit_code(judged.judgement.verdict, self.outputs.reports.inconclusive))
    }
}
