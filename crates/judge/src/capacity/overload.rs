//! What happens beyond the capacity, and after it.

use std::time::Duration;

use evidence::capacity::{OverloadAnswer, OverloadPart, Recovery};
use evidence::run::{ReadError, select};
use evidence::{Coverage, GrpcCode, Histogram, Metric, Outcome, Run, Seconds, SeriesKey};
use figures::{Figures, PhaseWindow};
use workload::{Measure, Objective, Workload};

/// A refusal is quick within this.
const QUICK_US: u64 = 100_000;
/// Times of so many seconds together say whether a target is as before.
const WINDOW_S: u32 = 5;
/// It is as before within this factor.
const AS_BEFORE: f64 = 1.10;
/// A target has so long to come back, or so many times as long as its backlog takes.
const PATIENCE_S: f64 = 30.0;
const DRAINS: f64 = 3.0;

/// What a run that was overloaded is measured by.
pub struct OverloadRun<'a> {
    pub run: &'a dyn Run,
    /// Its workload: phases before, at each overload, and after.
    pub workload: &'a Workload,
    /// What must hold.
    pub slos: &'a [Objective],
    /// The load of each phase as a multiple of the capacity.
    pub factors: &'a [f64],
    /// Correct answers a second at the capacity.
    pub goodput: f64,
}

impl OverloadRun<'_> {
    /// What it shows.
    ///
    /// # Errors
    /// [`ReadError`] when the evidence cannot be read.
    pub fn answer(&self) -> Result<OverloadAnswer, ReadError> {
        let figures = Figures::fold(self.run, self.workload)?;
        let mut parts = Vec::new();
        for (phase, factor) in figures.phases.iter().zip(self.factors) {
            parts.push(self.part(&figures, phase, *factor)?);
        }
        let mut answer = OverloadAnswer {
            parts,
            recovery: Recovery::Unknown,
            recovered_after_s: None,
            drain_s: None,
            p95_ms: [None, None],
        };
        if let (Some(before), Some(after)) = (figures.phases.first(), figures.phases.last())
            && figures.phases.len() == self.factors.len()
        {
            self.recovery([before, after], &mut answer)?;
        }
        Ok(answer)
    }

    fn part(&self, figures: &Figures, phase: &PhaseWindow, factor: f64) -> Result<OverloadPart, ReadError> {
        let length = phase.length_s().max(1e-9);
        let (mut offered, mut wrong, mut quick) = (0, 0, 0);
        for endpoint in figures.endpoints().filter(|endpoint| *endpoint.key.phase == *phase.name) {
            offered += endpoint.attempted() + endpoint.dropped_generator_late;
            wrong += endpoint.failed_by_target();
        }
        for (id, key) in select(self.run.keys(), Metric::ResponseTime, |key| *key.phase == *phase.name) {
            if key.outcome.is_some_and(is_refusal) {
                let times = self.run.histogram(id, self.run.whole())?;
                quick +=
                    times.buckets().filter(|(_, high, _)| *high <= QUICK_US).map(|(.., n)| n).sum::<u64>();
            }
        }
        let answered = self.answered(phase.seconds(), &|_| true)?;
        let goodput = answered.count() as f64 / length;
        Ok(OverloadPart {
            factor,
            offered: offered as f64 / length,
            goodput,
            kept: goodput / self.goodput.max(1e-9),
            in_time: self.in_time(phase)?,
            refused_quickly: (wrong > 0).then(|| quick as f64 / wrong as f64),
            p99_ms: answered.quantile(0.99).finite_us().map(|us| us / 1_000.0),
            in_flight_growth: self.in_flight(phase)?.map_or(0.0, |(first, last)| (last - first) / length),
        })
    }

    /// Response times of correct answers that ended in these seconds, whenever they were due, of selected phases.
    fn answered(&self, seconds: Seconds, of: &dyn Fn(&str) -> bool) -> Result<Histogram, ReadError> {
        let mut times = Histogram::new();
        let is_it = |key: &evidence::Key| {
            key.outcome == Some(Outcome::Ok) && !evidence::Key::is_beside_load(&key.phase) && of(&key.phase)
        };
        for (id, _) in select(self.run.keys(), Metric::ResponseTime, is_it) {
            times.merge(&self.run.histogram(id, seconds.clone())?);
        }
        Ok(times)
    }

    /// The share of the correct answers of a phase that is within the bound of an objective on times.
    fn in_time(&self, phase: &PhaseWindow) -> Result<Option<f64>, ReadError> {
        let of_times =
            |slo: &&Objective| matches!(slo.measure, Measure::ResponseTime(_)) && slo.comparison.is_upper();
        let Some(slo) = self.slos.iter().find(of_times) else { return Ok(None) };
        let bound_us = (slo.bound * 1_000.0) as u64;
        let is_it = |key: &evidence::Key| {
            key.outcome == Some(Outcome::Ok)
                && *key.phase == *phase.name
                && slo.filter.endpoint.as_ref().is_none_or(|endpoint| **endpoint == *key.endpoint)
        };
        let (mut within, mut all) = (0, 0);
        for (id, _) in select(self.run.keys(), Metric::ResponseTime, is_it) {
            let times = self.run.histogram(id, self.run.whole())?;
            all += times.count();
            within += times.buckets().filter(|(_, high, _)| *high <= bound_us).map(|(.., n)| n).sum::<u64>();
        }
        Ok((all > 0).then(|| within as f64 / all as f64))
    }

    /// Requests in flight at the beginning and at the end of a phase.
    fn in_flight(&self, phase: &PhaseWindow) -> Result<Option<(f64, f64)>, ReadError> {
        let is_it = |key: &&SeriesKey| &*key.target == SeriesKey::GENERATOR && &*key.name == "in_flight";
        let (mut first, mut last, mut is_known) = (0.0, 0.0, false);
        for key in self.run.series().iter().filter(is_it) {
            let coverage = Coverage::read(self.run, key)?;
            if let [begin, .., end] = coverage.within(phase.window()) {
                (first, last, is_known) = (first + begin.value, last + end.value, true);
            }
        }
        Ok(is_known.then_some((first, last)))
    }

    /// Whether the times after the overload are those before it.
    fn recovery(
        &self,
        [before, after]: [&PhaseWindow; 2],
        answer: &mut OverloadAnswer,
    ) -> Result<(), ReadError> {
        let warm = before.seconds();
        // The first third of what comes before is warm-up.
        let steady = warm.start + (warm.end - warm.start) / 3..warm.end;
        let own = |phase: &PhaseWindow| {
            let name = phase.name.clone();
            move |other: &str| other == name
        };
        let p95 = |times: &Histogram| times.quantile(0.95).finite_us().map(|us| us / 1_000.0);
        answer.p95_ms[0] = p95(&self.answered(steady.clone(), &own(before))?);
        let mut highest: Option<f64> = None;
        for second in steady.start..steady.end.saturating_sub(WINDOW_S - 1).max(steady.start + 1) {
            let window = p95(&self.answered(second..second + WINDOW_S, &own(before))?);
            highest = highest.into_iter().chain(window).reduce(f64::max);
        }
        let Some(limit) = highest.map(|highest| highest * AS_BEFORE) else { return Ok(()) };
        let seconds = after.seconds();
        let end = seconds.end.min(self.run.seconds());
        answer.drain_s = self.drain(answer, after)?;
        for second in seconds.start..end.saturating_sub(WINDOW_S - 1) {
            let times = self.answered(second..second + WINDOW_S, &own(after))?;
            if p95(&times).is_some_and(|p95| p95 <= limit) {
                answer.recovered_after_s = Some(f64::from(second - seconds.start));
                break;
            }
        }
        let last_third = end - (end - seconds.start.min(end)) / 3..end;
        answer.p95_ms[1] = p95(&self.answered(last_third, &own(after))?);
        let patience = PATIENCE_S.max(DRAINS * answer.drain_s.unwrap_or(0.0));
        let length = Duration::from_secs(u64::from(end.saturating_sub(seconds.start))).as_secs_f64();
        answer.recovery = match answer.recovered_after_s {
            Some(_) if answer.p95_ms[1].is_some_and(|p95| p95 > limit) => Recovery::Slower,
            Some(_) => Recovery::Recovered,
            None if length + 1.0 < patience => Recovery::TooShort,
            None => Recovery::NotRecovered,
        };
        Ok(())
    }

    /// How long the backlog takes that is there when the load drops: at the goodput beyond the capacity, less what still
    /// comes.
    fn drain(&self, answer: &OverloadAnswer, after: &PhaseWindow) -> Result<Option<f64>, ReadError> {
        let Some((backlog, _)) = self.in_flight(after)? else { return Ok(None) };
        let served = answer.parts.iter().map(|part| part.goodput).fold(self.goodput, f64::max);
        let comes = answer.parts.last().map_or(0.0, |part| part.offered);
        Ok((served > comes).then(|| backlog / (served - comes)))
    }
}

fn is_refusal(outcome: Outcome) -> bool {
    match outcome {
        Outcome::Http429 | Outcome::Http503 => true,
        Outcome::Grpc(code) => {
            ["RESOURCE_EXHAUSTED", "UNAVAILABLE"].iter().any(|name| GrpcCode::from_name(name) == Some(code))
        }
        _ => false,
    }
}
