//! The state of the generator itself, by phase.

use std::collections::BTreeMap;

use evidence::run::{ReadError, select};
use evidence::{Coverage, Histogram, Instance, Key, Metric, Run, SeriesKey, Window, coverage};
use figures::{Figures, PhaseWindow};
use workload::Workload;

use crate::facts::STALL_MS;
use crate::facts::WINDOW_S;

/// The state of the generator.
#[derive(Debug, Default)]
pub(crate) struct Generator {
    /// CPU of each loop in each phase; empty where it was not measured.
    pub(crate) loops: Vec<LoopUse>,
    /// Stalls of each loop in each phase.
    pub(crate) stalls: Vec<LoopStalls>,
    /// Time that scenarios spent at their VU limit.
    pub(crate) at_vu_limit: Vec<AtVuLimit>,
    /// CPU of the code of a script; none where none ran, or it was not measured.
    pub(crate) script: Option<ScriptUse>,
}

/// CPU that the code of a script used.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ScriptUse {
    /// The mean of all loops together, in cores.
    pub(crate) cores: f64,
    /// Of what the loops used, 0 to 1.
    pub(crate) share: f64,
    /// Of an iteration in the mean, in milliseconds.
    pub(crate) iteration_ms: f64,
}

impl ScriptUse {
    fn read(run: &dyn Run, cpu: &[OwnSeries<'_>], figures: &Figures) -> Result<Option<ScriptUse>, ReadError> {
        let of_script = own_series(run, SeriesKey::SCRIPT_CPU)?;
        let whole = Window::new(&run.whole());
        let sum = |all: &[OwnSeries<'_>]| -> f64 {
            all.iter().map(|series| series.coverage.integral(whole).sum).sum()
        };
        let (script_s, loops_s) = (sum(&of_script), sum(cpu));
        let started: u64 = figures.scenario_phases.iter().map(|row| row.started).sum();
        Ok((script_s > 0.0 && loops_s > 0.0 && started > 0).then(|| ScriptUse {
            cores: script_s / f64::from(run.seconds().max(1)),
            share: (script_s / loops_s).min(1.0),
            iteration_ms: script_s * 1e3 / started as f64,
        }))
    }
}

/// CPU use of one loop.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LoopUse {
    pub(crate) phase: String,
    pub(crate) instance: Instance,
    /// The highest mean over [`WINDOW_S`] of the phase (or over the phase, if shorter), in cores.
    pub(crate) cores: f64,
    /// Whether that is less than the phase.
    pub(crate) part: UsedPart,
}

/// What a mean was taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UsedPart {
    /// [`WINDOW_S`] of the phase.
    Window,
    /// The phase, which is shorter.
    Phase,
}

/// The turns of a loop that took [`STALL_MS`] or longer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LoopStalls {
    pub(crate) phase: String,
    /// None in files whose version does not distinguish loops.
    pub(crate) instance: Option<Instance>,
    /// What the code of a script took, where that is recorded.
    pub(crate) by_script: Stalled,
    /// Everything else.
    pub(crate) other: Stalled,
}

/// How long a loop was stalled.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Stalled {
    /// Share of the phase, 0 to 1.
    pub(crate) share: f64,
    pub(crate) longest_ms: f64,
}

impl Stalled {
    /// The longer of these turns, as a part of `time_us`.
    fn of(turns: &Histogram, time_us: f64) -> Stalled {
        let long = turns.buckets().filter(|(low, ..)| *low as f64 >= STALL_MS * 1_000.0);
        let stalled_us: f64 = long.map(|(low, high, count)| (low + high) as f64 / 2.0 * count as f64).sum();
        Stalled {
            share: (stalled_us / time_us.max(1.0)).min(1.0),
            longest_ms: turns.max_us().unwrap_or(0) as f64 / 1_000.0,
        }
    }
}

/// Time that a scenario spent at its VU limit in a phase.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct AtVuLimit {
    pub(crate) phase: String,
    pub(crate) scenario: String,
    /// Share of the phase, 0 to 1.
    pub(crate) share: f64,
}

impl Generator {
    pub(super) fn read(
        run: &dyn Run,
        workload: &Workload,
        figures: &Figures,
    ) -> Result<Generator, ReadError> {
        let cpu = own_series(run, "loop_cpu")?;
        let mut generator =
            Generator { script: ScriptUse::read(run, &cpu, figures)?, ..Generator::default() };
        let at_vu_limit = own_series(run, "at_cap")?;
        for phase in &figures.phases {
            generator.loops.extend(loops(&cpu, phase));
            generator.stalls.extend(stalls(run, phase, cpu.len().max(1))?);
            for scenario in &workload.scenarios {
                if let Some(share) = share_at_vu_limit(&at_vu_limit, phase, &scenario.name) {
                    let (phase, scenario) = (phase.name.clone(), scenario.name.clone());
                    generator.at_vu_limit.push(AtVuLimit { phase, scenario, share });
                }
            }
        }
        Ok(generator)
    }
}

/// One part of a series of the generator, over the whole run.
struct OwnSeries<'a> {
    key: &'a SeriesKey,
    coverage: Coverage,
}

fn own_series<'a>(run: &'a dyn Run, name: &str) -> Result<Vec<OwnSeries<'a>>, ReadError> {
    let is_own = |s: &&SeriesKey| &*s.target == SeriesKey::GENERATOR && &*s.name == name;
    let series = run.series().iter().filter(is_own);
    series.map(|key| Ok(OwnSeries { key, coverage: Coverage::read(run, key)? })).collect()
}

fn loops(cpu: &[OwnSeries<'_>], phase: &PhaseWindow) -> Vec<LoopUse> {
    let mut uses = Vec::new();
    for series in cpu {
        let Some(instance) = series.key.instance else { continue };
        let samples = series.coverage.within(phase.window());
        let values: Vec<f64> = samples.iter().map(|s| s.value).collect();
        let width = values.len().min(WINDOW_S as usize).max(1);
        let means = values.windows(width).filter_map(stats::mean);
        if let Some(cores) = means.reduce(f64::max) {
            let is_shorter = phase.length_s() < f64::from(WINDOW_S);
            let part = if is_shorter { UsedPart::Phase } else { UsedPart::Window };
            uses.push(LoopUse { phase: phase.name.clone(), instance, cores, part });
        }
    }
    uses.sort_by_key(|loop_use| loop_use.instance);
    uses
}

/// The stalls of each loop; of files that do not distinguish loops those of all, as a share of the time of all `loops`.
fn stalls(run: &dyn Run, phase: &PhaseWindow, loops: usize) -> Result<Vec<LoopStalls>, ReadError> {
    let mut turns: BTreeMap<Option<Instance>, [Histogram; 2]> = BTreeMap::new();
    for (id, key) in select(run.keys(), Metric::LoopStall, |_| true) {
        let is_script = key.tags.get(Key::CAUSE).is_some_and(|cause| **cause == *Key::SCRIPT);
        let by_cause = &mut turns.entry(key.instance).or_default()[usize::from(is_script)];
        by_cause.merge(&run.histogram(id, phase.seconds())?);
    }
    let stalls = |(instance, [other, by_script]): (Option<Instance>, [Histogram; 2])| {
        let loops = if instance.is_some() { 1 } else { loops };
        let time_us = phase.length_s() * loops as f64 * 1e6;
        let [by_script, other] = [by_script, other].map(|turns| Stalled::of(&turns, time_us));
        LoopStalls { phase: phase.name.clone(), instance, by_script, other }
    };
    Ok(turns.into_iter().map(stalls).collect())
}

/// The mean over the loops that were active.
fn share_at_vu_limit(at_vu_limit: &[OwnSeries<'_>], phase: &PhaseWindow, scenario: &str) -> Option<f64> {
    let its = at_vu_limit.iter().filter(|series| &*series.key.part == scenario);
    coverage::mean(its.flat_map(|series| series.coverage.within(phase.window())))
}
