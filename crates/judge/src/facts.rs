//! Facts: everything that the rules use, derived once from the evidence. Rules read nothing else.

pub(crate) mod carry_over;
pub(crate) mod concurrency;
mod generator;
mod headroom;
mod host;
mod last_second;
mod observers;
mod profiles;
pub(crate) mod steady_state;
mod workers;

use evidence::run::{ReadError, stop};
use evidence::{
    Coverage, Ending, Instant, Provenance, Run, RunEnd, Scope, SeriesKey, Source, UnknownSubject, Verdict,
    Window, coverage,
};
use figures::{Figures, PhaseWindow, Row, TimeGroup};
use workload::{Comparison, Measure, MetricStatistic, Objective, Scenario, Statistic, Workload};

use crate::backlog::{self, Backlog};
use crate::leaks::{self, LeakAnswer, LeakMargin};
use crate::measure::{self, DisturbedTime, MeasureSource, Measurement, Tested, UnknownPart, Value};
use crate::shares::{SHARE_ERROR, ShareAnswer};

pub(crate) use carry_over::CarryOver;
pub(crate) use concurrency::Concurrency;
pub(crate) use generator::{AtVuLimit, Generator, LoopStalls, LoopUse, ScriptUse, UsedPart};
pub(crate) use headroom::Headroom;
#[cfg(test)]
pub(crate) use headroom::NEAR_LIMIT;
pub(crate) use host::host as host_of;
pub(crate) use host::{FrequencyRange, Host, OtherProcesses, StealShares};
pub(crate) use last_second::LastSecond;
pub(crate) use observers::ObserverNotices;
pub(crate) use profiles::CapturedProfile;
pub(crate) use steady_state::{NotSteadyReason, SteadyState, SteadyStateAnalysis, WindowTimes, times_from};
pub(crate) use workers::{CLOCK_MS, WorkerState, Workers};

/// The window in which a short disturbance is looked for, in seconds.
pub(crate) const WINDOW_S: u32 = 10;
/// A turn of a loop of this many milliseconds or more is a stall.
pub(crate) const STALL_MS: f64 = evidence::worker_load::STALL_US as f64 / 1e3;

/// The facts of one run.
pub(crate) struct Facts<'a> {
    pub(crate) workload: &'a Workload,
    /// Whether its evidence is as it was sealed.
    pub(crate) provenance: Provenance,
    /// Where an imported run comes from.
    pub(crate) source: Option<&'a Source>,
    /// How it ended; none when it was killed.
    pub(crate) end: Option<&'a RunEnd>,
    /// When its load was stopped before its planned end, where that is known.
    pub(crate) stopped_at: Option<Instant>,
    /// What ended it early, where it was neither a signal nor the plan: `ended early by the script's thresholds on checks`.
    pub(crate) ended_by_script: Option<String>,
    /// Whether it is still under way, and looked at to see whether it is decided.
    pub(crate) is_looked_at: bool,
    /// How many seconds of evidence there are.
    pub(crate) seconds: u32,
    /// The version of its run file.
    pub(crate) schema_version: u32,
    /// Whether the generator stalled, and which requests that disturbed was not counted.
    pub(crate) stalls_hide_requests: bool,
    /// Whether anything but the generator was observed.
    pub(crate) has_observed_targets: bool,
    pub(crate) figures: Figures,
    /// How many requests a script made, if none of them could be sent.
    pub(crate) unsent_requests: Option<u64>,
    pub(crate) generator: Generator,
    /// The processes that offered the load, where those were others.
    pub(crate) workers: Workers,
    /// Observers that reported anything.
    pub(crate) observer_notices: Vec<ObserverNotices>,
    /// Profiles that were captured over a window.
    pub(crate) profiles: Vec<CapturedProfile>,
    /// Its last second; none where requests in flight were not counted.
    pub(crate) last_second: Option<LastSecond>,
    /// Phases that began with requests of the phase before.
    pub(crate) carry_overs: Vec<CarryOver>,
    /// Scenarios in phases with which the target did not keep up.
    pub(crate) backlogs: Vec<Backlog>,
    /// Concurrent iterations, as observed and as rate and times imply them.
    pub(crate) concurrencies: Vec<Concurrency>,
    /// The mean number of virtual users that an imported run reports.
    pub(crate) virtual_users: Option<f64>,
    /// The generator's machine; none where it was not observed.
    pub(crate) host: Option<Host>,
    /// How near the targets were to their limits.
    pub(crate) headroom: Headroom,
    /// Leak analysis of each series, where an objective is about a leak.
    pub(crate) leaks: Vec<LeakAnswer>,
    /// Steady-state analysis of each endpoint in phases whose load is planned to be constant.
    pub(crate) steady_states: Vec<SteadyStateAnalysis>,
    /// Each objective with its measurement, in the plan's order.
    pub(crate) objectives: Vec<MeasuredObjective<'a>>,
}

/// An objective and its measurement.
pub(crate) struct MeasuredObjective<'a> {
    pub(crate) objective: &'a Objective,
    pub(crate) observed: Measurement,
}

impl<'a> Facts<'a> {
    /// Derive the facts of a run.
    ///
    /// # Errors
    /// [`ReadError`] when the evidence cannot be read.
    pub(crate) fn read(
        run: &'a dyn Run,
        workload: &'a Workload,
        provenance: Provenance,
    ) -> Result<Facts<'a>, ReadError> {
        let figures = Figures::fold(run, workload)?;
        let generator = Generator::read(run, workload, &figures)?;
        let carry_overs = carry_over::carry_overs(run, &figures.phases)?;
        let backlogs = backlog::backlogs(run, workload)?;
        let has_leak_objective = workload.objectives.iter().any(|o| leaks::is_leak_objective(&o.name));
        let leaks = if has_leak_objective {
            leaks::of(run, workload, LeakMargin::for_workload(workload))?
        } else {
            Vec::new()
        };
        let disturbed = DisturbedTime::read(run, workload)?;
        let source =
            MeasureSource { run, workload, figures: &figures, disturbed: &disturbed, backlogs: &backlogs };
        let measured = |objective| {
            let observed = measure::observe(&source, objective)?;
            Ok(MeasuredObjective { objective, observed })
        };
        let steady_states = steady_state::analyses(run, workload, &figures)?;
        let workers = Workers::read(run, &figures)?;
        let mut objectives = workload
            .objectives
            .iter()
            .map(measured)
            .collect::<Result<Vec<MeasuredObjective<'_>>, ReadError>>()?;
        if let Some(family) = workload.family {
            let tested = objectives
                .iter_mut()
                .map(|measured| Tested { objective: measured.objective, observed: &mut measured.observed });
            measure::correct_violations(tested.collect(), measure::family_confidence(workload, family));
        }
        let stop = stop(run)?;
        Ok(Facts {
            workload,
            provenance,
            source: run.manifest().source.as_ref(),
            end: run.end(),
            stopped_at: stop.as_ref().map(|stop| stop.at),
            ended_by_script: stop
                .map(|stop| stop.text)
                .filter(|text| text.starts_with("ended early by the script")),
            is_looked_at: false,
            seconds: run.seconds(),
            schema_version: run.manifest().schema_version,
            stalls_hide_requests: disturbed.hides_any(),
            has_observed_targets: run.series().iter().any(|s| &*s.target != SeriesKey::GENERATOR),
            unsent_requests: measure::unsent_requests(run, &figures)?,
            figures,
            generator,
            observer_notices: observers::notices(run)?,
            profiles: profiles::captured(run)?,
            last_second: last_second::last_second(run)?,
            steady_states,
            carry_overs,
            backlogs,
            concurrencies: concurrency::concurrencies(run, workload, &workers)?,
            workers,
            virtual_users: virtual_users(run)?,
            host: host::host(run)?.map(|host| host.beside(workload)),
            headroom: headroom::headroom(run)?,
            leaks,
            objectives,
        })
    }

    /// Whether every scenario ran to its planned end.
    pub(crate) fn is_complete(&self) -> bool {
        self.end.is_some_and(|end| end.ending == Ending::Completed)
    }

    /// Whether only a part of the run is judged because that may decide it: it is under way, or ended at a look.
    pub(crate) fn is_early_look(&self) -> bool {
        self.is_looked_at || self.decided().is_some()
    }

    /// How it ended early because it was decided, if it did: `after 50 % of the planned time, …`.
    pub(crate) fn decided(&self) -> Option<String> {
        let until = self.workload.until_decided.as_ref()?;
        let at = self.stopped_at.map(|at| at.offset()).unwrap_or_default();
        self.end.filter(|end| end.ending == Ending::Decided).map(|_| until.ended_at(at))
    }

    /// The objective whose stop rule ended the run early, as the plan asks.
    pub(crate) fn stopped_by(&self) -> Option<&'a str> {
        match &self.end?.ending {
            Ending::Stopped(objective) => Some(objective),
            Ending::Completed | Ending::Interrupted | Ending::Decided | Ending::Aborted(_) => None,
        }
    }

    /// Whether what there is may meet an objective: all that was planned, all until the plan itself ended it, or all so far
    /// of a run that is looked at.
    pub(crate) fn can_pass(&self) -> bool {
        self.is_looked_at || self.is_complete() || self.stopped_by().is_some() || self.decided().is_some()
    }

    /// Whether nothing limits how many requests of an imported run are missing.
    pub(crate) fn is_open_ended(&self) -> bool {
        self.source.is_some_and(Source::is_open_ended)
    }

    /// Whether requests of an imported run are missing, not readable or contradicted.
    pub(crate) fn has_unread(&self) -> bool {
        let has = |source: &Source| !source.unknown_records(UnknownSubject::Requests, "", "").is_zero();
        self.is_open_ended() || self.source.is_some_and(has)
    }

    /// Requests in flight when the run ended; unknown for a run that was killed or aborted.
    pub(crate) fn requests_in_flight(&self) -> Option<u64> {
        self.orderly_end().map(|end| end.requests_in_flight)
    }

    /// Iterations in flight when the run ended; unknown for a run that was killed or aborted.
    pub(crate) fn iterations_in_flight(&self) -> Option<u64> {
        self.orderly_end().map(|end| end.iterations_in_flight)
    }

    fn orderly_end(&self) -> Option<&'a RunEnd> {
        self.end.filter(|end| !matches!(end.ending, Ending::Aborted(_)))
    }

    pub(crate) fn scenario(&self, name: &str) -> Option<&'a Scenario> {
        self.workload.scenarios.iter().find(|s| s.name == name)
    }

    /// Whether arrivals of this scenario are independent of completions.
    pub(crate) fn is_open(&self, scenario: &str) -> bool {
        self.scenario(scenario).is_none_or(|s| s.executor.is_open())
    }

    pub(crate) fn phase(&self, name: &str) -> Option<&PhaseWindow> {
        self.figures.phases.iter().find(|phase| phase.name == name)
    }
}

impl MeasuredObjective<'_> {
    /// The verdict by the numbers alone, before any finding. Nothing is rounded in its favour.
    pub(crate) fn verdict(&self) -> Verdict {
        if let Some(stated) = &self.observed.stated {
            return stated.verdict;
        }
        if self.observed.unanswered.is_some() {
            return Verdict::Measured;
        }
        if let Some(rate) = &self.observed.rate {
            return rate.verdict(self.objective);
        }
        if let Some(share) = &self.observed.share {
            return match share.decision.answer {
                ShareAnswer::Pass => Verdict::Pass,
                ShareAnswer::Fail => Verdict::Fail,
                ShareAnswer::UndecidedBySample | ShareAnswer::UndecidedByRecords => Verdict::Inconclusive,
                ShareAnswer::UndecidedByGenerator => Verdict::Invalid,
            };
        }
        let holds = |value: f64| self.objective.comparison.holds(value, self.objective.bound);
        match (&self.observed.value, self.observed.range) {
            (Value::Missing(_), _) => Verdict::Inconclusive,
            (Value::Unselected(_), _) => Verdict::Invalid,
            (Value::Infinite, Some(range)) if range.unknown == UnknownPart::Unread => Verdict::Inconclusive,
            (Value::Infinite, _) => Verdict::Fail,
            (Value::Finite(value), None) if holds(*value) => Verdict::Pass,
            (Value::Finite(_), None) => Verdict::Fail,
            (Value::Finite(_), Some(range)) => match (holds(range.low), holds(range.high)) {
                (true, true) => Verdict::Pass,
                (false, false) => Verdict::Fail,
                _ if range.unknown == UnknownPart::Stalls => Verdict::Invalid,
                _ => Verdict::Inconclusive,
            },
        }
    }

    /// Whether it is about a total that is violated and that more of the same run may still lead to its bound: totals only
    /// grow.
    pub(crate) fn may_be_met_by_more(&self) -> bool {
        let Measure::Metric(measure) = &self.objective.measure else { return false };
        let is_below = matches!(self.observed.value, Value::Finite(value) if value < self.objective.bound);
        measure.statistic == MetricStatistic::Sum
            && match self.objective.comparison {
                Comparison::Above | Comparison::AtLeast | Comparison::NotEqual => true,
                Comparison::Equal => is_below,
                Comparison::Below | Comparison::AtMost => false,
            }
    }

    /// Whether no request that is not in the evidence can undo its violation: one that is allows nothing, or about the
    /// highest or the lowest time.
    pub(crate) fn is_violated_for_good(&self) -> bool {
        let is_upper = self.has_upper_bound();
        match (&self.objective.measure, &self.observed.share) {
            (_, Some(share)) => share.question.allowed < SHARE_ERROR,
            (Measure::ResponseTime(statistic) | Measure::IterationTime(statistic), None) => {
                matches!((statistic, is_upper), (Statistic::Max, true) | (Statistic::Min, false))
            }
            _ => false,
        }
    }

    /// Whether it is met by values below its bound.
    pub(crate) fn has_upper_bound(&self) -> bool {
        self.objective.comparison.is_upper()
    }

    pub(crate) fn name(&self) -> &str {
        &self.objective.name
    }

    /// Whether it is about times.
    pub(crate) fn is_about_times(&self) -> bool {
        match &self.objective.measure {
            Measure::ResponseTime(_) | Measure::ServiceTime(_) | Measure::IterationTime(_) => true,
            Measure::Metric(measure) => measure.is_of_times(),
            _ => false,
        }
    }

    /// What its share is of.
    pub(crate) fn thing(&self) -> &'static str {
        match self.objective.measure {
            Measure::Metric(_) => "value",
            _ => "arrival",
        }
    }

    /// Whether it is about requests, and not about an observed series.
    pub(crate) fn is_about_load(&self) -> bool {
        !matches!(self.objective.measure, Measure::Series { .. })
    }

    /// Whether it counts completions a second.
    pub(crate) fn is_a_rate(&self) -> bool {
        match &self.objective.measure {
            Measure::Goodput { .. } | Measure::Throughput => true,
            Measure::Metric(measure) => measure.statistic == MetricStatistic::SumPerSecond,
            _ => false,
        }
    }

    /// Whether it is about how much there was, which is less where less was sent. The limits of throughput and goodput take
    /// that into account.
    pub(crate) fn counts_completions(&self) -> bool {
        match &self.objective.measure {
            Measure::Metric(measure) => {
                matches!(measure.statistic, MetricStatistic::Sum | MetricStatistic::SumPerSecond)
            }
            _ => false,
        }
    }

    /// The scope of a finding about this objective alone.
    pub(crate) fn scope(&self) -> Scope {
        Scope { objective: Some(self.objective.name.clone()), ..Scope::default() }
    }

    /// The observations it counts, by row; empty for an objective that is not about times.
    pub(crate) fn time_groups<'t>(&self, figures: &'t Figures) -> Vec<TimeGroup<'t>> {
        figures.time_groups(&self.objective.measure, &self.objective.filter)
    }

    /// The endpoints it counts, by phase and scenario.
    pub(crate) fn endpoints<'t>(&self, figures: &'t Figures) -> impl Iterator<Item = &'t Row> {
        figures.endpoints().filter(|endpoint| endpoint.key.matches(&self.objective.filter))
    }

    /// Whether it counts anything within `scope`.
    pub(crate) fn applies_to(&self, scope: &Scope, figures: &Figures) -> bool {
        let endpoints = figures.endpoints().map(|endpoint| &endpoint.key);
        let scenario_phases = figures.scenario_phases.iter().map(|scenario_phase| &scenario_phase.key);
        endpoints.chain(scenario_phases).any(|key| key.is_in(scope) && key.matches(&self.objective.filter))
    }
}

/// The mean number of virtual users of another tool.
fn virtual_users(run: &dyn Run) -> Result<Option<f64>, ReadError> {
    let is_it = |s: &&SeriesKey| &*s.name == "virtual_users" && &*s.target == SeriesKey::GENERATOR;
    let Some(series) = run.series().iter().find(is_it).filter(|_| run.manifest().source.is_some()) else {
        return Ok(None);
    };
    let covered = Coverage::read(run, series)?;
    Ok(coverage::mean(covered.within(Window::new(&run.whole())).iter()))
}
