//! One probe, measured.

use evidence::capacity::{CapacityProbe, ProbeStage};
use evidence::run::ReadError;
use evidence::{Ending, Finding, Judgement, Run, Severity, Verdict, Window};
use figures::Figures;
use workload::capacity::collapse_name;
use workload::{Filter, Flow, Measure, Objective, Scenario, Statistic, Workload};

use super::CapacityRules;
use super::margin::{CLIP, Measured};
use crate::compare::Side;
use crate::diagnosis::{self, UseWindow};
use crate::experiment::warm_up::Cuts;
use crate::measure::{self, MeasureSource, Readings, Value};
use crate::rule::MAKE_UNUSABLE;

/// Arrivals that the generator dropped, above which the load was another.
const MOST_LATE: f64 = 0.01;
/// Arrivals at random vary by so much around their mean.
const RATE_TOLERANCE: f64 = 1.02;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProbePlace {
    /// Its number, from 1.
    pub number: u32,
    pub stage: ProbeStage,
    pub level: f64,
}

/// Measures a probe.
///
/// # Errors
/// [`ReadError`] when its evidence cannot be read.
pub fn measure_probe(
    rules: &CapacityRules<'_>,
    place: ProbePlace,
    side: &Side<'_>,
) -> Result<CapacityProbe, ReadError> {
    let measured = side.workload.measured_phase(rules.slos);
    let phase = measured.map(|phase| phase.name.clone()).unwrap_or_default();
    let begin_s = measured.map_or(0, |phase| phase.start.as_secs() as u32);
    let cuts = Cuts::until(&phase, begin_s + rules.warm_up_s);
    let (run, workload) = (cuts.applied_to_run(side.run), cuts.applied_to(side.workload));
    let readings = Readings::read(&run, &workload)?;
    let figures = &readings.figures;
    let source = readings.source();
    let window = figures.phases.iter().find(|window| window.name == phase);
    let seconds = window.map_or(0.0, |window| window.length_s());
    let has_collapsed = side.run.end().is_some_and(|end| matches!(end.ending, Ending::Stopped(_)));
    let judged = crate::judge(side.run, side.workload, side.provenance);
    let judged = judged.map_err(|crate::JudgeError::Read(error)| error)?;
    let mut probe = CapacityProbe {
        number: place.number,
        seconds,
        has_collapsed,
        unusable: why_unusable(&judged, figures),
        offered: offered(&workload, &phase),
        ..CapacityProbe::unmeasured(place.stage, place.level)
    };
    for slo in rules.slos {
        add_margin(rules, &source, slo, &mut probe, seconds)?;
    }
    let of_phase = Filter { phase: Some(phase), ..Filter::default() };
    let value = |measure, filter: &Filter| -> Result<Option<f64>, ReadError> {
        Ok(known(&measure::value(&source, &asked(measure, filter))?.value))
    };
    probe.goodput = value(Measure::Goodput { within: None }, &of_phase)?.unwrap_or(0.0);
    let window = window.map_or_else(|| Window::new(&side.run.whole()), |window| window.window());
    probe.mean_ms = value(Measure::ResponseTime(Statistic::Mean), &of_phase)?;
    let load =
        UseWindow { window, completions_per_s: probe.goodput, response_s: probe.mean_ms.map(|ms| ms / 1e3) };
    probe.uses = diagnosis::uses(side.run, side.workload, load)?;
    if let Some(limit) = rules.proven_per_s.filter(|limit| probe.goodput > RATE_TOLERANCE * limit) {
        let why =
            format!("{:.0} requests/s are more than the generator can sustain ({limit:.0}/s)", probe.goodput);
        probe.unusable = probe.unusable.take().or(Some(why));
    }
    probe.is_doubtful = is_doubtful(&judged, &probe);
    probe.failed = value(Measure::ErrorRate, &of_phase)?.unwrap_or(0.0);
    let filter = rules.slos.first().map_or(&of_phase, |slo| &slo.filter);
    probe.p50_ms = value(Measure::ResponseTime(Statistic::Quantile(0.5)), filter)?;
    probe.p99_ms = value(Measure::ResponseTime(Statistic::Quantile(0.99)), filter)?;
    Ok(probe)
}

fn add_margin(
    rules: &CapacityRules<'_>,
    source: &MeasureSource<'_>,
    slo: &Objective,
    probe: &mut CapacityProbe,
    seconds: f64,
) -> Result<(), ReadError> {
    let found = measure::value(source, slo)?;
    let phase = source
        .workload
        .phases
        .iter()
        .find(|phase| slo.filter.phase.as_ref().is_none_or(|name| phase.name == *name));
    let offered =
        phase.map(|phase| source.workload.selected_per_s(&slo.filter, phase)).filter(|rate| *rate > 0.0);
    let measured = Measured {
        slo,
        value: &found.value,
        samples: found.samples,
        offered_per_s: offered,
        factor: rules.factor(probe.level),
        seconds,
    };
    let (margin, error) = match measured.margin() {
        Ok(margin) if has_ended(source.run, slo) => (margin.margin.min(0.0), margin.error),
        Ok(margin) => (margin.margin, margin.error),
        // It was ended before anything was measured.
        Err(_) if probe.has_collapsed => (-CLIP, 0.0),
        Err(why) => {
            probe.unusable = probe.unusable.take().or(Some(format!("{}: {why}", slo.name)));
            (0.0, 0.0)
        }
    };
    probe.values.push(known(&found.value));
    probe.margins.push(margin);
    probe.errors.push(error);
    Ok(())
}

/// Requests offered a second; 0 where a script decides how many an arrival sends.
fn offered(workload: &Workload, phase: &str) -> f64 {
    let is_script = |scenario: &Scenario| matches!(scenario.flow, Flow::Script { .. });
    let planned = workload.phases.iter().find(|planned| planned.name == phase);
    let known = planned.filter(|_| !workload.scenarios.iter().any(is_script));
    known.map_or(0.0, |planned| workload.requests_per_s(planned))
}

/// Whether the run was ended because this objective was violated by far.
fn has_ended(run: &dyn Run, slo: &Objective) -> bool {
    let is_its = |ending: &Ending| matches!(ending, Ending::Stopped(name) if *name == collapse_name(slo));
    run.end().is_some_and(|end| is_its(&end.ending))
}

fn known(value: &Value) -> Option<f64> {
    match value {
        Value::Finite(value) => Some(*value),
        Value::Infinite | Value::Missing(_) | Value::Unselected(_) => None,
    }
}

/// An objective that only measures.
fn asked(measure: Measure, filter: &Filter) -> Objective {
    Objective {
        name: String::new(),
        source: String::new(),
        measure,
        filter: filter.clone(),
        comparison: workload::Comparison::Below,
        bound: 0.0,
        abort_after: None,
    }
}

/// Why the run says nothing of its level.
fn why_unusable(judged: &Judgement, figures: &Figures) -> Option<String> {
    let scheduled: u64 = figures.scenario_phases.iter().map(|row| row.scheduled).sum();
    let late: u64 = figures.scenario_phases.iter().map(|row| row.dropped_generator_late).sum();
    if late as f64 > MOST_LATE * scheduled as f64 {
        let share = late as f64 / scheduled.max(1) as f64 * 100.0;
        return Some(format!("the generator was late: {share:.1} % of the arrivals never started"));
    }
    let makes_unusable =
        |finding: &&Finding| MAKE_UNUSABLE.contains(&finding.rule) && finding.severity == Severity::Invalid;
    let finding = judged.findings.iter().find(makes_unusable)?;
    Some(format!("{} {}: {}", finding.rule, finding.title, finding.what))
}

/// Whether an objective is violated that delays of the generator alone may have violated: the judge does not call it.
fn is_doubtful(judged: &Judgement, probe: &CapacityProbe) -> bool {
    probe.margins.iter().any(|margin| *margin <= 0.0)
        && judged.claims.iter().any(|claim| claim.verdict == Verdict::Invalid)
        && !judged.claims.iter().any(|claim| claim.verdict == Verdict::Fail)
}
