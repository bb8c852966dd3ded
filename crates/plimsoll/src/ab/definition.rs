//! What an experiment is made of: from a file, or from the command line.

use std::path::Path;

use anyhow::anyhow;
use conduct::environment::environment;
use conduct::failure::{CommandResult, Failure};
use conduct::file_kind::{self, FileKind};
use conduct::plan::Disk;
use judge::experiment::Looks;
use plans::{ArmsAsked, ExperimentOverrides, Overrides, load, load_experiment, metrics_for};
use workload::experiment::{Arm, Design, Experiment, GateMetric, Probe, Timing, Together};
use workload::{SharedLoad, Workload};

use super::urls::{USUAL_RATE, Urls};
use crate::arguments::{AbArguments, CalibrateArguments};

/// The looks of a step of a bisection, unless others are asked for: seven answers in a row must be right.
const BISECT_LOOKS: [u32; 6] = [8, 12, 16, 20, 30, 40];
/// The chance that a step of a bisection calls a change as large as the margin none.
const BISECT_EXCLUSION: f64 = 0.005;

/// The margin of error rates that is usual. Short slots cannot show so little, and a bisection is about something else.
const USUAL_SHARE: f64 = 0.001;
/// The one that a bisection takes instead.
const BISECT_SHARE: f64 = 0.05;

/// The experiment that the arguments ask for. The plan of URLs is written to `drafts`.
pub(crate) fn read(arguments: &AbArguments, drafts: &Path) -> CommandResult<Experiment> {
    let file = arguments.file.as_deref().ok_or_else(|| Failure::usage(anyhow!("name an experiment")))?;
    let mut experiment = match (&arguments.a, &arguments.b, &arguments.url_of_b) {
        (Some(a), Some(b), _) => of_commands(file, [a, b], arguments)?,
        (_, _, Some(b)) => {
            let urls = Urls::parse(&file.to_string_lossy(), b)?;
            let rate = arguments.rate.as_deref().unwrap_or(USUAL_RATE);
            let mut experiment = of_plan(&urls.plan(rate, drafts)?, urls.arms())?;
            experiment.design.together = Some(Together { share: SharedLoad::Full, ..Together::default() });
            experiment
        }
        _ => {
            let given =
                ExperimentOverrides { arms: ArmsAsked::Both, check_looks: &check_looks, env: &environment };
            refuse_plan(file, "`--a COMMAND --b COMMAND`, which start the two versions")?;
            file_kind::refuse_others(file, &[FileKind::Experiment])?;
            load_experiment(file, &Disk, &given).map_err(Failure::usage)?
        }
    };
    let design = &mut experiment.design;
    design.slot = arguments.slot.or(design.slot);
    design.budget = arguments.budget.or(design.budget);
    design.seed = arguments.seed.unwrap_or(design.seed);
    if arguments.bisect {
        // A step must be told good from bad, which times at the same moment cannot.
        experiment.timing = Timing::Given;
        design.exclusion = BISECT_EXCLUSION;
        if design.looks == Design::default().looks {
            design.looks = BISECT_LOOKS.to_vec();
        }
    }
    if !arguments.looks.is_empty() {
        check_looks(&arguments.looks).map_err(|wrong| Failure::usage(anyhow!("--looks: {wrong}")))?;
        design.looks.clone_from(&arguments.looks);
    }
    if !arguments.gate.is_empty() {
        let workload = plan(&experiment.plan)?;
        experiment.metrics = metrics_for(&workload, &arguments.gate)
            .map_err(|wrong| Failure::usage(anyhow!("--gate: {wrong}")))?;
    }
    if arguments.bisect {
        let is_usual = |metric: &&mut GateMetric| metric.quantity.is_share() && metric.margin == USUAL_SHARE;
        experiment.metrics.iter_mut().filter(is_usual).for_each(|metric| metric.margin = BISECT_SHARE);
    }
    Ok(experiment)
}

/// Refuse a plan without the options that make an experiment of it.
pub(crate) fn refuse_plan(file: &Path, add: &str) -> CommandResult<()> {
    let shown = file.display();
    match file_kind::at(file) {
        Some(FileKind::Plan) => Err(Failure::usage(anyhow!(
            "{shown} is a plan: `plimsoll run {shown}` runs it as it is; for an experiment with it add {add}"
        ))),
        _ => Ok(()),
    }
}

/// The experiment in which arm A is compared with itself: of an experiment, or of a plan.
pub(crate) fn of_calibration(arguments: &CalibrateArguments) -> CommandResult<Experiment> {
    let CalibrateArguments { file, start, ready, reset, pairs, slot, seed, gate, .. } = arguments;
    let mut experiment = if is_experiment(file) {
        if start.is_some() || reset.is_some() {
            return Err(Failure::usage(anyhow!(
                "{}: the experiment file already has commands",
                file.display()
            )));
        }
        let given =
            ExperimentOverrides { arms: ArmsAsked::Baseline, check_looks: &check_looks, env: &environment };
        file_kind::refuse_others(file, &[FileKind::Experiment])?;
        load_experiment(file, &Disk, &given).map_err(Failure::usage)?
    } else {
        let arm = Arm { start: start.clone(), ready: ready.clone(), reset: reset.clone(), ..Arm::default() };
        of_plan(file, [arm.clone(), arm])?
    };
    // What it measures is the noise between runs in turn.
    experiment.timing = Timing::Given;
    let design = &mut experiment.design;
    design.together = None;
    if design.probe == Probe::Auto {
        design.probe = Probe::On;
    }
    design.slot = slot.or(design.slot);
    design.seed = seed.unwrap_or(design.seed);
    design.looks = vec![*pairs];
    design.budget = None;
    if !gate.is_empty() {
        experiment.metrics = metrics_for(&plan(&experiment.plan)?, gate)
            .map_err(|wrong| Failure::usage(anyhow!("--gate: {wrong}")))?;
    }
    Ok(experiment)
}

/// An experiment names its plan; a plan names none.
fn is_experiment(file: &Path) -> bool {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let mut root = text.lines().map(str::trim).take_while(|line| !line.starts_with('['));
    root.any(|line| line.strip_prefix("plan").is_some_and(|rest| rest.trim_start().starts_with('=')))
}

fn of_commands(file: &Path, starts: [&String; 2], arguments: &AbArguments) -> CommandResult<Experiment> {
    let arm = |start: &String| Arm {
        start: Some(start.clone()),
        ready: arguments.ready.clone(),
        reset: arguments.reset.clone(),
        ..Arm::default()
    };
    of_plan(file, starts.map(arm))
}

fn of_plan(file: &Path, arms: [Arm; 2]) -> CommandResult<Experiment> {
    let workload = plan(file)?;
    Ok(Experiment {
        name: workload.name.clone(),
        plan: file.to_owned(),
        folder: ".".into(),
        arms,
        design: Design::default(),
        metrics: metrics_for(&workload, &[]).map_err(|wrong| Failure::usage(anyhow!(wrong)))?,
        timing: Timing::Usual,
    })
}

fn plan(path: &Path) -> CommandResult<Workload> {
    file_kind::refuse_others(path, &[FileKind::Plan])?;
    let loaded = load(path, &Disk, &environment, &Overrides::default()).map_err(Failure::usage)?;
    Ok(loaded.workload)
}

/// What is wrong with a list of looks, if anything is.
pub(crate) fn check_looks(at: &[u32]) -> Result<(), String> {
    Looks::new(at).map(drop).map_err(|unknown| unknown.to_string())
}
