//! What limits a service, by one run whose load has several levels: phases of constant load, and ramps cut into parts.

mod broken;
mod parts;

use evidence::diagnosis::Diagnosis;
use evidence::run::ReadError;
use evidence::{Judgement, Run, Severity};
use figures::Figures;
use figures::number::brief;
use workload::Workload;

use super::{BreakRange, LoadWindow, above_all, diagnose, levels, without_limit};
use crate::rule::MAKE_UNUSABLE;
use parts::Level;

/// What limits the service that `run` loaded, as far as its levels of load show it.
///
/// # Errors
/// [`ReadError`] when the evidence cannot be read.
pub fn of_run(run: &dyn Run, workload: &Workload, judgement: &Judgement) -> Result<Diagnosis, ReadError> {
    let wrong = judgement
        .findings
        .iter()
        .find(|finding| MAKE_UNUSABLE.contains(&finding.rule) && finding.severity == Severity::Invalid);
    if let Some(finding) = wrong {
        return Ok(Diagnosis::refused(format!("{} {}: {}", finding.rule, finding.title, finding.what)));
    }
    let figures = Figures::fold(run, workload)?;
    let mut all = parts::levels(run, workload, &figures)?;
    broken::mark(run, workload, &mut all)?;
    parts::leave_out_after_overload(&mut all);
    if let Some(level) = limited_by_generator(&all) {
        return Ok(Diagnosis::refused(format!(
            "the generator was at its limit at {}: what the target carries is not known.",
            brief::rate(level.load_per_s())
        )));
    }
    all.retain(|level| !level.is_generator_limited);
    Ok(of_levels(&all))
}

fn of_levels(all: &[Level]) -> Diagnosis {
    let windows: Vec<LoadWindow> = all.iter().flat_map(|level| level.windows.clone()).collect();
    let count = levels::of(&windows, None).len();
    let highest = all.iter().map(Level::load_per_s).fold(0.0, f64::max);
    if count < Diagnosis::FEWEST_LEVELS {
        return of_few(all, count);
    }
    let lowest_above = all.iter().filter(|level| !level.breaks).map(Level::load_per_s).fold(0.0, f64::max);
    let breaks = all.iter().filter(|level| level.breaks && level.load_per_s() > lowest_above);
    let breaks = breaks.min_by(|a, b| a.load_per_s().total_cmp(&b.load_per_s()));
    let lowest_broken =
        all.iter().filter(|level| level.breaks).map(Level::load_per_s).fold(f64::INFINITY, f64::min);
    let holds = all.iter().filter(|level| !level.breaks && level.load_per_s() < lowest_broken);
    let holds = holds.max_by(|a, b| a.load_per_s().total_cmp(&b.load_per_s()));
    match (holds, breaks) {
        (Some(holds), Some(breaks)) => {
            let holds_per_s = holds.completions_per_s;
            let breaks_per_s = breaks.load_per_s().max(holds_per_s);
            diagnose(&windows, BreakRange { holds_per_s, breaks_per_s })
        }
        (None, _) => without_limit(&windows, highest, "the lowest level of load breaks already; offer less."),
        (Some(_), None) if lowest_broken.is_finite() => without_limit(
            &windows,
            highest,
            &format!("{} breaks, and more than that holds.", brief::rate(lowest_broken)),
        ),
        (Some(_), None) => {
            above_all(&windows, highest, &format!("no level of load breaks, up to {}.", brief::rate(highest)))
        }
    }
}

/// One load or two show what is used and waited for, and no demand.
fn of_few(all: &[Level], count: usize) -> Diagnosis {
    let windows: Vec<LoadWindow> = all.iter().map(Level::whole).collect();
    let highest = windows.iter().map(|window| window.completions_per_s).fold(0.0, f64::max);
    let levels = match count {
        0 => "no level of load that could be measured",
        1 => "one level of load: waits are shown, a limit cannot be named",
        _ => "two levels of load: waits are shown, a limit cannot be named",
    };
    let why = format!("{levels}; `plimsoll diagnose PLAN` arranges the levels.");
    without_limit(&windows, highest, &why)
}

/// The lowest level up to the break at which the generator was at its limit.
fn limited_by_generator(all: &[Level]) -> Option<&Level> {
    let broken = all.iter().filter(|level| level.breaks && !level.is_generator_limited);
    let breaks_per_s = broken.map(Level::load_per_s).fold(f64::INFINITY, f64::min);
    let mut limited = all.iter().filter(|level| level.is_generator_limited);
    limited.find(|level| level.load_per_s() <= breaks_per_s)
}

#[cfg(test)]
mod tests;
