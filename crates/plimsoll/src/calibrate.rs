//! `plimsoll calibrate`: how much runs of the same program differ on this host under this load, and so which changes an
//! experiment can detect.

use std::time::Duration;

use ::report::Detail;
use ::report::experiment::{CalibrationSummary, VisibleChanges};
use conduct::failure::CommandResult;
use conduct::run_request::Progress;
use conduct::screen::note;
use conduct::signals::Listener;
use evidence::ExperimentEnd;
use experiments::pairs::{PairedArms, Pairs, calibration, detectable};
use experiments::session::{self, SessionOptions};
use judge::experiment::{KnownDeviation, pairs_in};

use crate::ab::definition;
use crate::arguments::{CalibrateArguments, SlotArguments};
use crate::outputs::{self, PreopenedReports};

/// The pairs were not made.
const INTERRUPTED: u8 = 4;

pub(crate) fn calibrate(arguments: &CalibrateArguments) -> CommandResult<u8> {
    let listener = Listener::start()?;
    let arms = PairedArms::prepared(definition::of_calibration(arguments)?, None)?;
    let SlotArguments { loops, quiet } = arguments.slots;
    let (folder, progress) = (arguments.output.clone(), Progress::unless(quiet));
    let options = SessionOptions { resume: None, folder, loops, progress };
    let made = session::run::<Pairs>(&listener, &arms, &options)?;
    if matches!(made.judgement.end, ExperimentEnd::Interrupted | ExperimentEnd::Broken(_))
        && (made.steps.len() as u32) < arguments.pairs
    {
        note("no calibration is kept: not all pairs were made");
        return Ok(INTERRUPTED);
    }
    let (found, unknown) = calibration::of(&arms.subject, &made)?;
    let experiment = &arms.subject.experiment;
    let path = calibration::keep(&found, arguments.calibration.as_deref())?;
    let pair_takes = Duration::from_secs_f64(found.pair_s.max(1.0));
    let level = experiment.design.level / experiment.metrics.len().max(1) as f64;
    let visible = found.metrics.iter().map(|noise| {
        let deviation = noise.deviation_of_pairs(true);
        let known = KnownDeviation { deviation, pairs: found.pairs, scale: noise.scale };
        VisibleChanges {
            margin: margin_of(experiment, &noise.of),
            smallest: detectable::in_minutes(known, pair_takes, level),
        }
    });
    let summary = CalibrationSummary {
        calibration: &found,
        error: KnownDeviation::uncertainty(found.pairs),
        minutes: detectable::MINUTES,
        pairs: detectable::MINUTES.map(|minutes| pairs_in(minutes, pair_takes.as_secs_f64())),
        visible: visible.collect(),
        unknown: &unknown,
    };
    outputs::write(&summary, &arguments.reports, Detail::Full, &PreopenedReports::default())?;
    note(format_args!("`plimsoll ab` uses it from now on; it is kept in {}", path.display()));
    Ok(0)
}

fn margin_of(experiment: &workload::experiment::Experiment, of: &str) -> f64 {
    experiment.metrics.iter().find(|metric| metric.source == of).map_or(0.0, |metric| metric.margin)
}
