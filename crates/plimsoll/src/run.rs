//! `plimsoll run`: the run of a plan.

use ::report::Reported as _;
use anyhow::anyhow;
use conduct::failure::{CommandResult, Failure};
use conduct::judged::Judged;
use conduct::live_address::LiveAddress;
use conduct::live_page::LivePage;
use conduct::prepare::{Additions, prepare};
use conduct::recording::SealedRun;
use conduct::run_file::RunFilePolicy;
use conduct::run_request::{Precheck, Progress, RunRequest, overwrite};
use conduct::signals::Listener;
use conduct::workers::{self, ConnectedWorkers, ResolvedRun};
use conduct::{RunKind, conduct, once, screen};
use engine::DryRun;
use workload::LoadedPlan;

use crate::arguments::{OutputArguments, RunArguments, RunOptionArguments};
use crate::outputs::{self, PreopenedReports};
use crate::{
    literal_values, login_rows,
    objective_warnings::{self, NO_OBJECTIVES},
};

pub(crate) fn run(arguments: &RunArguments) -> CommandResult<u8> {
    let listener = Listener::start()?;
    let workers = arguments.workers.asked();
    if workers.is_some() && arguments.options.once {
        return Err(Failure::usage(anyhow!(
            "--once sends each step from this process: leave out the workers"
        )));
    }
    let resolved = workers::resolve(&arguments.plan, &arguments.overrides.overrides(), workers.as_ref())?; // 1
    let live_page = live_page(&resolved.plan, arguments.options.live.as_ref(), &arguments.options.outputs)?;
    let unnamed = if arguments.no_evidence { RunFilePolicy::Temporary } else { RunFilePolicy::ByName };
    let keep = arguments.output.as_deref().map_or(unnamed, RunFilePolicy::At);
    let request = RunRequest {
        live_page: live_page.as_ref(),
        workers: resolved.workers.as_ref().map_or(0, ConnectedWorkers::weight),
        address_hint: |name| format!(", or give its address: --target {name}=ADDRESS"),
        ..request(keep, arguments.quiet, &arguments.options)
    };
    conduct_plan(&listener, resolved, &arguments.options, &request)
}

/// The page on which the run of a plan is followed, if one is asked for.
pub(crate) fn live_page(
    plan: &LoadedPlan,
    address: Option<&LiveAddress>,
    outputs: &OutputArguments,
) -> CommandResult<Option<LivePage>> {
    let open = |address| LivePage::open(address, &plan.workload.name, outputs.percentiles.clone());
    address.map(open).transpose()
}

/// The request of a run with these options.
pub(crate) fn request<'a>(
    keep: RunFilePolicy<'a>,
    is_quiet: bool,
    options: &'a RunOptionArguments,
) -> RunRequest<'a> {
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
    literal_values::warnings(&plan.workload).into_iter().for_each(screen::note);
    login_rows::warnings(&plan.workload).for_each(screen::note);
    if options.once {
        return once::once(&prepare(plan, request)?.dry_run);
    }
    objective_warnings::warnings(&plan.workload).into_iter().for_each(screen::note);
    if plan.workload.objectives.is_empty() && options.outputs.reports.files.junit.is_some() {
        screen::note(NO_OBJECTIVES);
    }
    let live_page = request.live_page;
    conduct(listener, plan, PlanRun { workers, outputs: &options.outputs, live_page }, request)
}

struct PlanRun<'a> {
    workers: Option<ConnectedWorkers>,
    outputs: &'a OutputArguments,
    live_page: Option<&'a LivePage>,
}

impl RunKind for PlanRun<'_> {
    fn set_up(&mut self, dry_run: DryRun) -> CommandResult<(DryRun, Additions)> {
        Ok((dry_run, Additions { workers: self.workers.take(), ..Additions::default() }))
    }

    fn report(self, mut sealed: SealedRun, judged: Judged, _: &Listener) -> CommandResult<u8> {
        let summary = self.outputs.reported(judged.summary, &self.outputs.files(sealed.kept()));
        let document = summary.document();
        if let Some(page) = self.live_page {
            page.finish(&document);
        }
        let asked = &self.outputs.reports;
        outputs::show(&document, &asked.files, self.outputs.detail())?;
        outputs::write_files(&summary, &document, asked, &PreopenedReports::default())?;
        outputs::write_card(&summary, self.outputs, &PreopenedReports::default())?;
        sealed.completed()?;
        Ok(outputs::exit_code(judged.judgement.verdict, asked.on_inconclusive()))
    }
}
