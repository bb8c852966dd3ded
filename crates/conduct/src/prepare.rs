//! Station 2: the target is prepared before the archive begins, so that a target that is not ready leaves no file.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::anyhow;
use engine::iteration::Behaviour;
use engine::{DryRun, DryRunError, LeftOut, Program};
use evidence::{Exemplar, Name, Outcome, TerminalText, visible};
use workload::{LoadedPlan, ProcessRef, Workload};

use crate::failure::{CommandResult, Failure};
use crate::manifest::{self, Identities};
use crate::observers::{self, Watchers};
use crate::run_request::{Precheck, Progress, RunRequest};
use crate::tick_readers::MakeReaders;
use crate::workers::ConnectedWorkers;
use crate::{checking, once, ready, reflection, screen, watched};

/// Descriptors that are not connections: the run file, timers, standard streams, observers.
const OTHER_DESCRIPTORS: u64 = 64;

/// How many exchanges that failed are shown.
const SHOWN_EXCHANGES: usize = 5;

const AFTER_SETUP: &str = "Fix the step or the target: the load needs its values.";
const AFTER_PRECHECK: &str =
    "Fix the request or the target, or skip this check with --no-precheck (in plans `precheck = false`).";

/// A target that is ready, with the run's setup made; its steps can be sent once.
pub struct ReachableRun {
    /// By which each step can be sent once.
    pub dry_run: DryRun,
    pub(crate) watchers: Watchers,
    progress: Progress,
}

/// A target that answered each step as expected, or need not be asked.
pub struct PreparedRun {
    pub(crate) program: Arc<Program>,
    pub(crate) watchers: Watchers,
    /// What answers at each target.
    pub(crate) identities: Identities,
    pub(crate) additions: Additions,
}

/// What a kind of run adds to its plan.
#[derive(Default)]
pub struct Additions {
    /// What virtual users do instead of the plan's steps.
    pub behaviour: Option<Arc<dyn Behaviour>>,
    /// Further readers of the run's ticks.
    pub readers: Option<MakeReaders>,
    /// The processes that offer the load, if this one does not.
    pub workers: Option<ConnectedWorkers>,
}

/// Describe what the targets serve, check that this process may open enough files, wait for the targets, send the run's
/// setup.
pub fn prepare(mut plan: LoadedPlan, request: &RunRequest<'_>) -> CommandResult<ReachableRun> {
    reflection::describe(&mut plan)?;
    let watchers = Watchers::new(&plan.workload, &plan.env, request.probe)?;
    let mut program = Program::compile(plan).map_err(Failure::usage)?;
    if let Some(rules) = &request.script_rules {
        program = program
            .with_origin_rules(rules.origins.clone())
            .with_body_budget(rules.body_budget.clone())
            .with_kept_exchanges(rules.kept_exchanges);
    }
    if request.workers == 0 {
        require_descriptors(&program, request.loops)?;
    }
    for (name, _) in program.workload().targets.iter().filter(|(_, target)| target.connecting.tls.insecure) {
        screen::note(format_args!("target `{name}`: any certificate is trusted (`insecure = true`)"));
    }
    ready::wait(&program, request.address_hint)?;
    let dry_run = DryRun::new(program).set_up().map_err(|error| refused(error, AFTER_SETUP))?;
    Ok(ReachableRun { dry_run, watchers, progress: request.progress })
}

impl ReachableRun {
    /// Send each step once unless the plan or the command line is against it, and identify processes and servers. This
    /// may take seconds, so it is done before the clock starts.
    pub fn precheck_and_identify(
        self,
        precheck: Precheck,
        additions: Additions,
    ) -> CommandResult<PreparedRun> {
        let ReachableRun { dry_run, watchers, progress } = self;
        if dry_run.program().workload().precheck && precheck == Precheck::AsPlanned {
            watchers.ask_for_profiles(dry_run.program().workload())?;
            require_processes(dry_run.program().workload())?;
            let checked = checking::shown(progress, dry_run.progress(), || check(&dry_run));
            checked.map_err(|error| refused(error, AFTER_PRECHECK))?;
            for LeftOut { scenario, data } in dry_run.left_out() {
                screen::note(format_args!(
                    "precheck: the steps of `{scenario}` are not sent: the load needs all unique rows of `{data}`"
                ));
            }
        }
        let program = Arc::new(dry_run.into_program());
        let identities = observers::identities(program.workload(), program.env());
        Ok(PreparedRun { program, watchers, identities, additions })
    }
}

/// The processes that the plan names by their ids are there.
fn require_processes(workload: &Workload) -> CommandResult<()> {
    for (name, target) in &workload.targets {
        if let Some(process @ ProcessRef::Pid(_)) = &target.process {
            let found = manifest::watched(process).check();
            found
                .map_err(|error| Failure::usage(anyhow!("{}", watched::not_there(name, process, &error))))?;
        }
    }
    Ok(())
}

/// How often the steps are sent before the load, where the target answers with server errors.
const CHECKS: usize = 3;

/// Sends each step once; all of them again if the target answers some with a server error, so that steps which depend on them are sent
/// too. Server errors alone refuse no run: they are what the target does, not a mistake of the plan.
fn check(dry_run: &DryRun) -> Result<(), DryRunError> {
    let mut failed_before = BTreeMap::new();
    for _ in 0..CHECKS {
        match dry_run.check() {
            Err(DryRunError::Failed(failed)) if failed.iter().all(|e| e.outcome.is_server_error()) => {
                failed_before
                    .extend(failed.into_iter().map(|exchange| (exchange.endpoint, exchange.outcome)));
            }
            Ok(exchanges) => {
                note_server_errors(&failed_before, "and succeeded when sent again");
                note_redirects(dry_run.program().workload(), &exchanges);
                return Ok(());
            }
            Err(refused) => return Err(refused),
        }
    }
    let offered = "each time it was sent: the load is offered, and such failures count";
    note_server_errors(&failed_before, offered);
    Ok(())
}

/// Says which steps failed with a server error, and what came of it.
fn note_server_errors(failed: &BTreeMap<Name, Outcome>, then: &str) {
    let names = failed.iter().map(|(name, outcome)| format!("`{}` ({outcome})", visible(name)));
    let names = names.collect::<Vec<_>>().join(", ");
    if !failed.is_empty() {
        screen::note(format_args!("check before the load: {names} failed with a server error {then}"));
    }
}

/// Says which steps are answered with a redirect that counts as a success without anyone having asked for it.
fn note_redirects(workload: &Workload, exchanges: &[Exemplar]) {
    let expects_none = |endpoint: &Name| {
        workload.steps().any(|step| step.name == **endpoint && step.expect.status.is_empty())
    };
    for exchange in exchanges {
        let Some(status @ (301 | 302 | 303 | 307 | 308)) = exchange.status else { continue };
        if expects_none(&exchange.endpoint) {
            let location = exchange.response_headers.iter().find(|(name, _)| name == "location");
            let to = location.map(|(_, to)| format!(" to {}", visible(to))).unwrap_or_default();
            screen::note(format_args!(
                "warning: `{}` is answered with the redirect {status}{to}, which counts as a success: what is measured is the \
                 redirect and not what it leads to. Use the address that it leads to, or follow it (-L of a command, `redirects` \
                 in plans); if the redirect is meant, expect it: `expect = {{ status = {status} }}`",
                visible(&exchange.endpoint)
            ));
        }
    }
}

fn refused(error: DryRunError, next: &'static str) -> Failure {
    let failed = match error {
        DryRunError::Engine(error) => return Failure::own(error),
        DryRunError::Failed(failed) => failed,
    };
    let mut exchanges = TerminalText::default();
    failed.iter().take(SHOWN_EXCHANGES).for_each(|exchange| {
        exchanges.append(&once::show(exchange));
    });
    let names = failed.iter().map(|exchange| exchange.endpoint.to_string()).collect();
    Failure::Steps { names, exchanges, next }
}

/// This process may open as many files as so many loops of the program need.
pub fn require_descriptors(program: &Program, loops: u16) -> CommandResult<()> {
    let connections = program.max_connections(loops);
    let needed = connections + OTHER_DESCRIPTORS;
    let limit = observe::raise_open_files().map_err(Failure::own)?;
    match limit.soft {
        Some(soft) if soft < needed => Err(Failure::usage(anyhow!(
            "the plan may open {connections} connections at once and so needs {needed} open files, but this \
             process may have {soft}; raise the limit (`ulimit -n {needed}`) or lower max_vus in the plan"
        ))),
        _ => Ok(()),
    }
}
